package isolation

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

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
			own += number(cmp.Or(o.Value, "1"))
		case event.Read:
			if o.Flags&event.NotFound != 0 && t.Status == event.Unknown {
				continue // without a note, something may still have been seen
			}
			return number(o.Value) - own, true
		}
	}
	return 0, false
}

func number(text string) int64 {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
