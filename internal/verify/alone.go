package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// checkAlone checks a finding that is not a cycle: Txns[0] did it, Txns[1], where
// there is one, is the other transaction.
func checkAlone(w *finding.Witness) error {
	a, b := &w.Txns[0], &w.Txns[len(w.Txns)-1] // b is a where there is no other
	switch w.Anomaly {
	case finding.Internal, finding.Nonrepeatable:
		return checkInternal(a, w.Op)
	case finding.G1a, finding.DirtyUpdate:
		if b.Status != event.Aborted {
			return fmt.Errorf("%s did not abort", b.ID)
		}
		return checkSaw(a, b, w)
	case finding.G1b:
		return checkIntermediate(a, b, w)
	case finding.DuplicateElements:
		for _, list := range listReads(a, w.Key) {
			if i := slices.Index(list, w.Value); i >= 0 && slices.Index(list[i+1:], w.Value) >= 0 {
				return nil
			}
		}
		return fmt.Errorf("no read of %s shows %s twice", a.ID, w.Value)
	case finding.IncompatibleOrder:
		return checkIncompatible(a, b, w.Key)
	case finding.FutureRead:
		return checkFuture(a, w)
	case finding.CyclicVersions:
		return checkStep(w, a, b)
	case finding.OutOfBounds:
		return checkBounds(a, b, w)
	case finding.WrongTotal:
		return checkTotals(a, b)
	}
	return nil // rests on absence or on the record itself: nothing to derive
}

// checkDivergence: two transactions read the same of the key, and both installed
// a version of their own (MTC, definition 10).
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
			if slices.Equal(x, y) {
				return nil
			}
		}
	}
	x, read := externalRead(a, w.Key)
	y, too := externalRead(b, w.Key)
	if read && too && x.Flags&event.NotFound == y.Flags&event.NotFound && x.Value == y.Value {
		return nil
	}
	return fmt.Errorf("%s and %s did not read the same of %s before they wrote it", a.ID, b.ID, w.Key)
}

func writesKey(t *event.Record, key string) bool {
	return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool { return o.Key == key && o.Writes() })
}

// checkSaw: b wrote the value and a's read shows it.
func checkSaw(a, b *event.Record, w *finding.Witness) error {
	return checkRead(b, a, &finding.Dependency{Key: w.Key, Value: w.Value})
}

func checkIntermediate(a, b *event.Record, w *finding.Witness) error {
	if err := checkSaw(a, b, w); err != nil {
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
	for _, x := range externalReads(a, w.Key) {
		if x.value == w.Value {
			return nil
		}
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
	var state []string // list elements, or the one register value
	known, nothing, list := false, false, false
	var suffix []string // own appends while the beginning is unknown
	for i := 0; i <= op; i++ {
		o := &a.Ops[i]
		if o.Key != key {
			continue
		}
		switch o.Kind {
		case event.Write:
			state, known, nothing = []string{o.Value}, true, false
			if o.Flags&event.NotFound != 0 {
				state, nothing = nil, true
			}
		case event.Inc:
			if known {
				state = []string{added(state, o.Value)}
			}
		case event.Append:
			list = true
			state, suffix = append(state, o.Value), append(suffix, o.Value)
		case event.Read:
			got := o.Elems
			if o.Flags&(event.IsArray|event.NotFound) == 0 {
				got = []string{o.Value}
			}
			list = list || o.Flags&event.IsArray != 0
			gotNothing := o.Flags&event.NotFound != 0
			if i == op {
				if known && (!slices.Equal(got, state) || !list && gotNothing != nothing) {
					return nil
				}
				if !known && !endsWith(got, suffix) {
					return nil
				}
				return errors.New("the read agrees with what came before it")
			}
			if !known {
				state, known, nothing = append([]string(nil), got...), true, gotNothing
			}
		}
	}
	return errors.New("nothing came before the read")
}

func checkIncompatible(a, b *event.Record, key string) error {
	for _, x := range listReads(a, key) {
		for _, y := range listReads(b, key) {
			for i := range min(len(x), len(y)) {
				if x[i] != y[i] {
					return nil
				}
			}
		}
	}
	var own []string // b's appends in the order it made them
	for i := range b.Ops {
		if o := &b.Ops[i]; o.Key == key && o.Kind == event.Append {
			own = append(own, o.Value)
		}
	}
	for _, x := range listReads(a, key) {
		first := map[string]int{}
		for i := len(x) - 1; i >= 0; i-- {
			first[x[i]] = i
		}
		latest := -1
		for _, v := range own {
			at, shown := first[v]
			if shown && at < latest {
				return nil
			}
			latest = max(latest, at)
		}
	}
	return fmt.Errorf("what %s saw of %s agrees with %s", a.ID, key, b.ID)
}

func checkFuture(a *event.Record, w *finding.Witness) error {
	for i := range a.Ops {
		o := &a.Ops[i]
		if o.Key != w.Key {
			continue
		}
		if o.Writes() && o.Value == w.Value {
			return errors.New("the write came first")
		}
		if o.Kind == event.Read && (o.Value == w.Value || slices.Index(o.Elems, w.Value) >= 0) {
			return nil
		}
	}
	return fmt.Errorf("%s did not read %s", a.ID, w.Value)
}

func endsWith(list, suffix []string) bool {
	return len(list) >= len(suffix) && slices.Equal(list[len(list)-len(suffix):], suffix)
}
