package infer

import (
	"math/bits"

	"github.com/isowatch/isowatch/internal/flat"
)

// dueQueue gives its entries by time, equal ones in the order of their transactions'
// generations, then in the order of asking. So a replay decides in the same order, whatever the
// numbers of the versions. It is a binary heap.
type dueQueue struct {
	heap  []due
	asked uint32 // entries so far
}

func (d *due) before(e *due) bool {
	return d.at < e.at || d.at == e.at && d.beforeAt(e)
}

// beforeAt is before for entries of one time.
func (d *due) beforeAt(e *due) bool {
	if d.gen != e.gen {
		return d.gen < e.gen
	}
	if d.op != e.op {
		return d.op < e.op
	}
	return int32(d.order-e.order) < 0
}

// push queues an entry. Entries mostly come in the order of their times, and stay
// where they are put first.
func (q *dueQueue) push(at int64, txn, gen, version, op uint32, kind dueKind) {
	h := q.heap
	if len(h) == cap(h) {
		h = flat.Push(h, due{})[:len(h)]
	}
	h = h[:len(h)+1]
	i := len(h) - 1
	d := &h[i]
	q.asked++
	d.at, d.txn, d.gen, d.version, d.op, d.kind, d.order = at, txn, gen, version, op, kind, q.asked
	for i > 0 && h[i].before(&h[(i-1)/2]) {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		i = (i - 1) / 2
	}
	q.heap = h
}

// before says whether there is an entry from before now.
func (q *dueQueue) before(now int64) bool { return len(q.heap) > 0 && q.heap[0].at < now }

// pop takes the earliest entry away; there must be one. The last entry takes its place, and
// mostly belongs near the end again. So the way down goes along the smaller children, one
// comparison a level. From its end the way goes back up.
func (q *dueQueue) pop() due {
	h := q.heap
	top, k := h[0], len(h)-1
	i, c := 0, 1
	for c+1 < k {
		a, b := &h[c], &h[c+1]
		// The choice of the two is as good as random: there is no branch on it, except for
		// equal times.
		_, less := bits.Sub64(uint64(b.at)^1<<63, uint64(a.at)^1<<63, 0)
		if a.at == b.at && b.beforeAt(a) {
			less = 1
		}
		c += int(less)
		h[i] = h[c]
		i, c = c, 2*c+1
	}
	if c < k {
		h[i] = h[c]
		i = c
	}
	for d := &h[k]; i > 0 && d.before(&h[(i-1)/2]); i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i] = h[k]
	q.heap = h[:k]
	return top
}
