package registers

import (
	"slices"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/saturation"
)

// rules are the rules that the weak levels are decided by. In registers without versions, only
// a read of one from the other orders two writers. So the first two rules have no edges beside
// reads and session order.
var rules = [...]saturation.Rule{
	isolation.ReadUncommitted: 0, isolation.ReadCommitted: 0,
	isolation.MonotonicAtomicView: saturation.AtomicView, isolation.ReadAtomic: saturation.Atomic,
	isolation.Causal: saturation.Causal,
}

// Decidable says whether l is a level that is decided here, for some histories.
func Decidable(l isolation.Level) bool {
	return l.Special == 0 && l.Base != 0 || l.Special == isolation.GeneralizedSI
}

// byRules says whether l is decided here without an order of all transactions too.
func byRules(l isolation.Level) bool {
	return l.Special == 0 && l.Base != 0 && int(l.Base) < len(rules)
}

// Close says that the history ends here. Half of what it holds is of no use any more.
func (h *History) Close() {
	if !h.closed {
		h.closed = true
		h.attribute()
	}
}

// Holding are the levels that the history is known to satisfy. Where it may violate one of them, it
// has those up to causal consistency only. It closes the history.
func (h *History) Holding(levels []isolation.Level) []isolation.Level {
	h.Close()
	if h.odd != "" {
		return nil
	}
	best, found := h.witnessed(isolation.Serializable, levels)
	if strongest := (isolation.Level{Base: isolation.SnapshotIsolation, Family: isolation.Strong}); !found && all(levels, strongest.Implies) {
		best, found = h.witnessed(isolation.SnapshotIsolation, levels)
	}
	implied := func(l isolation.Level) bool {
		return found && best.Implies(l) && Decidable(l) && !(l.Family == isolation.StrongSession && h.sessionless)
	}
	rest := slices.DeleteFunc(slices.Clone(levels), implied)
	if len(rest) > 0 {
		rest = h.holdingByRules(rest)
	}
	holding := slices.DeleteFunc(slices.Clone(levels), func(l isolation.Level) bool { return !implied(l) && !slices.Contains(rest, l) })
	if len(holding) < len(levels) {
		// Findings about the others are told by the levels above them too.
		holding = slices.DeleteFunc(holding, func(l isolation.Level) bool { return !byRules(l) })
	}
	return holding
}

func all(levels []isolation.Level, is func(isolation.Level) bool) bool {
	return !slices.ContainsFunc(levels, func(l isolation.Level) bool { return !is(l) })
}

// witnessed is the strongest form of the base that an order shows, of those that the levels ask for. The
// base is serializable or snapshot isolation.
func (h *History) witnessed(base isolation.Base, levels []isolation.Level) (best isolation.Level, ok bool) {
	for i, f := range []isolation.Family{isolation.Strong, isolation.StrongSession, isolation.Plain} {
		if f != isolation.Plain && h.sessionless && h.inSessions || f == isolation.StrongSession && h.sessionless || f == isolation.Strong && !h.timed() {
			continue
		}
		if i > 0 && !slices.ContainsFunc(levels, func(l isolation.Level) bool { return l.Family <= f }) {
			break // the form before it has failed
		}
		c := constraints{sessions: f != isolation.Plain && h.inSessions, time: f == isolation.Strong}
		if base == isolation.SnapshotIsolation {
			order := h.snapshots(c)
			ok = order != nil && h.replaysSnapshots(order, c)
		} else {
			order := h.serial(c)
			ok = order != nil && h.replays(order, c)
		}
		if ok {
			return isolation.Level{Base: base, Family: f}, true
		}
	}
	return best, false
}

// timed says whether all transactions have times.
func (h *History) timed() bool { return !h.timeless && len(h.spans) == len(h.numbers.Txns) }

// Ends are when the committed transactions ended, ns; none where one has no times.
func (h *History) Ends(yield func(end int64) bool) {
	if !h.timed() {
		return
	}
	for i := 1; i < len(h.spans); i++ { // the first one stands for the beginning
		if !yield(h.spans[i].End) {
			return
		}
	}
}

