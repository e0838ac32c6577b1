package window

import (
	"math"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/internal/flat"
)

// missedRetired reports a read of what a transaction overwrote that has retired:
// whether the reader has it in its past is not known any more.
func (m *Machine) missedRetired(e *infer.Edge) {
	v := incremental.Vertex(e.To)
	for i := range m.views {
		if m.forced.views&(1<<i) != 0 && !m.graph.Retired(i, v) {
			return
		}
	}
	m.behind(e)
}

// checkFrozen reports reads by n of what has retired where what retired behind it may
// be in n's past: something of the key did since n was taken in, and n depends on more
// than it did then; or n saw another version before, of which no edge tells.
func (m *Machine) checkFrozen(n uint32, late bool) {
	f := &m.forced
	for i := range f.reads {
		r := &f.reads[i]
		drops := f.droppedAt(r.Key)
		if drops == 0 {
			continue
		}
		if r.Writer != 0 && m.graph.Live(incremental.Vertex(r.Writer)) {
			continue // rule (b)
		}
		if r.Reread || late && int32(drops-f.taken[n].drops) > 0 {
			m.anomaly(&infer.Anomaly{Kind: infer.RetiredRead, A: n, OpA: r.First, Version: r.Version})
		}
	}
}

// dropForced lets go of transactions that have left every order. What has arrived is
// taken in before, since it may have read what they wrote.
func (m *Machine) dropForced(retired []incremental.Vertex) {
	f := &m.forced
	if len(retired) == 0 {
		return
	}
	for len(f.due) > 0 {
		m.forceDue(f.pop(), math.MaxInt64)
	}
	m.forceLate()
	for _, v := range retired {
		n := uint32(v)
		f.drops++
		f.writes = m.infer.WrittenKeys(f.writes[:0], n)
		for _, k := range f.writes {
			f.setDropped(k, f.drops)
		}
		f.sessions.Drop(n)
		if f.plain != nil {
			f.plain.Drop(n)
		}
		if int(n) < len(f.taken) {
			f.taken[n] = takenTxn{}
		}
	}
}

// droppedAt is when a writer of k was let go of last, 0 if none was.
func (f *forcing) droppedAt(k uint32) uint32 {
	if int(k) >= len(f.keys) {
		return 0
	}
	return f.keys[k]
}

func (f *forcing) setDropped(k, drops uint32) {
	if drops == 0 && int(k) >= len(f.keys) {
		return
	}
	for int(k) >= len(f.keys) {
		f.keys = flat.Push(f.keys, 0)
	}
	f.keys[k] = drops
}

// freezeBehind notes that n retires behind other writers of registers that it wrote:
// whoever reads what these left from now on has missed n, or has it before them. Where
// a view has one of them behind n, that is not known of n either.
func (m *Machine) freezeBehind(n uint32) {
	f := &m.forced
	f.writes = m.infer.WrittenKeys(f.writes[:0], n)
	for _, k := range f.writes {
		mixed := false
		m.infer.EachKept(k, func(v, w uint32) {
			if w == n {
				return
			}
			m.infer.Overtake(v)
			for i := range m.views {
				if f.views&(1<<i) != 0 && m.graph.CompareCommits(i, incremental.Vertex(w), incremental.Vertex(n)) > 0 {
					mixed = true
				}
			}
		})
		if mixed {
			m.infer.OvertakeLast(n, k)
		}
	}
}
