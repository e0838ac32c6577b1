package verify

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// Counters: no increments sum up to the value that was read. That rests on all records, and a
// witness does not hold them. This file only derives the reads of the two transactions.

// added is the counter's value with an increment on top. It is false if one of them is not an
// integer, or the sum does not fit 64 bits.
func added(state []string, inc string) (string, bool) {
	if inc == "" {
		inc = "1"
	}
	sum, ok := number(inc)
	if len(state) > 0 {
		v, okV := number(state[0])
		over := (sum+v < v) != (sum < 0)
		sum, ok = sum+v, ok && okV && !over
	}
	return strconv.FormatInt(sum, 10), ok
}

// ofCounter says whether the operation that the witness is about is one on a counter.
func ofCounter(w *finding.Witness) bool {
	if len(w.Txns) == 0 || w.Op >= len(w.Txns[0].Ops) {
		return false
	}
	key := w.Txns[0].Ops[w.Op].Key
	return slices.ContainsFunc(w.Txns[0].Ops, func(o event.RecordOp) bool {
		return o.Key == key && (o.Kind == event.Inc || o.Data == event.Counter)
	})
}

func number(text string) (int64, bool) {
	v, err := strconv.ParseInt(text, 10, 64)
	return v, err == nil
}

// counterSeen is the value of t's first read of the counter, less t's own increments before it.
func counterSeen(t *event.Record, key string) (v int64, ok bool) {
	own := int64(0)
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key != key {
			continue
		}
		switch o.Kind {
		case event.Inc:
			sum, ok := added(nil, o.Value)
			if !ok {
				return 0, false
			}
			n, _ := number(sum)
			own += n
		case event.Read:
			if o.Flags&event.NotFound != 0 {
				if t.Status == event.Unknown {
					continue // without a note, something may still have been seen
				}
				return -own, true
			}
			v, ok := number(o.Value)
			return v - own, ok
		}
	}
	return 0, false
}

// checkBounds: a read the counter, and b, if it is another, read another value.
func checkBounds(w *finding.Witness, a, b *event.Record) error {
	x, ok := counterSeen(a, w.Key)
	if !ok {
		return fmt.Errorf("%s did not read %s", a.ID, w.Key)
	}
	if a == b {
		return nil
	}
	if y, ok := counterSeen(b, w.Key); !ok || x == y {
		return fmt.Errorf("%s did not read another value of %s than %s", b.ID, w.Key, a.ID)
	}
	return nil
}

// checkTotals: both read the same counters, and the sums differ.
func checkTotals(_ *finding.Witness, a, b *event.Record) error {
	for _, of := range [...][2]*event.Record{{a, b}, {b, a}} {
		for i := range of[0].Ops {
			o := &of[0].Ops[i]
			if _, ok := counterSeen(of[1], o.Key); o.Kind == event.Read && o.Data == event.Counter && !ok {
				return fmt.Errorf("%s did not read %s", of[1].ID, o.Key)
			}
		}
	}
	if totalOf(a, b) == totalOf(b, a) {
		return fmt.Errorf("%s and %s read the same total", a.ID, b.ID)
	}
	return nil
}

// totalOf is the sum of what t read of counters that the other one read too. A read need not
// say that it is of a counter: what one of the two read alone may be a register.
func totalOf(t, other *event.Record) (sum int64) {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Kind != event.Read || o.Data != event.Counter && o.Data != event.AnyKind {
			continue
		}
		if slices.ContainsFunc(t.Ops[:i], func(x event.RecordOp) bool { return x.Kind == event.Read && x.Key == o.Key }) {
			continue // the first read counts
		}
		v, _ := counterSeen(t, o.Key)
		if _, ok := counterSeen(other, o.Key); ok {
			sum += v
		}
	}
	return sum
}
