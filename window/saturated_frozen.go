package window

import (
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/saturation"
)

// missedRetired reports a read of a version that a retired transaction overwrote. Nobody can tell any
// more whether the reader has that transaction in its past. missedRetired returns whether it reported
// the read. While another order still holds the transaction, the reader is compared with it there.
func (s *reports) missedRetired(e *infer.Edge) bool {
	v := incremental.Vertex(e.To)
	if s.saturated.views == 0 || s.saturated.holds(e.To) {
		return false
	}
	for i := range s.views {
		if s.saturated.views&(1<<i) != 0 && !s.graph.Retired(i, v) {
			return false
		}
	}
	s.behind(e, s.saturated.views)
	return true
}

// maxDiverged bounds the transactions that replaced one version which are looked at when
// one more does.
const maxDiverged = 256

// missedDiverged is missedRetired for all transactions that replaced the same version as a.A. An edge
// leads to one of them only. If there are very many of them, it is enough that one may have retired.
func (s *reports) missedDiverged(a *infer.Anomaly) {
	if s.cfg.Unbounded || s.saturated.droppedOf(s.infer.KeyOfVersion(a.Version)).when == 0 {
		return
	}
	looked := 0
	s.infer.EachReplaced(a.Version, func(n, version uint32) bool {
		if n == a.A {
			return true
		}
		e := infer.Edge{From: a.A, To: n, Label: infer.RW, Version: version}
		if looked++; looked > maxDiverged {
			s.behind(&e, s.saturated.views)
			return false
		}
		return !s.missedRetired(&e)
	})
}

// dropped is the latest of the writers of a key that were let go of.
type dropped struct {
	txn  uint32
	when uint32 // saturated.drops then, 0 if none was
}

// checkFrozen reports reads by n of a retired writer. Another writer that retired behind it may
// be in n's past, and was never compared with it.
//
// If n is being taken in, a writer of the key may have left memory since n arrived. Otherwise it may
// have left memory since n was taken in. missed says that transactions have come into n's past that had
// left memory. If the only such writer is the one that n read from, the others had left before it. A
// view that has one of them behind it marks that (freezeBehind).
//
// Or n saw another version before, and no edge tells of it. A transaction may have left memory while
// forced orders were not looked at. If n read from that transaction, it can be such a writer as well.
//
// A read of a list shows the order of the appends that it has. So the read is looked at only if it
// lacks an append whose writer has left memory.
func (h *finder) checkFrozen(n uint32, missed bool) {
	f := h.saturated
	for i := range f.reads {
		r := &f.reads[i]
		if h.infer.LacksNone(r.Version, h.left) {
			continue
		}
		d := f.droppedOf(r.Key)
		if d.when == 0 && !(r.Reread && f.woken && h.saturated.readRetired()) {
			continue
		}
		if missed && len(f.passed) > 0 {
			h.checkPassed(n, r)
		}
		if r.Writer != 0 && (h.graph.Live(incremental.Vertex(r.Writer)) || f.holds(r.Writer)) {
			continue // rule (b), except for writers that were passed
		}
		overtaken, _ := h.infer.Overtaken(r.Version)
		since := int32(d.when-f.taken[n].drops) > 0 && (d.txn != r.Writer || overtaken)
		if (r.Reread || missed && since) && !h.lackedUnseen(n, r, 1<<len(h.views)-1) {
			h.anomaly(&infer.Anomaly{Kind: infer.RetiredRead, A: n, OpA: r.First, Version: r.Version})
		}
	}
}

// left says whether w has left all orders.
func (o *core) left(w uint32) bool { return !o.graph.Live(incremental.Vertex(w)) }

// lackedUnseen counts n's read of a list if somebody may have deleted the list unseen after what it
// lacks. It is told once the records show that n read before (infer.MissedUnseen). It counts a read of an
// element of a set that somebody may have added again.
func (h *finder) lackedUnseen(n uint32, r *infer.ExternalRead, in incremental.Views) bool {
	if h.infer.MayBeReadded(r.Version) {
		h.reports.countOnly(in, h.clock.noted(n))
		return true
	}
	u := h.infer.LackedUnseen(n, r.Version, h.left)
	if u == 0 {
		return false
	}
	key := h.infer.Key(r.Version)
	h.reports.noteUnshown(in, &infer.Edge{From: n, To: h.infer.WriterOf(u), Label: infer.RW, Version: u}, n, keyClass(key), "read of an old version of "+key)
	return true
}

