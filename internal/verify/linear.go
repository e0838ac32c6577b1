package verify

import (
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/finding"
)

// checkLine: the edges are about one key. Only the last one may be in real time. Other
// functions of this package check that each follows.
func checkLine(w *finding.Witness) error {
	for i := range w.Edges {
		e, last := &w.Edges[i], i == len(w.Edges)-1
		switch {
		case !last && e.Label&finding.Realtime != 0:
			return errors.New("real time is the last step, or none")
		case e.Label&finding.Realtime == 0 && e.Key != w.Key:
			return fmt.Errorf("a step is about %s and not about %s", e.Key, w.Key)
		}
	}
	return nil
}
