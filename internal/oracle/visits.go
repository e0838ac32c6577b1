package oracle

import (
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
	for i, t := range txns {
		for _, o := range t.Ops {
			if o.Kind != event.Read {
				delete(rank, version{o.Key, o.Value}) // until it is known to be the last
			}
		}
		for key, value := range leftBy(t) {
			rank[version{key, value}] = place[i] + 1
		}
	}
	for _, a := range txns {
		for _, b := range txns {
			before := v.Sequential && a.Session != "" && a.Session == b.Session && a.Seq < b.Seq || v.Linearizable && a.End != 0 && b.End != 0 && b.Start-a.End > v.Drift
			if a == b || !before || a.Status != event.Committed {
				continue
			}
			last, first := visitsOf(a, true), visitsOf(b, false)
			for key, x := range last {
				y, ok := first[key]
				p, known := rank[version{key, x}]
				q, too := rank[version{key, y}]
				if ok && (known || x == 0) && (too || y == 0) && p > q {
					return false
				}
			}
		}
	}
	return true
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
