package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// Verify derives every edge of the witness again from the operations alone. It also checks that
// the edges close a cycle, or that the choices leave no order. The error names the first edge
// that does not follow.
func Verify(w *finding.Witness) error {
	switch w.Anomaly {
	case finding.NoOrder:
		return checkTried(w)
	case finding.OutOfBounds, finding.WrongTotal:
		return checkAlone(w) // about what counters hold, whatever their versions
	case finding.Internal, finding.Nonrepeatable:
		if len(w.Edges) == 0 && ofCounter(w) && checkAlone(w) == nil {
			return nil // so are some of these
		}
	case finding.G1a, finding.DirtyUpdate:
		if err := checkCause(w); err != nil {
			return err
		}
	}
	raw := w
	w = plainly(w)
	if len(w.Choices) > 0 {
		return checkChoices(w)
	}
	if len(w.Edges) == 0 {
		if err := checkAlone(w); err != nil {
			return err
		}
		return checkColumns(raw, w)
	}
	switch w.Anomaly {
	case 0:
	case finding.CyclicVersions:
		return checkVersionCycle(w)
	case finding.Divergence:
		return checkDivergence(w)
	case finding.Nonlinearizable:
		if err := checkLine(w); err != nil {
			return err
		}
	default:
		return errors.New("its kind has no edges")
	}
	for i := range w.Edges {
		e := &w.Edges[i]
		if next := w.Edges[(i+1)%len(w.Edges)]; e.To != next.From {
			return fmt.Errorf("edge %d ends at transaction %d, the next begins at %d", i, e.To, next.From)
		}
		if err := checkEdge(w, e); err != nil {
			return fmt.Errorf("edge %d, %s %s -> %s: %w", i, e.Label, w.Txns[e.From].ID, w.Txns[e.To].ID, err)
		}
	}
	return nil
}

func checkEdge(w *finding.Witness, e *finding.Dependency) error {
	from, to := &w.Txns[e.From], &w.Txns[e.To]
	switch {
	case e.From == e.To:
		return errors.New("both ends are one transaction")
	case from.Status == event.Aborted || to.Status == event.Aborted:
		return errors.New("an aborted transaction takes part")
	case from.Source != to.Source || from.Epoch != to.Epoch:
		return errors.New("the transactions are of two histories")
	}
	if w.Rows && e.Label&finding.WW != 0 && deleted(from, e.Key) && !deleted(to, e.Key) {
		return fmt.Errorf("%s deleted the row of %s, and %s inserted another", from.ID, e.Key, to.ID)
	}
	if chained(e) {
		return checkChain(w, e)
	}
	switch e.Label {
	case finding.Saturated:
		return checkSaturated(w, e)
	case finding.Process:
		return checkProcess(from, to)
	case finding.Realtime:
		return checkTime(from, to, w.Drift)
	case finding.RW:
		err := checkAnti(w, from, to, e)
		if err != nil && len(e.Past) == 1 {
			return checkVisits(w, from, to, e)
		}
		return err
	case finding.WR:
		return checkRead(w, from, to, e)
	case finding.WR | finding.WW:
		if err := checkRead(w, from, to, e); err != nil {
			return err
		}
		return checkOverwrite(to, e.Key, e.Value)
	case finding.WW, finding.OtherRow:
		err := checkOrder(w, from, to, e)
		if err != nil && len(e.Past) == 1 {
			return checkVisits(w, from, to, e)
		}
		return err
	}
	return errors.New("it is of no kind of edge")
}

// checkProcess: to follows from in one session, by seq or by the client's clock.
func checkProcess(from, to *event.Record) error {
	switch {
	case from.Session == "" || from.Session != to.Session:
		return errors.New("they are not of one session")
	case (from.Flags|to.Flags)&event.Stale != 0:
		return errors.New("one of them asked for old data")
	case from.Status == event.Unknown:
		return errors.New("nothing follows from the end of a transaction with an unknown outcome")
	case from.Flags&to.Flags&event.HasSeq != 0:
		if from.Seq >= to.Seq {
			return fmt.Errorf("seq %d is not before seq %d", from.Seq, to.Seq)
		}
	case from.Flags&to.Flags&event.HasTimes != 0:
		if from.End > to.Start {
			return errors.New("the first was still running when the second began")
		}
	default:
		return errors.New("neither seq nor times order them")
	}
	return nil
}

// checkTime: from had ended before to began, whatever the drift between their
// clocks.
func checkTime(from, to *event.Record, drift int64) error {
	switch {
	case from.Flags&to.Flags&event.HasTimes == 0:
		return errors.New("one of them has no times")
	case (from.Flags|to.Flags)&event.Stale != 0:
		return errors.New("one of them asked for old data")
	case from.Status == event.Unknown:
		return errors.New("nothing follows from the end of a transaction with an unknown outcome")
	case from.End >= to.Start || to.Start-from.End <= drift:
		return errors.New("the first may still have been running when the second began")
	}
	return nil
}

