package event

import (
	"container/heap"
	"fmt"
	"math"
)

// newOpen is an empty open transaction, not yet inserted.
func (a *Assembler) newOpen() *openTxn {
	open := a.unused
	if open == nil {
		return &openTxn{heapIndex: -1}
	}
	a.unused = open.next
	*open = openTxn{heapIndex: -1, text: open.text[:0], ops: open.ops[:0]}
	return open
}

// openSource is a source with open transactions.
type openSource struct {
	open   int // transactions, those without a start too
	starts startHeap
	waits  []waiting
	round  uint64 // of the latest touch
	since  int64  // least start of all that were open in that round
}

// least is the least start of the open transactions of s.
func (s *openSource) least() int64 {
	if len(s.starts) == 0 {
		return math.MaxInt64
	}
	return s.starts[0].start
}

// touch goes before every look at s and every change of it: what was open when the
// round began is then what is open now.
func (a *Assembler) touch(s *openSource) {
	if s.round != a.round {
		s.round, s.since = a.round, s.least()
	}
}

// maxIdleSources are sources without open transactions that are kept, about.
const maxIdleSources = 512

// sweep forgets the sources without open transactions when there are more than
// maxIdleSources and open transactions together. Only between two rounds: one that
// has finished its last transaction in a round is asked for it.
func (a *Assembler) sweep() {
	if len(a.sources) <= len(a.byID)+maxIdleSources {
		return
	}
	for name, s := range a.sources {
		if s.open == 0 {
			delete(a.sources, name)
		}
	}
}

// insert adds open as the newest by arrival.
func (a *Assembler) insert(open *openTxn, source []byte) {
	s := a.sources[string(source)]
	if s == nil {
		if a.sources == nil {
			a.sources = map[string]*openSource{}
		}
		s = &openSource{since: math.MaxInt64, round: a.round}
		a.sources[string(source)] = s
	}
	a.touch(s)
	open.source = s
	s.open++
	a.serial++
	open.serial = a.serial
	open.prev = a.newest
	if a.newest == nil {
		a.oldest = open
	} else {
		a.newest.next = open
	}
	a.newest = open
	a.byID[open.id] = open
	if open.hasStart {
		heap.Push(&s.starts, open)
		s.since = min(s.since, open.start)
	}
	a.bytes += open.size()
}

// size is the number of bytes by which open counts against MaxBytes.
func (open *openTxn) size() int {
	n := openOverhead + open.head
	for _, op := range open.ops {
		n += int(op.end - op.off)
	}
	if open.ended != nil {
		n += open.ended.size()
	}
	return n
}

// remove forgets open.
func (a *Assembler) remove(open *openTxn) {
	if open.prev == nil {
		a.oldest = open.next
	} else {
		open.prev.next = open.next
	}
	if open.next == nil {
		a.newest = open.prev
	} else {
		open.next.prev = open.prev
	}
	delete(a.byID, open.id)
	s := open.source
	a.touch(s)
	s.open--
	if open.heapIndex >= 0 {
		heap.Remove(&s.starts, open.heapIndex)
	}
	a.bytes -= open.size()
	if open.log.round != 0 {
		a.log.gone = append(a.log.gone, open.serial)
		a.unlog(open)
	}
	open.serial = 0      // those who remember it see that it is gone
	const keep = 4 << 10 // bytes of text; larger ones go back to the collector
	if cap(open.text) <= keep {
		open.source, open.prev, open.next = nil, nil, a.unused
		a.unused = open
	}
}

// makeRoom makes the oldest transactions unknown until the limits hold, each with a
// BadRecord: what comes of them later is lost, and they may yet be observed. The
// newest stays, so that one transaction larger than MaxBytes cannot evict all.
func (a *Assembler) makeRoom(b *Batch) {
	maxOpen, maxBytes := a.MaxOpen, a.MaxBytes
	if maxOpen == 0 {
		maxOpen = DefaultMaxOpen
	}
	if maxBytes == 0 {
		maxBytes = DefaultMaxBytes
	}
	for len(a.byID) > 1 && (len(a.byID) > maxOpen || a.bytes > maxBytes) {
		a.evicted++
		pos := a.oldest.pos
		pos.Partition = b.partition(a.oldest.partition)
		b.AddBad(pos, nil, fmt.Sprintf("the transaction that begins here was given up before its time: %d are open, with %d bytes", len(a.byID), a.bytes))
		a.giveUp(b, a.oldest, 0)
	}
}

// startHeap orders open transactions by start, equal ones by arrival.
type startHeap []*openTxn

func (h startHeap) Len() int { return len(h) }

func (h startHeap) Less(i, j int) bool {
	if h[i].start != h[j].start {
		return h[i].start < h[j].start
	}
	return h[i].serial < h[j].serial
}

func (h startHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}

// Push is for container/heap.
func (h *startHeap) Push(x any) {
	open := x.(*openTxn)
	open.heapIndex = len(*h)
	*h = append(*h, open)
}

// Pop is for container/heap.
func (h *startHeap) Pop() any {
	last := len(*h) - 1
	open := (*h)[last]
	open.heapIndex = -1
	(*h)[last] = nil
	*h = (*h)[:last]
	return open
}
