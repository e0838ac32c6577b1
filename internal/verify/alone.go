package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// rules prove findings that are not cycles: a did it, and b is the other transaction, a where there
// is none. A kind without a rule is proved by its edges or choices (see [Verify]), or says what the
// monitor does not know.
var rules = map[finding.AnomalyKind]func(w *finding.Witness, a, b *event.Record) error{
	finding.Internal:          checkMisread,
	finding.Nonrepeatable:     checkMisread,
	finding.G1a:               checkAborted,
	finding.DirtyUpdate:       checkAborted,
	finding.G1b:               checkIntermediate,
	finding.DuplicateElements: checkDuplicate,
	finding.IncompatibleOrder: checkIncompatible,
	finding.FutureRead:        checkFuture,
	finding.CyclicVersions:    checkStep,
	finding.OutOfBounds:       checkBounds,
	finding.WrongTotal:        checkTotals,
	finding.GarbageRead:       checkGarbage,
	finding.SessionOverlap:    checkOverlap,
	finding.SequenceGap:       checkNothing,
	finding.Contradictory:     checkNothing,
}

// checkAlone checks a finding that is not a cycle.
func checkAlone(w *finding.Witness) error {
	if len(w.Txns) == 0 {
		return errors.New("no transaction takes part")
	}
	a, b := &w.Txns[0], &w.Txns[len(w.Txns)-1] // b is a where there is no other
	switch w.Anomaly {
	case finding.SessionOverlap, finding.SequenceGap, finding.Contradictory: // about the record, whatever came of it
	default:
		if a.Status == event.Aborted {
			return fmt.Errorf("%s aborted", a.ID)
		}
	}
	if rule := rules[w.Anomaly]; rule != nil {
		return rule(w, a, b)
	}
	return errors.New("its kind is a cycle, or is not known")
}

// checkMisread: see checkInternal.
func checkMisread(w *finding.Witness, a, _ *event.Record) error { return checkInternal(a, w.Op) }

// checkAborted: b wrote what a saw, and aborted.
func checkAborted(w *finding.Witness, a, b *event.Record) error {
	if b.Status != event.Aborted {
		return fmt.Errorf("%s did not abort", b.ID)
	}
	return checkSaw(w, a, b)
}

// checkDuplicate: a list that a read shows has the element twice.
func checkDuplicate(w *finding.Witness, a, _ *event.Record) error {
	for _, list := range listReads(a, w.Key) {
		if i := slices.Index(list, w.Value); i >= 0 && slices.Index(list[i+1:], w.Value) >= 0 {
			return nil
		}
	}
	return fmt.Errorf("no read of %s shows %s twice", a.ID, w.Value)
}

// checkOverlap: a and b are two of one session.
func checkOverlap(_ *finding.Witness, a, b *event.Record) error {
	if a == b || a.Session == "" || a.Session != b.Session {
		return errors.New("they are not two of one session")
	}
	return nil
}

// checkNothing is the rule of what rests on records that a witness does not hold.
func checkNothing(*finding.Witness, *event.Record, *event.Record) error { return nil }

// checkCause: the reader was not over when the writer, who aborted, began. If it was, it read what
// somebody without a record wrote, where there may be one. A version names its writer all the same.
func checkCause(w *finding.Witness) error {
	if !w.Strangers || len(w.Txns) == 0 {
		return nil
	}
	reader, writer := &w.Txns[0], &w.Txns[len(w.Txns)-1]
	told := func(o event.RecordOp) bool { return o.Key == w.Key && tellsVersion(&o) }
	if slices.ContainsFunc(reader.Ops, told) || checkProcess(reader, writer) != nil && checkTime(reader, writer, w.Drift) != nil {
		return nil
	}
	return fmt.Errorf("%s was over when %s began", reader.ID, writer.ID)
}

// checkGarbage: a read the value, or anything where it is not kept, and nobody here wrote it.
// That nobody else did rests on absence.
func checkGarbage(w *finding.Witness, a, _ *event.Record) error {
	if w.Value != "" {
		for i := range w.Txns {
			if t := &w.Txns[i]; wroteValue(t, w.Key, w.Value) {
				return fmt.Errorf("%s wrote %s to %s", t.ID, w.Value, w.Key)
			}
		}
	}
	if before := replacedBy(a, w.Key); before != "" && (w.Value == "" || before == w.Value) {
		return nil // it says that it replaced it
	}
	for i := range a.Ops {
		o := &a.Ops[i]
		if o.Key != w.Key || o.Kind != event.Read || o.Nothing() {
			continue
		}
		if w.Value == "" || o.Value == w.Value || slices.Contains(o.Elems, w.Value) {
			return nil
		}
	}
	return fmt.Errorf("%s did not read %s from %s", a.ID, w.Value, w.Key)
}

// checkDivergence: two transactions replaced one version of the key, each with one of its own
// (MTC, definition 10). Their writes name it, or they had read it.
func checkDivergence(w *finding.Witness) error {
	a, b := &w.Txns[0], &w.Txns[len(w.Txns)-1]
	switch {
	case a == b:
		return errors.New("one transaction diverges from nobody")
	case a.Status == event.Aborted || b.Status == event.Aborted:
		return errors.New("an aborted transaction takes part")
	case a.Source != b.Source || a.Epoch != b.Epoch:
		return errors.New("the transactions are of two histories")
	case !writesKey(a, w.Key) || !writesKey(b, w.Key):
		return fmt.Errorf("not both of %s and %s wrote %s", a.ID, b.ID, w.Key)
	}
	if w.Rows && deleted(a, w.Key) != deleted(b, w.Key) {
		return fmt.Errorf("one of %s and %s deleted the row, and the other one inserted another", a.ID, b.ID)
	}
	for _, x := range externalLists(a, w.Key) {
		for _, y := range externalLists(b, w.Key) {
			if slices.Equal(x, y) && !overwritten(w, w.Key) {
				return nil
			}
		}
	}
	x, nothing, ok := replaced(a, w.Key)
	y, none, _ := replaced(b, w.Key)
	if ok && nothing == none && x == y {
		switch {
		case nothing && deletes(w, w.Key):
			return fmt.Errorf("%s was deleted: they may have found nothing twice", w.Key)
		case !nothing && severalWrote(w, w.Key, x):
			return fmt.Errorf("several wrote the %s of %s that they read", x, w.Key)
		}
		return nil
	}
	return fmt.Errorf("%s and %s did not read the same of %s before they wrote it", a.ID, b.ID, w.Key)
}

