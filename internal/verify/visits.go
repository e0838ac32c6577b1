package verify

import (
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// checkVisits: the version of the key that from left or read is the one that the first
// transaction of e.Past had. The version that to left is the one that the second transaction
// found. The second came later in its session or in time. A delete has a version of its own.
func checkVisits(w *finding.Witness, from, to *event.Record, e *finding.Dependency) error {
	write, ok := finalWrite(to, e.Key)
	if !ok || write.Value != e.Value {
		return fmt.Errorf("%s did not leave %s = %s", to.ID, e.Key, e.Value)
	}
	p := &e.Past[0]
	a, b := &w.Txns[p.From], &w.Txns[p.To]
	_, had, okA := visited(a, e.Key)
	found, _, okB := visited(b, e.Key)
	if !okA || !okB || a.Status == event.Aborted || b.Status == event.Aborted {
		return fmt.Errorf("%s or %s did not visit %s", a.ID, b.ID, e.Key)
	}
	switch { // each delete leaves a nothing of its own, which its transaction tells
	case had == "" && a.ID != from.ID:
		return fmt.Errorf("%s had nothing in %s, perhaps not what %s had", a.ID, e.Key, from.ID)
	case found == "" && b.ID != to.ID:
		return fmt.Errorf("%s found nothing in %s, perhaps not what %s left", b.ID, e.Key, to.ID)
	case found != e.Value || had == found && had != "":
		return fmt.Errorf("%s found %s = %s, after %s", b.ID, e.Key, found, had)
	}
	same, last, _ := visited(from, e.Key)
	_, ok = externalRead(from, e.Key)
	if e.Label&finding.RW == 0 {
		same = last
		_, ok = finalWrite(from, e.Key)
	}
	if !ok || same != had {
		return fmt.Errorf("%s had %s = %s and %s had %s", a.ID, e.Key, had, from.ID, same)
	}
	return checkLater(w, p)
}

// checkLater: the step leads on in a session or in real time.
func checkLater(w *finding.Witness, e *finding.Dependency) error {
	from, to := &w.Txns[e.From], &w.Txns[e.To]
	switch {
	case from.Source != to.Source || from.Epoch != to.Epoch:
		return errors.New("the transactions are of two histories")
	case e.Label&finding.Process != 0:
		return checkProcess(from, to)
	case e.Label&finding.Realtime != 0:
		return checkTime(from, to, w.Drift)
	}
	return errors.New("neither session nor time order them")
}

// checkVersionCycle: each step leads to a version of the key that does not come before, by
// session, by time, or by two having the same one. The versions are not all one.
func checkVersionCycle(w *finding.Witness) error {
	_, at, _ := visited(&w.Txns[w.Edges[0].From], w.Key) // what the one at hand found or left
	moved := false
	for i := range w.Edges {
		e := &w.Edges[i]
		if next := w.Edges[(i+1)%len(w.Edges)]; e.To != next.From {
			return fmt.Errorf("step %d ends at transaction %d, the next begins at %d", i, e.To, next.From)
		}
		a, b := &w.Txns[e.From], &w.Txns[e.To]
		first, last, okA := visited(a, w.Key)
		found, left, okB := visited(b, w.Key)
		switch {
		case !okA || !okB || a.Status == event.Aborted || b.Status == event.Aborted:
			return fmt.Errorf("%s or %s did not visit %s", a.ID, b.ID, w.Key)
		case e.Label&finding.WR != 0:
			if at == first && at != found && at != left {
				at, moved = last, true // it replaced what it had found
			}
			if at != found && at != left {
				return fmt.Errorf("%s did not have %s = %s", b.ID, w.Key, at)
			}
		case e.Label&finding.RW != 0:
			if at != "" || left == "" || deletes(w, w.Key) {
				return fmt.Errorf("%s was there before %s", w.Key, b.ID)
			}
			at, moved = left, true
		default:
			if err := checkLater(w, e); err != nil {
				return err
			}
			moved = moved || last != found || at != found
			at = found
		}
	}
	if !moved {
		return errors.New("the versions make no circle")
	}
	return nil
}
