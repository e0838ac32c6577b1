package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// Visits say that what a transaction left or saw of a register comes not behind what a
// later one finds: later in its session (Sequential), or one that began when it had ended
// (Linearizable) by more than Drift, ns.
type Visits struct {
	Sequential, Linearizable bool
	Drift                    int64
}

// fit says whether the order of the transactions, by their places, is one of such
// registers.
func (v Visits) fit(txns []*workload.Txn, place []int) bool {
	if !v.Sequential && !v.Linearizable {
		return true
	}
	rank := map[version]int{}
	emptied := map[string]int{} // by key, the place of the last who left nothing there, from 1
	for i, t := range txns {
		for _, o := range t.Ops {
			if o.Kind != event.Read {
				delete(rank, version{o.Key, o.Value}) // until it is known to be the last
			}
		}
		for key, value := range leftBy(t) {
			if rank[version{key, value}] = place[i] + 1; value == 0 {
				emptied[key] = max(emptied[key], place[i]+1)
			}
		}
	}
	for i, a := range txns {
		for j, b := range txns {
			before := v.Sequential && a.Session != "" && a.Session == b.Session && a.Seq < b.Seq || v.Linearizable && a.End != 0 && b.End != 0 && b.Start-a.End > v.Drift
			if a == b || !before || a.Status != event.Committed {
				continue
			}
			last, first := visitsOf(a, true), visitsOf(b, false)
			for key, x := range last {
				y, ok := first[key]
				p, known := rank[version{key, x}]
				q, too := rank[version{key, y}]
				if x == 0 { // a read of nothing is of the beginning, or of any delete
					p, known = 0, true
					if _, wrote := leftBy(a)[key]; wrote {
						p = place[i] + 1
					}
				}
				if y == 0 {
					q, too = emptied[key], true
					if !readsFirst(b, key) {
						q = place[j] + 1
					}
				}
				if ok && known && too && p > q {
					return false
				}
			}
		}
	}
	return true
}

// readsFirst says whether t met the key in a read.
func readsFirst(t *workload.Txn, key string) bool {
	i := slices.IndexFunc(t.Ops, func(o workload.Op) bool { return o.Key == key })
	return i >= 0 && t.Ops[i].Kind == event.Read
}

// leftBy are the values that t leaves in registers.
func leftBy(t *workload.Txn) map[string]int64 {
	left := map[string]int64{}
	for _, o := range t.Ops {
		if o.Kind != event.Read {
			left[o.Key] = o.Value
		}
	}
	return left
}

// visitsOf are the values that t found first in registers, or had last; 0 is nothing.
func visitsOf(t *workload.Txn, last bool) map[string]int64 {
	seen := map[string]int64{}
	for _, o := range t.Ops {
		if _, again := seen[o.Key]; again && (!last || o.Kind == event.Read) || o.Nothing() && t.Status == event.Unknown {
			continue
		}
		seen[o.Key] = o.Value
		if !last && o.Kind != event.Read {
			seen[o.Key] = leftBy(t)[o.Key] // what it left, not what it wrote on the way
		}
	}
	return seen
}
