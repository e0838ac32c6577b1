package infer

import (
	"unsafe"

	"github.com/isowatch/isowatch/internal/flat"
)

// layoutVersion counts changes of what AppendState writes.
const layoutVersion = 17

// Signature names the layout of AppendState.
func Signature() []byte {
	return flat.Signature(layoutVersion, unsafe.Sizeof(txn{}), unsafe.Sizeof(key{}), unsafe.Sizeof(version{}),
		unsafe.Sizeof(write{}), unsafe.Sizeof(reader{}), unsafe.Sizeof(line{}), unsafe.Sizeof(session{}), unsafe.Sizeof(due{}), unsafe.Sizeof(holding{}), unsafe.Sizeof(stand{}))
}

type scalars struct {
	gen, joined, sessionOrder       uint32
	nameless                        uint32 // 1; and 2 for deletes
	asked                           [2]uint32
	hand, sessHand                  uint32
	txnHand, nameHand               uint32
	spilled                         [4]int64
	baselineEnds, greatest, untimed int64
	begunRetired                    int64
	counters                        Counters
	reads                           Reads
}

// AppendState writes all that the state remembers to dst.
func (s *State) AppendState(dst []byte) []byte {
	c := scalars{
		gen: s.gen, asked: [2]uint32{s.absence.asked, s.expiry.asked}, hand: s.spill.hand, sessHand: s.spill.sessHand, txnHand: s.spill.txnHand, nameHand: s.spill.nameHand,
		spilled: [4]int64{s.spill.keys, s.spill.txns, s.spill.sessions, s.spill.returned}, baselineEnds: s.baselineEnds, greatest: s.greatest, untimed: s.Untimed, begunRetired: s.begunRetired, counters: s.Counters, reads: s.reads,
	}
	if s.joined {
		c.joined = 1
	}
	if s.sessionOrder {
		c.sessionOrder = 1
	}
	if s.nameless {
		c.nameless = 1
	}
	if s.deletes {
		c.nameless |= 2
	}
	dst = flat.AppendValue(dst, &c)
	dst = flat.Append(dst, s.txns)
	dst = flat.Append(dst, s.keys)
	dst = flat.Append(dst, s.versions)
	dst = flat.Append(dst, s.writes)
	dst = flat.Append(dst, s.readers)
	dst = flat.Append(dst, s.lines)
	dst = flat.Append(dst, s.holdings)
	dst = flat.Append(dst, s.sessions)
	for _, free := range []*flat.Slots{&s.freeTxns, &s.freeVersions, &s.freeWrites, &s.freeReaders, &s.freeKeys, &s.freeSessions} {
		dst = free.AppendState(dst)
	}
	count := int64(len(s.seqs))
	dst = flat.AppendValue(dst, &count)
	for i := range s.seqs {
		dst = flat.AppendValue(dst, &s.seqs[i].base)
		dst = flat.Append(dst, s.seqs[i].words)
	}
	dst = flat.Append(dst, s.absence.heap)
	dst = flat.Append(dst, s.patient.heap)
	dst = flat.Append(dst, s.expiry.heap)
	dst = flat.Append(dst, s.late)
	dst = flat.Append(dst, s.unsure)
	dst = flat.Append(dst, s.held)
	dst = flat.Append(dst, s.heldVersions)
	for _, x := range []*index{&s.byID, &s.byKey, &s.byVersion, &s.bySession} {
		dst = flat.AppendValue(dst, &x.used)
		dst = flat.Append(dst, x.slots)
	}
	dst = flat.Append(dst, s.spill.lingering)
	dst = flat.Append(dst, s.spill.dead)
	dst = s.spill.out.appendState(dst)
	dst = s.records.appendState(dst)
	dst = s.names.appendState(dst)
	dst = s.appendScans(dst)
	dst = s.partial.appendState(dst)
	dst = s.values.appendState(dst)
	dst = s.twice.appendState(dst)
	dst = s.aborts.appendState(dst)
	dst = s.appendSigns(dst)
	dst = s.appendKept(dst)
	return s.ids.appendState(dst)
}

