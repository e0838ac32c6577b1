package oracle

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// maxBrute is the most transactions that Possible takes: 8! orders.
const maxBrute = 8

// Possible says by trial whether some execution at the level shows what h
// shows. It knows nothing of dependencies: it tries every choice of the unknown
// outcomes and every order of commits, and replays the operations.
//
// Serializable: each transaction reads the state as of its own place in the
// order. Snapshot isolation: each reads the state as of some earlier place, such
// that no commit in between wrote a key that it writes. Prefix: the same with
// any commits in between. Read committed: each read returns some committed state
// of its key, as of any earlier place; read uncommitted asks only that lists show
// the order of commits, and that what a transaction overwrote comes before it.
// With sessions, a
// transaction's state holds every committed transaction before it in its
// session; an unknown outcome may take effect late and binds no successor.
// Sessions must have seq. It errors beyond 8 transactions that may have
// committed.
func Possible(h History, l Level) (bool, error) {
	var sure, unsure []*workload.Txn
	for i := range h {
		switch h[i].Status {
		case event.Committed:
			sure = append(sure, &h[i])
		case event.Unknown:
			unsure = append(unsure, &h[i])
		}
	}
	if n := len(sure) + len(unsure); n > maxBrute {
		return false, fmt.Errorf("oracle: %d transactions are too many to try all orders, the most is %d", n, maxBrute)
	}
	for choice := range 1 << len(unsure) {
		txns := slices.Clone(sure)
		for n, t := range unsure {
			if choice>>n&1 == 1 {
				txns = append(txns, t)
			}
		}
		written := map[version]bool{}
		note := func(t *workload.Txn) {
			for _, o := range t.Ops {
				if o.Kind != event.Read {
					written[version{o.Key, o.Value}] = true
				}
			}
		}
		for i := range h {
			if h[i].Status == event.Aborted {
				note(&h[i])
			}
		}
		for _, t := range txns {
			note(t)
		}
		e := execution{level: l, written: written, txns: txns, place: make([]int, len(txns)), states: []state{{}}}
		for i := range e.place {
			e.place[i] = -1
		}
		if e.extend() {
			return true, nil
		}
	}
	return false, nil
}

// state is the committed contents of the store: a register holds one element, a
// list all of its own, and a key that was never written none.
type state map[string][]int64

// execution is a prefix of an order of commits.
type execution struct {
	level   Level
	written map[version]bool // by those that take part, and those that aborted
	txns    []*workload.Txn
	place   []int             // of each transaction in the order, -1 while it is not in it
	states  []state           // states[p] is the store after p commits
	writes  []map[string]bool // writes[p] are the keys that commit p wrote
}

// extend tries to complete the order by each transaction in turn.
func (e *execution) extend() bool {
	p := len(e.writes)
	if p == len(e.txns) {
		return e.level.base() != "read-uncommitted" || e.listsShown()
	}
	for i := range e.txns {
		if e.place[i] >= 0 {
			continue
		}
		result, ok := e.commit(i)
		if !ok {
			continue
		}
		next, keys := state{}, map[string]bool{}
		for k, v := range e.states[p] {
			next[k] = v
		}
		for k, v := range result {
			if isAppended(e.txns[i], k) {
				v = append(slices.Clone(next[k]), appends(e.txns[i], k)...)
			}
			next[k], keys[k] = v, true
		}
		e.place[i] = p
		e.states, e.writes = append(e.states, next), append(e.writes, keys)
		if e.extend() {
			return true
		}
		e.place[i] = -1
		e.states, e.writes = e.states[:p+1], e.writes[:p]
	}
	return false
}

// commit tries to put transaction i at the end of the order and returns what it
// writes. Which of several fitting snapshots it read makes no difference to
// what follows: none of its written keys changed since any of them.
func (e *execution) commit(i int) (state, bool) {
	p := len(e.writes)
	if !e.level.forbids("prefix") {
		return e.commitCommitted(i)
	}
	earliest := 0
	for j := range e.txns {
		if e.level.sessions() && precedes(e.txns[j], e.txns[i]) {
			if e.place[j] < 0 {
				return nil, false
			}
			earliest = max(earliest, e.place[j]+1)
		}
	}
	if e.level.base() == "serializable" {
		earliest = p
	}
	for q := p; q >= earliest; q-- {
		if result, ok := replay(e.txns[i], e.states[q]); ok {
			return result, true
		}
		if q > 0 && e.level.snapshot() && writesAny(e.txns[i], e.writes[q-1]) {
			break
		}
	}
	return nil, false
}

// precedes is the session order as far as it binds: a committed transaction
// before a later one of its session.
func precedes(a, b *workload.Txn) bool {
	return a.Session != "" && a.Session == b.Session && a.Seq < b.Seq && a.Status == event.Committed
}

func writesAny(t *workload.Txn, keys map[string]bool) bool {
	return slices.ContainsFunc(t.Ops, func(o workload.Op) bool {
		return o.Kind != event.Read && keys[o.Key]
	})
}

// replay runs t on a copy of the snapshot. It fails when a read differs, and
// else returns the keys that t wrote with their contents.
func replay(t *workload.Txn, snapshot state) (state, bool) {
	local := state{}
	for _, o := range t.Ops {
		now, own := local[o.Key]
		if !own {
			now = snapshot[o.Key]
		}
		switch {
		case o.Kind == event.Write:
			local[o.Key] = []int64{o.Value}
		case o.Kind == event.Append:
			local[o.Key] = append(slices.Clone(now), o.Value)
		case o.Absent && t.Status == event.Unknown: // nothing noted, not nothing seen
		case o.IsList && !slices.Equal(now, o.List),
			o.Absent && len(now) > 0,
			!o.IsList && !o.Absent && !slices.Equal(now, []int64{o.Value}):
			return nil, false
		}
	}
	return local, true
}