func writesKey(t *event.Record, key string) bool {
	return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool { return o.Key == key && o.Writes() })
}

// checkSaw: b wrote the value and a's read shows it.
func checkSaw(w *finding.Witness, a, b *event.Record) error {
	return checkRead(w, b, a, &finding.Dependency{Key: w.Key, Value: w.Value})
}

func checkIntermediate(w *finding.Witness, a, b *event.Record) error {
	if err := checkSaw(w, a, b); err != nil {
		return err
	}
	later := false
	for i := range b.Ops {
		o := &b.Ops[i]
		if o.Key != w.Key || o.Kind != event.Write && o.Kind != event.Append {
			continue
		}
		if o.Value == w.Value {
			later = false
		} else {
			later = true
		}
	}
	if !later {
		return fmt.Errorf("%s wrote nothing to %s after %s", b.ID, w.Key, w.Value)
	}
	for _, list := range listReads(a, w.Key) {
		for len(list) > 0 && appended(a, w.Key, list[len(list)-1]) {
			list = list[:len(list)-1] // what a appended itself
		}
		if len(list) > 0 && list[len(list)-1] == w.Value {
			return nil
		}
	}
	for _, x := range observations(a, w.Key) {
		if x.value == w.Value {
			return nil
		}
	}
	if replacedBy(a, w.Key) == w.Value {
		return nil // it says that it replaced it
	}
	return fmt.Errorf("no read of %s ends with %s", a.ID, w.Value)
}

// checkInternal runs a's operations on the key alone, up to op: what op read
// must contradict what came before in the same transaction.
func checkInternal(a *event.Record, op int) error {
	if op >= len(a.Ops) {
		return fmt.Errorf("%s has no operation %d", a.ID, op)
	}
	key := a.Ops[op].Key
	var state []string // list elements, or the one register value; none where nothing is
	known := false
	var suffix []string // own appends while the beginning is unknown
	for i := 0; i <= op; i++ {
		o := &a.Ops[i]
		if o.Key != key {
			continue
		}
		switch o.Kind {
		case event.Write:
			state, known = []string{o.Value}, true
			if o.Flags&event.NotFound != 0 {
				state = nil
			}
		case event.Inc:
			if sum, ok := added(state, o.Value); known && ok {
				state = []string{sum}
			} else {
				known = false
			}
		case event.Append:
			state, suffix = append(state, o.Value), append(suffix, o.Value)
		case event.Read:
			got := o.Elems
			if o.Flags&(event.IsArray|event.NotFound) == 0 {
				got = []string{o.Value}
			}
			if i == op {
				if known && !slices.Equal(got, state) {
					return nil
				}
				if !known && !endsWith(got, suffix) {
					return nil
				}
				return errors.New("the read agrees with what came before it")
			}
			if !known {
				state, known = append([]string(nil), got...), true
			}
		}
	}
	return errors.New("nothing came before the read")
}

func checkIncompatible(w *finding.Witness, a, b *event.Record) error {
	key := w.Key
	if b.Status == event.Aborted {
		return fmt.Errorf("%s aborted", b.ID)
	}
	for _, x := range listReads(a, key) {
		for _, y := range listReads(b, key) {
			for i := range min(len(x), len(y)) {
				if x[i] != y[i] {
					return nil
				}
			}
		}
	}
	own := appendsInOrder(b, key)
	for _, x := range listReads(a, key) {
		latest := -1 // where the list shows what b appended before
		for _, v := range own {
			switch at := slices.Index(x, v); {
			case at < 0:
				latest = len(x) // what b appended behind it is not in the list either
			case at < latest:
				return nil
			default:
				latest = at
			}
		}
	}
	return fmt.Errorf("what %s saw of %s agrees with %s", a.ID, key, b.ID)
}

// appendsInOrder lists the elements that t appended since it last replaced or deleted the list.
func appendsInOrder(t *event.Record, key string) (own []string) {
	for i := range t.Ops {
		switch o := &t.Ops[i]; {
		case o.Key != key || !o.Writes():
		case o.Kind == event.Append:
			own = append(own, o.Value)
		default:
			own = own[:0]
		}
	}
	return own
}

// checkFuture: a read the value before it wrote it, and nobody else did.
func checkFuture(w *finding.Witness, a, _ *event.Record) error {
	if other := another(w, w.Key, w.Value, a); other != nil {
		return fmt.Errorf("%s wrote %s to %s too", other.ID, w.Value, w.Key)
	}
	read := false
	for i := range a.Ops {
		o := &a.Ops[i]
		switch {
		case o.Key != w.Key:
		case o.Kind == event.Read && (o.Value == w.Value || slices.Contains(o.Elems, w.Value)):
			read = true
		case o.Writes() && o.Value == w.Value && read:
			return nil
		case o.Writes() && o.Value == w.Value:
			return errors.New("the write came first")
		}
	}
	return fmt.Errorf("%s did not read %s and write it then", a.ID, w.Value)
}
