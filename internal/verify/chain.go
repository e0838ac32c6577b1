package verify

import (
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/finding"
)

// chained says whether writes of one key, one behind the other, are to show e.
func chained(e *finding.Dependency) bool {
	return len(e.Past) > 1 && e.Label&(finding.WW|finding.RW) != 0
}

// checkChain: the steps lead over writes of e's key to the write that left e's value. They
// begin with a write. For an anti-dependency they begin with a read that missed the first
// write.
func checkChain(w *finding.Witness, e *finding.Dependency) error {
	if e.Label != finding.RW && e.Label != finding.WW {
		return errors.New("no chain shows that")
	}
	at := e.From
	for i := range e.Past {
		p := &e.Past[i]
		switch {
		case p.From != at:
			return fmt.Errorf("step %d of the chain does not follow", i)
		case p.Key != e.Key:
			return fmt.Errorf("step %d of the chain is of another key", i)
		case i == 0 && e.Label == finding.RW && p.Label != finding.RW:
			return errors.New("the chain does not begin with what was missed")
		case (i > 0 || e.Label == finding.WW) && p.Label&finding.WW == 0:
			return fmt.Errorf("step %d of the chain is not a write behind a write", i)
		}
		if err := checkEdge(w, p); err != nil {
			return fmt.Errorf("step %d of the chain: %w", i, err)
		}
		at = p.To
	}
	if at != e.To {
		return errors.New("the chain leads elsewhere")
	}
	to := &w.Txns[e.To]
	if left, ok := finalWrite(to, e.Key); (!ok || left.Value != e.Value) && !appended(to, e.Key, e.Value) {
		return fmt.Errorf("%s did not leave %s = %s", to.ID, e.Key, e.Value)
	}
	return nil
}