// holds says whether w is still compared with others. A transaction that has left every order is about
// to be let go of. The transactions that depend on it are taken in before.
func (f *saturated) holds(w uint32) bool {
	return int(w) < len(f.taken) && f.taken[w].gen != 0 && f.taken[w].gen == f.infer.Generation(w)
}

// forces says whether p is in the causal past of n, as far as both are in memory.
func (f *saturated) forces(p, n uint32) bool { return f.sessions != nil && f.sessions.Precedes(p, n) }

// readRetired says whether the transaction that was described read from one that has
// retired.
func (f *saturated) readRetired() bool {
	gone := func(w uint32) bool { return w != 0 && !f.graph.Live(incremental.Vertex(w)) }
	return slices.ContainsFunc(f.reads, func(r infer.ExternalRead) bool { return gone(r.Writer) }) ||
		slices.ContainsFunc(f.shown, func(s saturation.Shown) bool { return gone(s.Writer) })
}

// dropSaturated lets go of transactions that have left every order.
func (h *finder) dropSaturated(retired []incremental.Vertex) {
	f := h.saturated
	if h.saturated.addsNothing() {
		return
	}
	h.saturateLate()
	h.saturated.leavePartly()
	for _, v := range retired { // among them those that the live cap froze before they were due
		h.saturateDue(dueTxn{n: uint32(v), gen: h.infer.Generation(uint32(v))})
	}
	for _, v := range retired {
		h.saturateBehind(v)
	}
	for _, v := range retired {
		n := uint32(v)
		f.drops++
		f.writes = h.infer.WrittenKeys(f.writes[:0], n)
		for _, k := range f.writes {
			f.setDropped(k, dropped{n, f.drops})
		}
		h.saturated.passPartly(n)
		f.sessions.Drop(n)
		if f.plain != nil {
			f.plain.Drop(n)
		}
		if f.timed.pasts != nil {
			f.timed.pasts.Drop(n)
		}
		if int(n) < len(f.taken) {
			f.taken[n] = takenTxn{drops: f.drops}
		}
	}
	if x := &f.timed; x.passed > 2*int64(h.graph.NumLive())+64 {
		h.saturated.forgetOvers()
	}
}

// saturateBehind takes in the transactions that depend on v, which is about to be let go of. A
// transaction in v's past may live on in another order, and is in their past only by v.
func (h *finder) saturateBehind(v incremental.Vertex) {
	f := h.saturated
	for id := h.graph.FirstOut(v); id != 0; id = h.graph.NextOut(id) {
		e := h.graph.Edge(id)
		if to := uint32(e.To); infer.Label(e.Labels)&(infer.WR|infer.Reread|infer.Process) != 0 && f.taken[to].gen == 0 {
			h.saturateDue(dueTxn{n: to, gen: h.infer.Generation(to)})
		}
	}
}

func (f *saturated) droppedOf(k uint32) dropped {
	if int(k) >= len(f.keys) {
		return dropped{}
	}
	return f.keys[k]
}

func (f *saturated) setDropped(k uint32, d dropped) {
	if d.when == 0 && int(k) >= len(f.keys) {
		return
	}
	for int(k) >= len(f.keys) {
		f.keys = flat.Push(f.keys, dropped{})
	}
	f.keys[k] = d
}

// freezeBehind notes that n retires behind other writers of registers that it wrote. A later reader of
// their versions has missed n, or has n before them. If a view has one of them behind n, that is not
// known of n's place either.
func (f *saturated) freezeBehind(n uint32) {
	f.writes = f.infer.WrittenKeys(f.writes[:0], n)
	for _, k := range f.writes {
		f.infer.EachKept(k, func(v, w uint32) {
			if w == n {
				return
			}
			f.infer.Overtake(v, w, n)
			for i := range f.core.views {
				if f.views&(1<<i) != 0 && f.graph.CompareCommits(i, incremental.Vertex(w), incremental.Vertex(n)) > 0 {
					f.infer.OvertakeLast(n, k, w)
				}
			}
		})
	}
}
