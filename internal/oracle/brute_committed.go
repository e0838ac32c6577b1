package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// commitCommitted is commit for the levels at which every read stands for itself.
// Reads after an own write, and those of a list after the first, are not looked at.
func (e *execution) commitCommitted(i int) (state, bool) {
	t := e.txns[i]
	for j := range e.txns {
		before := e.level.sessions() && precedes(e.txns[j], t) || e.level.realTime() && ended(e.txns[j], t, 0)
		if before && e.place[j] < 0 {
			return nil, false
		}
	}
	result, looked := state{}, map[string]bool{}
	for at, o := range t.Ops {
		if o.Kind != event.Read {
			result[o.Key] = []int64{o.Value}
			looked[o.Key] = looked[o.Key] || o.Kind == event.Write
			continue
		}
		if looked[o.Key] || o.Nothing() && t.Status == event.Unknown {
			continue
		}
		looked[o.Key] = o.IsList // a register that is read again may show another version, not anything
		if !e.mayRead(t, at) {
			return nil, false
		}
		if e.level.forbids("cursor-stability") && e.replacesOlder(t, at) {
			return nil, false
		}
	}
	return result, true
}

// replacesOlder says whether the read at the given place of t is that of an update, and another
// version of the key has been installed since.
func (e *execution) replacesOlder(t *workload.Txn, at int) bool {
	o := t.Ops[at]
	if g := (&Graph{History: History{*t}}); !g.updates(0, o.Key) {
		return false
	}
	now := e.states[len(e.states)-1][o.Key]
	if o.IsList {
		return !slices.Equal(now, o.List)
	}
	if o.Absent {
		return len(now) > 0
	}
	return !slices.Equal(now, []int64{o.Value})
}

// mayRead says whether the read at the given place of t is allowed here.
func (e *execution) mayRead(t *workload.Txn, at int) bool {
	o := t.Ops[at]
	committed := e.level.forbids("read-committed")
	if o.IsList {
		shown, ok := others(t, at)
		return !ok || !committed || // uncommitted: looked at in the end
			slices.ContainsFunc(e.states, func(s state) bool { return slices.Equal(s[o.Key], shown) })
	}
	overwrites := slices.ContainsFunc(t.Ops[at:], func(w workload.Op) bool { return w.Key == o.Key && w.Kind == event.Write })
	if o.Absent || !committed && !overwrites {
		return o.Absent || e.written[version{o.Key, o.Value}]
	}
	return slices.ContainsFunc(e.states, func(s state) bool { return slices.Equal(s[o.Key], []int64{o.Value}) })
}

// others returns what the list read at the given place of t shows of other
// transactions' appends; ok is false when it does not end in t's own.
func others(t *workload.Txn, at int) (shown []int64, ok bool) {
	o := t.Ops[at]
	var own []int64
	for _, p := range t.Ops[:at] {
		if p.Kind == event.Append && p.Key == o.Key {
			own = append(own, p.Value)
		}
	}
	n := len(o.List) - len(own)
	if n < 0 || !slices.Equal(o.List[n:], own) {
		return nil, false
	}
	return o.List[:n], true
}

// listsShown says whether every list read shows a beginning of the final list.
func (e *execution) listsShown() bool {
	final := e.states[len(e.states)-1]
	for _, t := range e.txns {
		for at, o := range t.Ops {
			if !o.IsList || o.Kind != event.Read || o.Nothing() && t.Status == event.Unknown {
				continue
			}
			shown, ok := others(t, at)
			if ok && slices.ContainsFunc(appends(t, o.Key), func(v int64) bool { return slices.Contains(shown, v) }) {
				return false // an own append twice, or before it was made
			}
			if ok && !slices.Equal(shown, final[o.Key][:min(len(shown), len(final[o.Key]))]) {
				return false
			}
		}
	}
	return true
}

func isAppended(t *workload.Txn, key string) bool { return len(appends(t, key)) > 0 }

// appends returns what t appends to the key, in order.
func appends(t *workload.Txn, key string) []int64 {
	var vs []int64
	for _, o := range t.Ops {
		if o.Kind == event.Append && o.Key == key {
			vs = append(vs, o.Value)
		}
	}
	return vs
}
