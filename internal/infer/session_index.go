package infer

import (
	"math/bits"
	"slices"
)

// sessionIndex finds the neighbours of a session's member by its seq or its time. Members of one
// session may come over several partitions, and then arrive far apart if the partitions are read at
// different speeds. A walk along the list would pass all between. With 4 partitions of a topic read
// from its beginning that was 60% of all time. The index is made for a session when a walk gets long.
// It is not a part of the state, and gives the same as the walk.
//
// If all members have a seq of their own, and these are near each other, the members have slots. A
// place then takes constant time. Other members are in rows, which give a place in O(log n).
type sessionIndex struct {
	mode  indexMode
	base  int64    // seq of the first slot, a multiple of 64
	bits  []uint64 // bit i of word w: the member with seq base+64w+i is in the list
	txns  []uint32 // by slot
	empty int      // words of bits at the beginning that are 0
	rows  memberRows
}

type indexMode uint8

const (
	unindexed indexMode = iota
	inSlots             // by seq
	inRows              // by seq or, where no member has one, by time
	walked              // some members have seq and others do not, so no order has all of them
)

// longWalk is after how many steps along the list the slots are asked.
const longWalk = 2

// maxIndexedSeqs bounds the distance of two members' seq: 4 MiB of slots.
const maxIndexedSeqs = 1 << 20

// around gives the live members of n's session between which n belongs; ok is
// false when only walking can tell.
func (s *ledger) around(n uint32) (prev, next uint32, ok bool) {
	t := &s.txns[n]
	for int(t.session) >= len(s.sessionIndexes) {
		s.sessionIndexes = append(s.sessionIndexes, sessionIndex{})
	}
	p := &s.sessionIndexes[t.session]
	if p.mode == unindexed {
		s.indexAll(t)
	}
	switch {
	case p.mode == walked, (s.txns[s.sessions[t.session].last].flags^t.flags)&hasSeq != 0:
		return 0, 0, false
	case p.mode == inRows:
		prev, next = s.rowNeighbours(&p.rows, n)
		return prev, next, true
	}
	// The last member with seq up to n's, or the first of all.
	at := t.seq - p.base
	w := len(p.bits) - 1
	mask := ^uint64(0)
	switch {
	case t.seq < p.base:
		w = -1
	case at>>6 < int64(len(p.bits)):
		w = int(at >> 6)
		mask = ^uint64(0) >> (63 - at&63)
	}
	for ; w >= 0; w-- {
		if x := p.bits[w] & mask; x != 0 {
			prev = p.txns[64*w+63-bits.LeadingZeros64(x)]
			return prev, s.txns[prev].sessNext, true
		}
		mask = ^uint64(0)
	}
	for w, x := range p.bits {
		if x != 0 {
			return 0, p.txns[64*w+bits.TrailingZeros64(x)], true
		}
	}
	return 0, 0, true
}

// indexAll makes the index of the session of t, which is not in its list yet.
func (s *ledger) indexAll(t *txn) {
	p := &s.sessionIndexes[t.session]
	if t.flags&hasSeq == 0 {
		s.rowAll(t.session)
		return
	}
	p.mode = inSlots
	for m := s.sessions[t.session].last; m != 0 && p.mode == inSlots; m = s.txns[m].sessPrev {
		s.indexMember(m)
	}
}

// rowAll puts all members of the session's list into rows, if one order holds all of them.
func (s *ledger) rowAll(id uint32) {
	p := &s.sessionIndexes[id]
	*p = sessionIndex{mode: inRows}
	last := s.sessions[id].last
	var all []rowMember
	for m := last; m != 0; m = s.txns[m].sessPrev {
		if (s.txns[m].flags^s.txns[last].flags)&hasSeq != 0 {
			*p = sessionIndex{mode: walked}
			return
		}
		all = append(all, s.rowMember(m))
	}
	slices.Reverse(all)
	for row := range slices.Chunk(all, maxRow/2) {
		p.rows = append(p.rows, append(make([]rowMember, 0, maxRow), row...))
	}
}

// indexMember notes n, which is in its session's list, if the session has slots.
func (s *ledger) indexMember(n uint32) {
	t := &s.txns[n]
	if int(t.session) >= len(s.sessionIndexes) || s.sessionIndexes[t.session].mode == unindexed {
		return
	}
	p := &s.sessionIndexes[t.session]
	if p.mode != inSlots {
		if m := p.rows.any(); p.mode == inRows && (m == 0 || (s.txns[m].flags^t.flags)&hasSeq == 0) {
			s.enterRow(&p.rows, n)
			return
		}
		*p = sessionIndex{mode: walked}
		return
	}
	if len(p.bits) == 0 {
		p.base = t.seq &^ 63
	}
	distance := uint64(t.seq) - uint64(p.base) // exact, for t.seq >= p.base
	if t.seq < p.base {
		distance = uint64(p.base) - uint64(t.seq) + 64*uint64(len(p.bits))
	}
	if t.flags&hasSeq == 0 || distance > maxIndexedSeqs {
		s.rowAll(t.session)
		return
	}
	if t.seq < p.base {
		words := int((p.base - t.seq + 63) >> 6)
		p.bits = append(make([]uint64, words), p.bits...)
		p.txns = append(make([]uint32, 64*words), p.txns...)
		p.base -= 64 * int64(words)
		p.empty = 0
	}
	at := int(t.seq - p.base)
	for at>>6 >= len(p.bits) {
		p.bits = append(p.bits, 0)
		p.txns = append(p.txns, make([]uint32, 64)...)
	}
	if p.bits[at>>6]&(1<<(at&63)) != 0 {
		s.rowAll(t.session)
		return
	}
	p.bits[at>>6] |= 1 << (at & 63)
	p.txns[at] = n
	p.empty = min(p.empty, at>>6)
}

// unindexMember forgets n, which leaves its session's list. empty says that the list has no member
// left.
func (s *ledger) unindexMember(n uint32, empty bool) {
	t := &s.txns[n]
	if int(t.session) >= len(s.sessionIndexes) {
		return
	}
	p := &s.sessionIndexes[t.session]
	if empty {
		*p = sessionIndex{}
	}
	if p.mode == inRows {
		s.leaveRow(&p.rows, n)
	}
	if p.mode != inSlots {
		return
	}
	at := int(t.seq - p.base)
	p.bits[at>>6] &^= 1 << (at & 63)
	gone := p.empty
	for gone < len(p.bits) && p.bits[gone] == 0 {
		gone++
	}
	p.empty = gone
	if gone > 0 && gone >= len(p.bits)/2 { // copying what is left costs no more than what has gone
		p.bits = p.bits[:copy(p.bits, p.bits[gone:])]
		p.txns = p.txns[:copy(p.txns, p.txns[64*gone:])]
		p.base += 64 * int64(gone)
		p.empty = 0
	}
}
