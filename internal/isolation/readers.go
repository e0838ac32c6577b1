package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// readers says whose anti-dependencies a base follows.
type readers uint8

const (
	// everyone: all who read the key, by itself or in a range that lacked it.
	everyone readers = iota
	// ofItems: all who read the key itself. A range that lacked it does not count. These are
	// Adya's item-anti-dependencies (PL-2.99).
	ofItems
	// updaters: all who saw one version of the key and then wrote the key. A cursor keeps that
	// version stable (Adya, PL-CS). A cycle over other reads is allowed.
	updaters
)

// limit says which anti-dependencies a cycle that the base forbids holds at most one of.
type limit uint8

const (
	// unlimited: a cycle may hold any number of them, and is forbidden.
	unlimited limit = iota
	// oneOfAll: a cycle with two of any readers is allowed (Adya, G-single; PL-2+).
	oneOfAll
	// oneOfReaders: a cycle with two of transactions that write nothing is allowed (Adya, G-update; PL-3U).
	oneOfReaders
)

// Selects says whether b counts some anti-dependencies only, or some of their cycles: see
// [Base.Follows] and [Base.Limits].
func (b Base) Selects() bool { return bases[b].readers != everyone || b.Limits() }

// Limits says whether b forbids cycles with at most one anti-dependency of some readers: see
// [Base.Limited].
func (b Base) Limits() bool { return bases[b].limit != unlimited }

// Limited says whether an anti-dependency from t is one that a forbidden cycle holds at most one of.
func (b Base) Limited(t *event.Record) bool {
	switch bases[b].limit {
	case oneOfAll:
		return true
	case oneOfReaders:
		return !slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool { return o.Writes() || o.Kind == event.Inc })
	}
	return false
}

// Follows says whether b follows an anti-dependency on key from t, which read it.
func (b Base) Follows(t *event.Record, key string) bool {
	switch bases[b].readers {
	case ofItems:
		return unseen(t, key) == nil
	case updaters:
		return updates(t, key)
	}
	return true
}

// observation holds the state of a key that one operation saw.
type observation struct {
	nothing        bool
	value, version string
	elems          []string
}

func (s *observation) same(as *observation) bool {
	return s.nothing == as.nothing && s.value == as.value && s.version == as.version && slices.Equal(s.elems, as.elems)
}

// updates says whether t saw one version of the key, and then wrote the key. Which of two
// versions a cursor stood on is not known: one who saw both, or who says that it replaced another
// one, is none.
func updates(t *event.Record, key string) bool {
	var seen *observation
	for i := range t.Ops {
		o := &t.Ops[i]
		x := seenOf(o, key)
		if x != nil && x.nothing && t.Status == event.Unknown {
			x = nil // the answer may be lost
		}
		if x != nil && seen != nil && !x.same(seen) {
			return false
		}
		if x != nil {
			seen = x
		}
		switch {
		case o.Key != key || !o.Writes() && o.Kind != event.Inc:
		case o.Kind == event.Add || o.Kind == event.Remove || o.Kind == event.Inc:
			return false // it goes on from whatever is there
		default:
			return seen != nil && (o.PrevVersion == "" || o.PrevVersion == seen.version)
		}
	}
	return false
}

// seenOf is the state of the key that o saw. nil: o did not read the key, or it is a set or a counter.
func seenOf(o *event.RecordOp, key string) *observation {
	switch {
	case o.Kind == event.Range:
		for _, r := range o.Rows {
			if r.Key == key {
				return &observation{value: r.Value, version: r.Version}
			}
		}
	case o.Key != key || o.Data.Parts() || o.Data == event.Counter:
	case o.Kind == event.Read:
		return &observation{nothing: o.Nothing(), value: o.Value, version: o.Version, elems: o.Elems}
	case o.Kind == event.CAS && o.Flags&event.Success != 0:
		return &observation{nothing: o.Expected == "null", value: o.Expected, version: o.PrevVersion}
	}
	return nil
}

// InChain are the weakest of these levels where one that selects readers counts as the weakest level
// with all readers that implies it. They name a finding: its id is the one of releases without
// levels that select readers.
func InChain(weakest []Level) []Level {
	var chain []Level
	for _, l := range weakest {
		if l.Special == 0 {
			l.Base = l.Base.argued()
		}
		if !l.Refuted(chain) {
			chain = append(slices.DeleteFunc(chain, func(x Level) bool { return x.Implies(l) }), l)
		}
	}
	return chain
}

// selected adds to the weakest levels that the cycle refutes. It adds a level that selects
// readers, if that follows every anti-dependency of the cycle, and limits one at most. f is the family that the cycle
// needs. Where rows are told apart, a cycle says nothing of cursor stability: who deleted a
// row, and who inserted the next one, lost no update.
func (w *witness) selected(weakest []Level, f Family) []Level {
	for _, b := range []Base{CursorStability, RepeatableRead, UpdateSerializable} {
		l := Level{Base: b, Family: f}
		if l.Refuted(weakest) || w.Rows && b == CursorStability || !w.followedBy(b) || w.limitedBy(b) > 1 {
			continue
		}
		weakest = joined(weakest, l)
	}
	return weakest
}

// followedBy says whether b follows each anti-dependency of the cycle. An edge that stands for writes
// of its key in a row begins with its first step.
func (w *witness) followedBy(b Base) bool {
	return !slices.ContainsFunc(w.Edges, func(e finding.Dependency) bool {
		return e.Label&finding.RW != 0 && !b.Follows(&w.Txns[e.From], e.Key)
	})
}

// limitedBy counts the anti-dependencies of the cycle that b limits.
func (w *witness) limitedBy(b Base) (n int) {
	for i := range w.Edges {
		if e := &w.Edges[i]; b.Limits() && e.Label&finding.RW != 0 && b.Limited(&w.Txns[e.From]) {
			n++
		}
	}
	return n
}
