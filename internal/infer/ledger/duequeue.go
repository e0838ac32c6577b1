package ledger

import (
	"math/bits"

	"github.com/isowatch/isowatch/internal/flat"
)

// A question about the absence of a record is decided when the watermark has passed the end of the
// transaction that raised it. Until then the record may still come. A transaction that nobody has heard
// of is waited for longer, by the patience. The wait ends earlier if all transactions that began by
// then are known to have come (sessions=closed).

// DueKind tells questions apart.
type DueKind uint32

const (
	MissingWriter   DueKind = iota // version was read, and its known writers all aborted
	UnheardWriter                  // version was read, and no writer at all is known
	ShownTwice                     // version was shown twice by one list read
	OwnFuture                      // txn read an element that it appended later
	MissingSeq                     // a member before txn in its session has not come
	WriterAgain                    // as UnheardWriter, whether or not the version is accused
	StillShownTwice                // as ShownTwice, when no record of the append had come
)

// Due is a question and when to answer it.
type Due struct {
	At      int64
	Txn     uint32
	Gen     uint32
	Version uint32
	Op      uint32
	Kind    DueKind
	order   uint32 // in which they were asked
}

// Wait asks a question about the transaction n, and the version or operation of it, when at has passed.
func (s *Ledger) Wait(at int64, n, version, op uint32, kind DueKind) {
	s.Txns[n].Due++
	if kind == MissingSeq {
		s.Sessions[s.Txns[n].Session].Refs++
	}
	if version != 0 {
		s.Versions[version].Due++
	}
	s.Absence.Push(at, n, s.Txns[n].Gen, version, op, kind)
}

// KeyOfValue names the value of v, which is not 0, across versions that come and go: see ValueKey.
func (s *Ledger) KeyOfValue(v uint32) uint64 {
	x := &s.Versions[v]
	return VersionHash(0, x.Hash) ^ s.Keys[x.Key].Hash.Lo
}

// DueQueue gives its entries by time, equal ones in the order of their transactions'
// generations, then in the order of asking. So a replay decides in the same order, whatever the
// numbers of the versions. It is a binary heap.
type DueQueue struct {
	Heap  []Due
	Asked uint32 // entries so far
}

func (d *Due) before(e *Due) bool {
	return d.At < e.At || d.At == e.At && d.beforeAt(e)
}

// beforeAt is before for entries of one time.
func (d *Due) beforeAt(e *Due) bool {
	if d.Gen != e.Gen {
		return d.Gen < e.Gen
	}
	if d.Op != e.Op {
		return d.Op < e.Op
	}
	return int32(d.order-e.order) < 0
}

// Push queues an entry. Entries mostly come in the order of their times, and stay
// where they are put first.
func (q *DueQueue) Push(at int64, txn, gen, version, op uint32, kind DueKind) {
	h := q.Heap
	if len(h) == cap(h) {
		h = flat.Push(h, Due{})[:len(h)]
	}
	h = h[:len(h)+1]
	i := len(h) - 1
	d := &h[i]
	q.Asked++
	d.At, d.Txn, d.Gen, d.Version, d.Op, d.Kind, d.order = at, txn, gen, version, op, kind, q.Asked
	for i > 0 && h[i].before(&h[(i-1)/2]) {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		i = (i - 1) / 2
	}
	q.Heap = h
}

// Before says whether there is an entry from before now.
func (q *DueQueue) Before(now int64) bool { return len(q.Heap) > 0 && q.Heap[0].At < now }

// Pop takes the earliest entry away; there must be one. The last entry takes its place, and
// mostly belongs near the end again. So the way down goes along the smaller children, one
// comparison a level. From its end the way goes back up.
func (q *DueQueue) Pop() Due {
	h := q.Heap
	top, k := h[0], len(h)-1
	i, c := 0, 1
	for c+1 < k {
		a, b := &h[c], &h[c+1]
		// The choice of the two is as good as random: there is no branch on it, except for
		// equal times.
		_, less := bits.Sub64(uint64(b.At)^1<<63, uint64(a.At)^1<<63, 0)
		if a.At == b.At && b.beforeAt(a) {
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
	q.Heap = h[:k]
	return top
}
