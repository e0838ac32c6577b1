package registers

import (
	"slices"

	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/saturation"
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
	return l.Special == 0 && l.Base != 0 && int(l.Base) < len(rules)
}

// Close says that the history ends here. Half of what it holds is of no use any more.
func (h *History) Close() {
	if !h.closed {
		h.closed = true
		h.attribute()
	}
}

// Holding are the levels that the history is known to satisfy. It closes the history.
func (h *History) Holding(levels []isolation.Level) []isolation.Level {
	h.Close()
	if h.odd != "" {
		return nil
	}
	asked := slices.DeleteFunc(slices.Clone(levels), func(l isolation.Level) bool {
		return !Decidable(l) || l.Family == isolation.StrongSession && h.sessionless
	})
	upTo, plain := saturation.Rule(0), false
	for _, l := range asked {
		if l.Family != isolation.Strong {
			upTo, plain = max(upTo, rules[l.Base]), true
		}
	}
	var v saturation.Verdicts
	if plain {
		v = h.numbers.Decide(upTo)
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
	if len(by) == 0 || !h.Timed || h.timeless || h.sessionless && h.inSessions || len(h.spans) != len(h.numbers.Txns) {
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
	for i := range h.numbers.Reads {
		for int(t)+1 < len(h.numbers.Txns) && int(h.numbers.Txns[t+1].Reads) <= i {
			t++
		}
		r := &h.numbers.Reads[i]
		if r.Writer == 0 {
			continue // the initial version
		}
		switch r.Writer = h.writers[r.Writer]; r.Writer {
		case nobody, nobodys, t:
			h.odd = "a version is read that nobody committed before"
			return
		}
	}
	h.inSessions = len(h.sessions.all) > 0
	h.ids, h.keys, h.sessions, h.values, h.writers, h.replaced, h.touches = hashes{}, hashes{}, hashes{}, hashes{}, nil, nil, nil
	if len(h.numbers.Txns) == 0 {
		h.numbers.Txns = append(h.numbers.Txns, saturation.HistoryTxn{})
		h.spans = append(h.spans, saturation.Span{})
	}
}
