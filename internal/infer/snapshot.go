package infer

import "github.com/isowatch/isowatch/internal/flat"

type scalars struct {
	gen                                                      uint32
	joined, sessionOrder, nameless, deletes                  bool
	absenceAsked, expiryAsked                                uint32
	hand, sessHand, txnHand, nameHand                        uint32
	keysSpilled, txnsSpilled, sessionsSpilled, spillReturned int64
	baselineEnds, greatest, untimed, begunRetired            int64
	counters                                                 Counters
	reads                                                    Reads
}

// AppendState writes all that the state remembers to dst.
func (s *memory) AppendState(dst *flat.Writer) *flat.Writer {
	c := scalars{
		gen: s.gen, joined: s.joined, sessionOrder: s.sessionOrder, nameless: s.nameless, deletes: s.deletes, absenceAsked: s.absence.asked, expiryAsked: s.expiry.asked,
		hand: s.spill.hand, sessHand: s.spill.sessHand, txnHand: s.spill.txnHand, nameHand: s.spill.nameHand,
		keysSpilled: s.spill.keys, txnsSpilled: s.spill.txns, sessionsSpilled: s.spill.sessions, spillReturned: s.spill.returned,
		baselineEnds: s.baselineEnds, greatest: s.greatest, untimed: s.untimed, begunRetired: s.begunRetired, counters: s.Counters, reads: s.reads,
	}
	dst = flat.AppendValue(dst, "scalars", &c)
	dst = flat.Append(dst, "txns", s.txns)
	dst = flat.Append(dst, "keys", s.keys)
	dst = flat.Append(dst, "versions", s.versions)
	dst = flat.Append(dst, "writes", s.writes)
	dst = flat.Append(dst, "readers", s.readers)
	dst = s.linear.appendState(dst)
	dst = s.counters.appendState(dst)
	dst = flat.Append(dst, "sessions", s.sessions)
	dst = s.free.txns.AppendState(dst, "freeTxns")
	dst = s.free.versions.AppendState(dst, "freeVersions")
	dst = s.free.writes.AppendState(dst, "freeWrites")
	dst = s.free.readers.AppendState(dst, "freeReaders")
	dst = s.free.keys.AppendState(dst, "freeKeys")
	dst = s.free.sessions.AppendState(dst, "freeSessions")
	count := int64(len(s.seqs))
	dst = flat.AppendValue(dst, "seqs", &count)
	for i := range s.seqs {
		dst = flat.AppendValue(dst, "base", &s.seqs[i].base)
		dst = flat.Append(dst, "words", s.seqs[i].words)
	}
	dst = flat.Append(dst, "heap", s.absence.heap)
	dst = flat.Append(dst, "heap", s.patient.heap)
	dst = flat.Append(dst, "heap", s.expiry.heap)
	dst = flat.Append(dst, "late", s.late)
	dst = flat.Append(dst, "unsure", s.unsure)
	dst = flat.Append(dst, "held", s.held)
	dst = flat.Append(dst, "heldVersions", s.heldVersions)
	dst = s.byID.appendState(dst, "byID")
	dst = s.byKey.appendState(dst, "byKey")
	dst = s.byVersion.appendState(dst, "byVersion")
	dst = s.bySession.appendState(dst, "bySession")
	dst = flat.Append(dst, "lingering", s.spill.lingering)
	dst = flat.Append(dst, "dead", s.spill.dead)
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
func (s *memory) ReadState(r *flat.Reader) {
	var c scalars
	flat.ReadValue(r, "scalars", &c)
	s.gen, s.joined, s.absence.asked, s.expiry.asked = c.gen, c.joined, c.absenceAsked, c.expiryAsked
	s.spill.hand, s.spill.sessHand, s.spill.txnHand, s.spill.nameHand = c.hand, c.sessHand, c.txnHand, c.nameHand
	s.spill.keys, s.spill.txns, s.spill.sessions, s.spill.returned = c.keysSpilled, c.txnsSpilled, c.sessionsSpilled, c.spillReturned
	s.sessionOrder, s.nameless, s.deletes = c.sessionOrder, c.nameless, c.deletes
	s.baselineEnds, s.greatest, s.Counters = c.baselineEnds, c.greatest, c.counters
	defer s.reads.restore(&s.ledger)
	s.untimed, s.begunRetired, s.reads = c.untimed, c.begunRetired, c.reads
	flat.Read(r, "txns", &s.txns)
	flat.Read(r, "keys", &s.keys)
	flat.Read(r, "versions", &s.versions)
	flat.Read(r, "writes", &s.writes)
	flat.Read(r, "readers", &s.readers)
	s.linear.readState(r)
	s.counters.readState(r)
	flat.Read(r, "sessions", &s.sessions)
	s.free.txns.ReadState(r, "freeTxns")
	s.free.versions.ReadState(r, "freeVersions")
	s.free.writes.ReadState(r, "freeWrites")
	s.free.readers.ReadState(r, "freeReaders")
	s.free.keys.ReadState(r, "freeKeys")
	s.free.sessions.ReadState(r, "freeSessions")
	var count int64
	flat.ReadValue(r, "seqs", &count)
	s.seqs, s.seqWords = nil, 0
	for i := int64(0); i < count && r.Err == nil; i++ {
		var x seqSet
		flat.ReadValue(r, "base", &x.base)
		flat.Read(r, "words", &x.words)
		s.seqs = append(s.seqs, x)
		s.seqWords += int64(len(x.words))
	}
	flat.Read(r, "heap", &s.absence.heap)
	flat.Read(r, "heap", &s.patient.heap)
	flat.Read(r, "heap", &s.expiry.heap)
	flat.Read(r, "late", &s.late)
	flat.Read(r, "unsure", &s.unsure)
	flat.Read(r, "held", &s.held)
	flat.Read(r, "heldVersions", &s.heldVersions)
	s.byID.readState(r, "byID")
	s.byKey.readState(r, "byKey")
	s.byVersion.readState(r, "byVersion")
	s.bySession.readState(r, "bySession")
	flat.Read(r, "lingering", &s.spill.lingering)
	flat.Read(r, "dead", &s.spill.dead)
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
	s.sessionIndexes = nil
	s.stamp = 0
	for k := range s.keys {
		s.keys[k].stamp, s.keys[k].touch = 0, 0
	}
}

func (x *index) appendState(dst *flat.Writer, name string) *flat.Writer {
	dst = flat.AppendValue(dst, name+".used", &x.used)
	return flat.Append(dst, name+".slots", x.slots)
}

func (x *index) readState(r *flat.Reader, name string) {
	flat.ReadValue(r, name+".used", &x.used)
	flat.Read(r, name+".slots", &x.slots)
	if len(x.slots) == 0 {
		x.slots = nil
	}
}

func (a *arena) appendState(dst *flat.Writer) *flat.Writer {
	dst = flat.AppendValue(dst, "cur", &a.cur)
	dst = flat.AppendValue(dst, "bytes", &a.bytes)
	dst = flat.Append(dst, "live", a.live)
	dst = flat.Append(dst, "used", a.used)
	dst = flat.Append(dst, "free", a.free)
	for _, c := range a.chunks {
		dst = flat.Append(dst, "chunk", c)
	}
	return dst
}

func (a *arena) readState(r *flat.Reader) {
	flat.ReadValue(r, "cur", &a.cur)
	flat.ReadValue(r, "bytes", &a.bytes)
	flat.Read(r, "live", &a.live)
	flat.Read(r, "used", &a.used)
	flat.Read(r, "free", &a.free)
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
		flat.Read(r, "chunk", &c)
		if i > 0 && r.Err == nil {
			room := chunkBytes
			if len(a.chunks) == 2 {
				room = firstBytes
			}
			c = append(make([]byte, 0, max(len(c), room)), c...)
		}
		a.chunks[i] = c
	}
	for _, f := range a.free {
		if int(f) < len(a.chunks) && cap(a.chunks[f]) > chunkBytes {
			a.chunks[f] = nil
		}
	}
}

