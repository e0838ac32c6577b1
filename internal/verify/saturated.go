package verify

import (
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// A forced edge t2 -> t1 orders two writers of a key. The transaction t3 (Shown) read the key
// from t1, and t2 is in t3's past, as the edges of Past show. In the other order t3 would have
// missed t2's write. The levels differ in what the past is: package saturation.

// checkSaturated: the reader Shown read the value from to, and from wrote the key as well. Past
// leads from from to the reader by reads, session order and real time.
func checkSaturated(w *finding.Witness, e *finding.Dependency) error {
	if e.Shown < 0 || len(e.Past) == 0 {
		return errors.New("no read forces the order")
	}
	from, to, by := &w.Txns[e.From], &w.Txns[e.To], &w.Txns[e.Shown]
	switch {
	case e.Shown == e.From || e.Shown == e.To:
		return errors.New("the reader is one of the two writers")
	case by.Status == event.Aborted:
		return fmt.Errorf("%s aborted", by.ID)
	case !writesKey(from, e.Key):
		return fmt.Errorf("%s did not write %s", from.ID, e.Key)
	case !wroteValue(to, e.Key, e.Value):
		return fmt.Errorf("%s did not write %s to %s", to.ID, e.Value, e.Key)
	case lastShowing(by, e.Key, e.Value) < 0:
		return fmt.Errorf("%s did not read %s from %s", by.ID, e.Value, e.Key)
	case another(w, e.Key, e.Value, to, by) != nil:
		return fmt.Errorf("others than %s wrote %s to %s too", to.ID, e.Value, e.Key)
	}
	return checkPast(w, e.Past, e.From, e.Shown)
}

// checkPast: the edges lead from one transaction to the other by reads, session order
// and real time only.
func checkPast(w *finding.Witness, past []finding.Dependency, from, to int) error {
	at := from
	for i := range past {
		p := &past[i]
		if p.From != at || p.Label&(finding.WR|finding.Process|finding.Realtime) == 0 || p.Label&(finding.RW|finding.Saturated) != 0 {
			return fmt.Errorf("step %d of the past does not follow", i)
		}
		if err := checkEdge(w, p); err != nil {
			return fmt.Errorf("step %d of the past: %w", i, err)
		}
		at = p.To
	}
	if at != to {
		return errors.New("the past does not lead to the reader")
	}
	return nil
}