// holdingByRules are the levels up to causal consistency that the history is known to satisfy.
func (h *History) holdingByRules(levels []isolation.Level) []isolation.Level {
	asked := slices.DeleteFunc(slices.Clone(levels), func(l isolation.Level) bool {
		return h.lists.authors != nil || !byRules(l) || l.Family == isolation.StrongSession && h.sessionless
	})
	upTo, untimed := saturation.Rule(0), false
	for _, l := range asked {
		if l.Family != isolation.Strong {
			upTo, untimed = max(upTo, rules[l.Base]), true
		}
	}
	var v saturation.Verdicts
	if untimed {
		v = h.numbers.DecideAsked(saturation.Asked{
			UpTo:    upTo,
			Alone:   all(asked, func(l isolation.Level) bool { return l.Family == isolation.Strong || rules[l.Base] == upTo }),
			Session: all(asked, func(l isolation.Level) bool { return l.Family != isolation.Plain }),
		})
	}
	strong := h.strongest(asked)
	return slices.DeleteFunc(asked, func(l isolation.Level) bool {
		rule := rules[l.Base]
		if l.Family == isolation.Strong {
			return int(rule) > strong
		}
		holds := v.Session[rule] && !v.Unknown[1][rule]
		if l.Family == isolation.Plain {
			holds = v.Plain[rule] && !v.Unknown[0][rule]
		}
		if rule == 0 {
			holds = v.Ordered
		}
		return !holds
	})
}

// strongest is the strongest of the rules asked for whose strong level the history is known to
// satisfy; -1 if there is none. The history then satisfies the strong levels of the weaker
// rules too.
func (h *History) strongest(asked []isolation.Level) int {
	var by []saturation.Rule
	for _, l := range asked {
		if l.Family == isolation.Strong {
			by = append(by, rules[l.Base])
		}
	}
	if len(by) == 0 || !h.timed() || h.sessionless && h.inSessions {
		return -1
	}
	timed, ok := h.numbers.InTime(h.spans, h.Drift)
	if !ok {
		return -1
	}
	slices.Sort(by)
	by = slices.Compact(by)
	for i := len(by) - 1; i >= 0; i-- {
		if holds, known := timed.Strong(by[i]); known && holds {
			return int(by[i])
		}
	}
	return -1
}

// attribute puts writers in the place of versions.
func (h *History) attribute() {
	t := uint32(0)
	h.numKeys = len(h.keys.all)
	if !h.settleLists() {
		h.odd = "a list shows what nobody committed"
		return
	}
	h.saw = make([]uint32, len(h.numbers.Reads))
	for i := range h.numbers.Reads {
		for int(t)+1 < len(h.numbers.Txns) && int(h.numbers.Txns[t+1].Reads) <= i {
			t++
		}
		r := &h.numbers.Reads[i]
		if r.Writer == 0 {
			continue // the initial version
		}
		h.saw[i] = h.places[r.Writer]
		switch r.Writer = h.writers[r.Writer]; {
		case r.Writer == nobody, r.Writer == nobodys, r.Writer == t, h.saw[i] == nobodys:
			h.odd = "a version is read that nobody committed before"
			return
		}
	}
	h.inSessions, h.numVersions = len(h.sessions.all) > 0, len(h.writers)+h.numKeys
	h.ids, h.keys, h.sessions, h.values = hashes{}, hashes{}, hashes{}, hashes{}
	h.writers, h.places, h.replaced, h.touches = nil, nil, nil, nil
	h.lists.spines, h.lists.index, h.lists.own, h.lists.owned, h.lists.many = nil, nil, nil, nil, nil
	if len(h.numbers.Txns) == 0 {
		h.numbers.Txns = append(h.numbers.Txns, saturation.HistoryTxn{})
		h.spans = append(h.spans, saturation.Span{})
	}
}