// checkRead: to read the value, alone or in a list, and from wrote it, and nobody else did.
func checkRead(w *finding.Witness, from, to *event.Record, e *finding.Dependency) error {
	if !wroteValue(from, e.Key, e.Value) {
		return fmt.Errorf("%s did not write %s to %s", from.ID, e.Value, e.Key)
	}
	if other := another(w, e.Key, e.Value, from, to); other != nil {
		return fmt.Errorf("%s wrote %s to %s too", other.ID, e.Value, e.Key)
	}
	for _, x := range observations(to, e.Key) {
		if !x.nothing && x.value == e.Value {
			return nil
		}
	}
	for _, list := range listReads(to, e.Key) {
		if slices.Index(list, e.Value) >= 0 {
			return nil
		}
	}
	if before, nothing, ok := replaced(to, e.Key); ok && !nothing && before == e.Value {
		return nil
	}
	return fmt.Errorf("%s did not read %s from %s", to.ID, e.Value, e.Key)
}

// checkOverwrite: to read the value and then wrote the key itself.
func checkOverwrite(to *event.Record, key, value string) error {
	if _, ok := finalWrite(to, key); !ok {
		return fmt.Errorf("%s did not overwrite %s", to.ID, key)
	}
	if before, _, ok := replaced(to, key); !ok || before != value {
		return fmt.Errorf("%s did not read %s = %s before it wrote", to.ID, key, value)
	}
	return nil
}

// checkAnti: from read a state of the key that to changed.
func checkAnti(w *finding.Witness, from, to *event.Record, e *finding.Dependency) error {
	if appended(to, e.Key, e.Value) {
		if overwritten(w, e.Key) {
			return fmt.Errorf("%s may have been written over when %s did not find %s", e.Key, from.ID, e.Value)
		}
		for _, list := range externalLists(from, e.Key) {
			if slices.Index(list, e.Value) < 0 {
				return nil
			}
		}
		return fmt.Errorf("no read of %s by %s lacks %s", e.Key, from.ID, e.Value)
	}
	reads := observations(from, e.Key)
	if len(reads) == 0 {
		return fmt.Errorf("%s did not read %s before writing it", from.ID, e.Key)
	}
	var err error
	for _, x := range reads { // several where they differ, which levels below read atomic allow
		if err = checkAntiOf(w, from, to, e, &from.Ops[x.at]); err == nil {
			return nil
		}
	}
	return err
}

func checkAntiOf(w *finding.Witness, from, to *event.Record, e *finding.Dependency, read *event.RecordOp) error {
	write, ok := finalWrite(to, e.Key)
	if !ok || write.Value != e.Value {
		return fmt.Errorf("%s did not leave %s = %s", to.ID, e.Key, e.Value)
	}
	nothing := read.Flags&event.NotFound != 0
	before, none, ok := replaced(to, e.Key)
	switch {
	case (w.Numeric || w.ByCommit) && checkGiven(w, from, to, e, read) == nil:
		return nil
	case nothing && deletesBefore(w, from, e.Key):
		return fmt.Errorf("%s may have been deleted when %s found nothing", e.Key, from.ID)
	case nothing:
		return nil // every write comes after the initial version
	case !ok:
		return fmt.Errorf("%s wrote %s blindly", to.ID, e.Key)
	case none || read.Value != before:
		return fmt.Errorf("%s overwrote another version than %s read", to.ID, from.ID)
	case read.Value == e.Value:
		return fmt.Errorf("%s wrote what was there", to.ID)
	case severalWrote(w, e.Key, before):
		return fmt.Errorf("several wrote the %s of %s that %s overwrote", before, e.Key, to.ID)
	}
	return nil
}

// checkOrder: from's version of the key comes before the value that to installed. Either to
// read it and overwrote it. Or a list read shows the one and the other behind it, or the one
// and not the other.
func checkOrder(w *finding.Witness, from, to *event.Record, e *finding.Dependency) error {
	if !appended(to, e.Key, e.Value) {
		if (w.Numeric || w.ByCommit) && checkGiven(w, from, to, e, nil) == nil {
			return nil
		}
		before, nothing, ok := replaced(to, e.Key)
		if !ok || nothing {
			return fmt.Errorf("%s did not read %s before writing it", to.ID, e.Key)
		}
		if write, ok := finalWrite(from, e.Key); !ok || write.Value != before {
			return fmt.Errorf("%s did not leave %s = %s", from.ID, e.Key, before)
		}
		if severalWrote(w, e.Key, before) {
			return fmt.Errorf("several wrote the %s of %s that %s overwrote", before, e.Key, to.ID)
		}
		return nil
	}
	switch {
	case e.Shown < 0:
		return errors.New("no read shows the order")
	case w.Txns[e.Shown].Status == event.Aborted:
		return fmt.Errorf("%s aborted, whose read is to show the order", w.Txns[e.Shown].ID)
	case another(w, e.Key, e.Value, to) != nil:
		return fmt.Errorf("others than %s appended %s to %s too", to.ID, e.Value, e.Key)
	}
	for _, list := range externalLists(&w.Txns[e.Shown], e.Key) {
		at := slices.Index(list, e.Value)
		for i, v := range list {
			if (at < 0 && !overwritten(w, e.Key) || i < at) && appended(from, e.Key, v) && another(w, e.Key, v, from) == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("no read of %s shows %s behind an append of %s", w.Txns[e.Shown].ID, e.Value, from.ID)
}
