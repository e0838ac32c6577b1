package event

import "container/heap"

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

// insert adds open as the newest by arrival.
func (a *Assembler) insert(open *openTxn) {
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
		heap.Push(&a.starts, open)
	}
	a.bytes += open.size()
}

// size is what open counts against MaxBytes.
func (open *openTxn) size() int {
	n := openOverhead + open.head
	for _, op := range open.ops {
		n += int(op.end - op.off)
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
	if open.heapIndex >= 0 {
		heap.Remove(&a.starts, open.heapIndex)
	}
	a.bytes -= open.size()
	const keep = 4 << 10 // bytes of text; larger ones go back to the collector
	if cap(open.text) <= keep {
		open.prev, open.next = nil, a.unused
		a.unused = open
	}
}

// makeRoom makes the oldest transactions unknown until the limits hold. The
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