// ReadState replaces what s remembers by what AppendState wrote.
func (s *State) ReadState(r *flat.Reader) {
	var c scalars
	flat.ReadValue(r, &c)
	s.gen, s.joined, s.absence.asked, s.expiry.asked = c.gen, c.joined == 1, c.asked[0], c.asked[1]
	s.spill.hand, s.spill.sessHand, s.spill.txnHand, s.spill.nameHand = c.hand, c.sessHand, c.txnHand, c.nameHand
	s.spill.keys, s.spill.txns, s.spill.sessions, s.spill.returned = c.spilled[0], c.spilled[1], c.spilled[2], c.spilled[3]
	s.sessionOrder, s.nameless = c.sessionOrder == 1, c.nameless&1 != 0
	s.deletes = c.nameless&2 != 0
	s.baselineEnds, s.greatest, s.Counters = c.baselineEnds, c.greatest, c.counters
	s.Untimed, s.begunRetired, s.reads = c.untimed, c.begunRetired, c.reads
	flat.Read(r, &s.txns)
	flat.Read(r, &s.keys)
	flat.Read(r, &s.versions)
	flat.Read(r, &s.writes)
	flat.Read(r, &s.readers)
	flat.Read(r, &s.lines)
	flat.Read(r, &s.holdings)
	flat.Read(r, &s.sessions)
	for _, free := range []*flat.Slots{&s.freeTxns, &s.freeVersions, &s.freeWrites, &s.freeReaders, &s.freeKeys, &s.freeSessions} {
		free.ReadState(r)
	}
	var count int64
	flat.ReadValue(r, &count)
	s.seqs = nil
	for i := int64(0); i < count && r.Err == nil; i++ {
		var x seqSet
		flat.ReadValue(r, &x.base)
		flat.Read(r, &x.words)
		s.seqs = append(s.seqs, x)
	}
	flat.Read(r, &s.absence.heap)
	flat.Read(r, &s.patient.heap)
	flat.Read(r, &s.expiry.heap)
	flat.Read(r, &s.late)
	flat.Read(r, &s.unsure)
	flat.Read(r, &s.held)
	flat.Read(r, &s.heldVersions)
	for _, x := range []*index{&s.byID, &s.byKey, &s.byVersion, &s.bySession} {
		flat.ReadValue(r, &x.used)
		flat.Read(r, &x.slots)
		if len(x.slots) == 0 {
			x.slots = nil
		}
	}
	flat.Read(r, &s.spill.lingering)
	flat.Read(r, &s.spill.dead)
	s.EndStep()
	s.spill.out.readState(r)
	s.records.readState(r)
	s.names.readState(r)
	s.readScans(r)
	s.partial.readState(r)
	s.values.readState(r)
	s.twice.readState(r)
	s.aborts.readState(r)
	s.readSigns(r)
	s.readKept(r)
	s.ids.readState(r)
	s.seats = nil
	s.stamp = 0
	for k := range s.keys {
		s.keys[k].stamp, s.keys[k].touch = 0, 0
	}
}

func (a *arena) appendState(dst []byte) []byte {
	dst = flat.AppendValue(dst, &a.cur)
	dst = flat.AppendValue(dst, &a.bytes)
	dst = flat.Append(dst, a.live)
	dst = flat.Append(dst, a.used)
	dst = flat.Append(dst, a.free)
	for _, c := range a.chunks {
		dst = flat.Append(dst, c)
	}
	return dst
}

func (a *arena) readState(r *flat.Reader) {
	flat.ReadValue(r, &a.cur)
	flat.ReadValue(r, &a.bytes)
	flat.Read(r, &a.live)
	flat.Read(r, &a.used)
	flat.Read(r, &a.free)
	a.inUse = 0
	for _, n := range a.used {
		a.inUse += int64(n)
	}
	if r.Err == nil && len(a.used) != len(a.live) {
		r.Err = flat.ErrShort
	}
	a.chunks = make([][]byte, len(a.live))
	for i := range a.chunks {
		var c []byte
		flat.Read(r, &c)
		if i > 0 && r.Err == nil {
			c = append(make([]byte, 0, max(len(c), chunkBytes)), c...)
		}
		a.chunks[i] = c
	}
	for _, f := range a.free {
		if int(f) < len(a.chunks) && cap(a.chunks[f]) > chunkBytes {
			a.chunks[f] = nil
		}
	}
}

func (f *filter) appendState(dst []byte) []byte {
	head := [3]int64{int64(len(f.panes)), 0, int64(f.front.used)}
	if f.forgot {
		head[1] = 1
	}
	dst = flat.AppendValue(dst, &head)
	dst = flat.Append(dst, f.front.slots)
	for i := range f.panes {
		used := int64(f.panes[i].used)
		dst = flat.AppendValue(dst, &used)
		dst = flat.Append(dst, f.panes[i].slots)
	}
	return dst
}

func (f *filter) readState(r *flat.Reader) {
	var head [3]int64
	flat.ReadValue(r, &head)
	f.forgot, f.panes = head[1] == 1, nil
	f.front = hashSet{used: int(head[2])}
	flat.Read(r, &f.front.slots)
	if len(f.front.slots) == 0 {
		f.front.slots = nil
	} else if len(f.front.slots) != frontSlots && r.Err == nil {
		r.Err = flat.ErrShort
	}
	for range min(head[0], filterPanes) {
		var used int64
		var p hashSet
		flat.ReadValue(r, &used)
		flat.Read(r, &p.slots)
		if p.used = int(used); r.Err == nil && len(p.slots) == 0 {
			r.Err = flat.ErrShort
		}
		f.panes = append(f.panes, p)
	}
}
