package trial

// Base is a consistency model without sessions and time, from weak to strong. The numbers are
// the same as in isolation.Base.
type Base uint8

const (
	readUncommitted Base = iota + 1
	readCommitted
	monotonicAtomicView
	readAtomic
	causal
	prefix
	snapshotIsolation
	serializable
)

// Level is an isolation level.
type Level struct {
	Base    Base
	Session bool // session order counts
	Time    bool // what had ended comes before what began later
	Commits bool // it does in the order of commits only: a state may be older
}

// before says whether a comes before b at the level, whatever they read, and whether it is
// in b's past then.
func (h *History) before(l Level, a, b *txn) (order, past bool) {
	if !a.ends {
		return false, false
	}
	if l.Time && a.hasTimes && b.hasTimes && a.end < b.start && b.start-a.end > h.drift {
		order, past = true, !l.Commits
	}
	if l.Session && a.session != "" && a.session == b.session {
		switch {
		case a.hasSeq && b.hasSeq:
			past = past || a.seq < b.seq
		case a.hasTimes && b.hasTimes:
			past = past || a.end <= b.start
		}
		order = order || past
	}
	return order, past
}