// filterHead is a filter without its hashes.
type filterHead struct {
	panes, used int64 // used: of the front
	forgot      bool
}

func (f *filter) appendState(dst *flat.Writer) *flat.Writer {
	dst = flat.AppendValue(dst, "filter", &filterHead{panes: int64(len(f.panes)), used: int64(f.front.used), forgot: f.forgot})
	dst = flat.Append(dst, "slots", f.front.slots)
	for i := range f.panes {
		used := int64(f.panes[i].used)
		dst = flat.AppendValue(dst, "used", &used)
		dst = flat.Append(dst, "slots", f.panes[i].slots)
	}
	return dst
}

func (f *filter) readState(r *flat.Reader) {
	var head filterHead
	flat.ReadValue(r, "filter", &head)
	f.forgot, f.panes = head.forgot, nil
	f.front = hashSet{used: int(head.used)}
	flat.Read(r, "slots", &f.front.slots)
	if len(f.front.slots) == 0 {
		f.front.slots = nil
	} else if len(f.front.slots) != frontSlots && r.Err == nil {
		r.Err = flat.ErrShort
	}
	for range min(head.panes, filterPanes) {
		var used int64
		var p hashSet
		flat.ReadValue(r, "used", &used)
		flat.Read(r, "slots", &p.slots)
		if p.used = int(used); r.Err == nil && len(p.slots) == 0 {
			r.Err = flat.ErrShort
		}
		f.panes = append(f.panes, p)
	}
}
