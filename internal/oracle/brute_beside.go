package oracle

import (
	"fmt"
	"maps"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// maxBeside is the most transactions that PossibleBeside takes: 12!/2^6 orders of their
// beginnings and ends.
const maxBeside = 6

// Leaver is who may have left what a read saw.
type Leaver int

const (
	ARecord Leaver = iota // a transaction of the history
	Start                 // or it was there at the start
	Anybody               // or a transaction without a record
)

// PossibleBeside is [Possible] where transactions without a record run beside those of h,
// from prefix up. They may leave what a read saw that is Anybody's at any register at any time: a
// value, or nothing. So may the state at the start, and this alone what is the Start's. The order
// that is tried is of snapshots and commits: of a snapshot that shows what is Anybody's, somebody
// has just left it there.
func PossibleBeside(h History, l Level, left func(o *workload.Op) Leaver) (bool, error) {
	if !l.forbids("prefix") {
		return false, fmt.Errorf("oracle: %s is not tried beside others", l)
	}
	may := 0
	for i := range h {
		if h[i].Status != event.Aborted {
			may++
		}
	}
	if may > maxBeside {
		return false, fmt.Errorf("oracle: %d transactions are too many to try beside others, the most is %d", may, maxBeside)
	}
	return someOutcome(h, func(txns []*workload.Txn) bool {
		n := len(txns)
		b := beside{level: l, left: left, txns: txns, begun: make([]int, n), over: make([]bool, n), results: make([]state, n)}
		return b.extend(store{state{}, map[string]int{}, map[string]int{}}, 1)
	})
}

// store holds what is committed, and when: instants are twice the number of the step, and
// somebody without a record wrote at odd ones.
type store struct {
	state   state
	changed map[string]int // by cell, the last write
	needed  map[string]int // by cell, the last write or snapshot that shows it
}

// beside is a prefix of an order of snapshots and commits.
type beside struct {
	level   Level
	left    func(*workload.Op) Leaver
	txns    []*workload.Txn
	begun   []int   // step of the snapshot, 0: none yet
	over    []bool  // committed
	results []state // what the transaction writes, once it has begun
}

// extend tries every transaction for the next step.
func (b *beside) extend(s store, step int) bool {
	if !slices.Contains(b.over, false) {
		return true
	}
	for i := range b.txns {
		if b.over[i] {
			continue
		}
		if b.begun[i] == 0 {
			next, ok := b.begin(s, i, step)
			if ok && b.level.base() == "serializable" {
				ok = b.commit(&next, i, step)
			}
			if ok && b.extend(next, step+1) {
				return true
			}
			b.begun[i], b.over[i] = 0, false
			continue
		}
		next := store{maps.Clone(s.state), maps.Clone(s.changed), maps.Clone(s.needed)}
		if b.commit(&next, i, step) && b.extend(next, step+1) {
			return true
		}
		b.over[i] = false
	}
	return false
}

// begin takes i's snapshot, in which somebody has left what i was shown of what is free. He
// did so as soon as nobody needed any more what was there before: then he was in nobody's way.
func (b *beside) begin(s store, i, step int) (store, bool) {
	for j := range b.txns {
		late := b.level.realTime() && b.level != generalized && ended(b.txns[j], b.txns[i], 0)
		if (late || b.level.sessions() && precedes(b.txns[j], b.txns[i])) && !b.over[j] {
			return s, false
		}
	}
	s = store{maps.Clone(s.state), maps.Clone(s.changed), maps.Clone(s.needed)}
	own := map[string]bool{}
	for at := range b.txns[i].Ops {
		o := &b.txns[i].Ops[at]
		if o.Kind != event.Read || own[o.Key] {
			own[o.Key] = true
			continue
		}
		if !s.leave(o, b.left(o), reads(o, b.txns[i], s.state[o.Key], nil, nil)) {
			return s, false
		}
		if !(o.Nothing() && b.txns[i].Status == event.Unknown) {
			s.needed[o.Key] = 2 * step
		}
	}
	result, ok := replay(b.txns[i], s.state)
	b.begun[i], b.results[i] = step, result
	return s, ok
}

// leave lets what o saw be there if somebody may have left it who has no record. It is false where a
// value that only a record can have left was there at the start.
func (s *store) leave(o *workload.Op, by Leaver, there bool) bool {
	fresh := s.changed[o.Key] == 0
	switch {
	case there && by == ARecord:
		return !fresh || o.Absent || o.IsList
	case there:
	case by == Anybody:
		s.state[o.Key], s.changed[o.Key] = []int64{o.Value}, s.needed[o.Key]+1
		if o.Absent {
			s.state[o.Key] = nil
		}
	case by == Start && fresh && s.needed[o.Key] == 0:
		s.state[o.Key] = []int64{o.Value}
	}
	return true
}

// commit installs what i wrote, if it may.
func (b *beside) commit(s *store, i, step int) bool {
	for j := range b.txns {
		if b.level == generalized && ended(b.txns[j], b.txns[i], 0) && !b.over[j] {
			return false
		}
	}
	for k, v := range b.results[i] {
		if b.level.snapshot() && s.changed[k] > 2*b.begun[i] {
			return false
		}
		if isAppended(b.txns[i], k) {
			v = append(slices.Clone(s.state[k]), appends(b.txns[i], k)...)
		}
		s.state[k], s.changed[k], s.needed[k] = v, 2*step, 2*step
	}
	b.over[i] = true
	return true
}
