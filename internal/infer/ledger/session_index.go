package ledger

import (
	"math/bits"
	"slices"
)

// SessionIndex finds the neighbours of a session's member by its seq or its time. Members of one
// session may come over several partitions, and then arrive far apart if the partitions are read at
// different speeds. A walk along the list would pass all between. With 4 partitions of a topic read
// from its beginning that was 60% of all time. The index is made for a session when a walk gets long.
// It is not a part of the state, and gives the same as the walk.
//
// If all members have a seq of their own, and these are near each other, the members have slots. A
// place then takes constant time. Other members are in rows, which give a place in O(log n).
type SessionIndex struct {
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
func (s *Ledger) around(n uint32) (prev, next uint32, ok bool) {
	t := &s.Txns[n]
	for int(t.Session) >= len(s.SessionIndexes) {
		s.SessionIndexes = append(s.SessionIndexes, SessionIndex{})
	}
	p := &s.SessionIndexes[t.Session]
	if p.mode == unindexed {
		s.indexAll(t)
	}
	switch {
	case p.mode == walked, (s.Txns[s.Sessions[t.Session].Last].Flags^t.Flags)&HasSeq != 0:
		return 0, 0, false
	case p.mode == inRows:
		prev, next = s.rowNeighbours(&p.rows, n)
		return prev, next, true
	}
	// The last member with seq up to n's, or the first of all.
	at := t.Seq - p.base
	w := len(p.bits) - 1
	mask := ^uint64(0)
	switch {
	case t.Seq < p.base:
		w = -1
	case at>>6 < int64(len(p.bits)):
		w = int(at >> 6)
		mask = ^uint64(0) >> (63 - at&63)
	}
	for ; w >= 0; w-- {
		if x := p.bits[w] & mask; x != 0 {
			prev = p.txns[64*w+63-bits.LeadingZeros64(x)]
			return prev, s.Txns[prev].SessNext, true
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
func (s *Ledger) indexAll(t *Txn) {
	p := &s.SessionIndexes[t.Session]
	if t.Flags&HasSeq == 0 {
		s.rowAll(t.Session)
		return
	}
	p.mode = inSlots
	for m := s.Sessions[t.Session].Last; m != 0 && p.mode == inSlots; m = s.Txns[m].SessPrev {
		s.indexMember(m)
	}
}

// rowAll puts all members of the session's list into rows, if one order holds all of them.
func (s *Ledger) rowAll(id uint32) {
	p := &s.SessionIndexes[id]
	*p = SessionIndex{mode: inRows}
	last := s.Sessions[id].Last
	var all []rowMember
	for m := last; m != 0; m = s.Txns[m].SessPrev {
		if (s.Txns[m].Flags^s.Txns[last].Flags)&HasSeq != 0 {
			*p = SessionIndex{mode: walked}
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
func (s *Ledger) indexMember(n uint32) {
	t := &s.Txns[n]
	if int(t.Session) >= len(s.SessionIndexes) || s.SessionIndexes[t.Session].mode == unindexed {
		return
	}
	p := &s.SessionIndexes[t.Session]
	if p.mode != inSlots {
		if m := p.rows.any(); p.mode == inRows && (m == 0 || (s.Txns[m].Flags^t.Flags)&HasSeq == 0) {
			s.enterRow(&p.rows, n)
			return
		}
		*p = SessionIndex{mode: walked}
		return
	}
	if len(p.bits) == 0 {
		p.base = t.Seq &^ 63
	}
	distance := uint64(t.Seq) - uint64(p.base) // exact, for t.seq >= p.base
	if t.Seq < p.base {
		distance = uint64(p.base) - uint64(t.Seq) + 64*uint64(len(p.bits))
	}
	if t.Flags&HasSeq == 0 || distance > maxIndexedSeqs {
		s.rowAll(t.Session)
		return
	}
	if t.Seq < p.base {
		words := int((p.base - t.Seq + 63) >> 6)
		p.bits = append(make([]uint64, words), p.bits...)
		p.txns = append(make([]uint32, 64*words), p.txns...)
		p.base -= 64 * int64(words)
		p.empty = 0
	}
	at := int(t.Seq - p.base)
	for at>>6 >= len(p.bits) {
		p.bits = append(p.bits, 0)
		p.txns = append(p.txns, make([]uint32, 64)...)
	}
	if p.bits[at>>6]&(1<<(at&63)) != 0 {
		s.rowAll(t.Session)
		return
	}
	p.bits[at>>6] |= 1 << (at & 63)
	p.txns[at] = n
	p.empty = min(p.empty, at>>6)
}

// unindexMember forgets n, which leaves its session's list. empty says that the list has no member
// left.
func (s *Ledger) unindexMember(n uint32, empty bool) {
	t := &s.Txns[n]
	if int(t.Session) >= len(s.SessionIndexes) {
		return
	}
	p := &s.SessionIndexes[t.Session]
	if empty {
		*p = SessionIndex{}
	}
	if p.mode == inRows {
		s.leaveRow(&p.rows, n)
	}
	if p.mode != inSlots {
		return
	}
	at := int(t.Seq - p.base)
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
