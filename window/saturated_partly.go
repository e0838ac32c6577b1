package window

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
)

// Orders differ, so a writer can have left one and live on in another. Say T2 has. T3, which
// wrote the same register, froze behind it there, and is let go of when it has left all orders.
// A transaction that reads T2's write now may have T3 in its past, and has then missed it.
// Nothing shows that any more. In an order in which T2 lives it is behind T3: rule (b).

// passed is a writer of a key. In these views another writer froze behind it, and that one is not kept
// any more.
type passed struct {
	txn, key uint32
	in       incremental.Views
}

// partly are the live transactions that have left some order, by the keys that they wrote. It
// follows from the orders: nil if it is to be made again.
type partly map[uint32][]uint32

// leavePartly notes the transactions that have left one order and live on in another.
func (f *saturated) leavePartly() {
	if f.partly == nil {
		f.partly = partly{}
		for n := range f.infer.Slots() {
			if v := incremental.Vertex(n); f.graph.Live(v) && !f.graph.AllLive(v) {
				f.addPartly(n)
			}
		}
		return
	}
	for _, v := range f.graph.Partly() {
		f.addPartly(uint32(v))
	}
}

func (f *saturated) addPartly(n uint32) {
	f.writes = f.infer.WrittenKeys(f.writes[:0], n)
	for _, k := range f.writes {
		if !slices.Contains(f.partly[k], n) {
			f.partly[k] = append(f.partly[k], n)
		}
	}
}

// passPartly notes that n, the writer of f.writes, leaves the saturated orders.
func (f *saturated) passPartly(n uint32) {
	for _, k := range f.writes {
		writers := f.partly[k]
		if len(writers) == 0 {
			continue
		}
		if i := slices.Index(writers, n); i >= 0 {
			if writers = slices.Delete(writers, i, i+1); len(writers) == 0 {
				delete(f.partly, k)
				continue
			}
			f.partly[k] = writers
		}
		for _, w := range writers {
			f.pass(passed{txn: w, key: k, in: f.frozeBehind(n, w)})
		}
	}
	f.forgetPassed(n)
}

// frozeBehind are the views with forced orders that w has left, in which n comes behind it.
func (f *saturated) frozeBehind(n, w uint32) (in incremental.Views) {
	for i := range f.core.views {
		v := incremental.Vertex(w)
		if f.views&(1<<i) != 0 && f.graph.Live(v) && f.graph.Retired(i, v) && f.graph.CompareCommits(i, v, incremental.Vertex(n)) < 0 {
			in |= 1 << i
		}
	}
	return in
}

func (f *saturated) pass(p passed) {
	if p.in == 0 || !slices.Contains(f.infer.WrittenKeys(nil, p.txn), p.key) {
		return
	}
	at, known := slices.BinarySearchFunc(f.passed, p, func(a, b passed) int {
		return cmp.Or(cmp.Compare(a.txn, b.txn), cmp.Compare(a.key, b.key))
	})
	if known {
		f.passed[at].in |= p.in
	} else {
		f.passed = slices.Insert(f.passed, at, p)
	}
}

// forgetPassed forgets n, which leaves.
func (f *saturated) forgetPassed(n uint32) {
	f.passed = slices.DeleteFunc(f.passed, func(p passed) bool { return p.txn == n })
}

// passedAfterChange takes over new numbers of views. Each view began as a copy of an earlier one.
func (f *saturated) passedAfterChange(from []incremental.Origin) {
	f.partly = nil
	for i := range f.passed {
		p := &f.passed[i]
		was := p.in
		p.in = 0
		for k, x := range from {
			p.in |= was >> x.View & 1 << k
		}
	}
}

// checkPassed reports n's reads of what live transactions wrote that others froze behind.
func (h *finder) checkPassed(n uint32, r *infer.ExternalRead) {
	for _, p := range h.saturated.passed {
		if p.txn == r.Writer && p.key == r.Key {
			key := h.infer.Key(r.Version)
			h.saturated.odd = true
			if h.lackedUnseen(n, r, p.in) {
				continue
			}
			h.reports.noteIn(p.in, edgeBasis{version: r.Version, label: infer.WR | infer.RW}, keyClass(key), "read of an old version of "+key, h.clock.noted(n))
		}
	}
}
