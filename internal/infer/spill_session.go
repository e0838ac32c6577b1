package infer

import (
	"encoding/binary"
	"fmt"

	"github.com/isowatch/isowatch/event"
)

func (s *ledger) newSession(h event.Hash, name []byte) uint32 {
	id, ok := s.free.sessions.Take()
	if !ok {
		id = uint32(len(s.sessions))
		s.sessions = append(s.sessions, session{})
	}
	s.spill.made++
	s.sessions[id] = session{hash: h, name: s.names.put(name), flags: recent}
	s.bySession.insert(h.Lo, id)
	return id
}

func (s *memory) lookupSession(h event.Hash) uint32 {
	x := &s.bySession
	i, mask, fp := x.start(h.Lo)
	for x.slots[i] != 0 {
		if slot := x.slots[i]; uint32(slot>>32) == fp && s.sessions[uint32(slot)].hash == h {
			return uint32(slot)
		}
		i = (i + 1) & mask
	}
	return 0
}

// ColdSession moves the hand on to the next session that may go out, as ColdKeys.
func (s *memory) ColdSession(visits *int) uint32 {
	for *visits > 0 {
		*visits--
		if s.spill.sessHand++; int(s.spill.sessHand) >= len(s.sessions) {
			s.spill.sessHand = 1
			if len(s.sessions) == 1 {
				return 0
			}
		}
		x := &s.sessions[s.spill.sessHand]
		if x.hash == (event.Hash{}) {
			continue
		}
		if x.flags&recent != 0 {
			x.flags &^= recent
			continue
		}
		if x.refs == 0 && x.last == 0 && (x.retired == 0 || s.coldMember(x.retired)) && (x.unsure == 0 || s.coldMember(x.unsure)) {
			return s.spill.sessHand
		}
	}
	return 0
}

// SpillSession appends the record of the session, which ColdSession gave, to dst
// and forgets it.
func (s *memory) SpillSession(dst []byte, id uint32) (Ref, []byte) {
	x := &s.sessions[id]
	ref := Ref{SessionRecord, x.hash}
	dst = append(dst, recordVersion, byte(x.flags&^recent))
	name := s.names.get(x.name)
	dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
	members := [2]uint32{x.retired, x.unsure}
	for _, n := range members {
		dst = appendHash(dst, s.txns[n].id) // of none, the zero hash
	}
	if int(id) < len(s.seqs) {
		dst = binary.AppendVarint(dst, s.seqs[id].base)
		dst = binary.AppendUvarint(dst, uint64(len(s.seqs[id].words)))
		for _, w := range s.seqs[id].words {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
		s.seqWords -= int64(len(s.seqs[id].words))
		s.seqs[id] = seqSet{}
	} else {
		dst = append(dst, 0, 0)
	}
	if int(id) < len(s.sessionIndexes) {
		s.sessionIndexes[id] = sessionIndex{}
	}
	s.bySession.remove(x.hash.Lo, id)
	s.names.drop(x.name)
	*x = session{}
	s.free.sessions.Give(id)
	for _, n := range members {
		if n != 0 {
			s.txns[n].away++
			s.unpin(n)
		}
	}
	s.spill.out.add(ref)
	s.spill.sessions++
	return ref, dst
}

// BringSession takes back the session that SpillSession wrote out. Its last
// member must be in memory.
func (s *memory) BringSession(h event.Hash, record []byte) error {
	if s.lookupSession(h) != 0 {
		return nil
	}
	r := recordReader{b: record}
	r.version()
	flags := sessionFlags(r.byte())
	name := r.bytes(r.uint())
	last := [2]event.Hash{r.hash(), r.hash()}
	x := seqSet{base: r.int()}
	words := r.uint()
	for ; words > 0 && r.err == nil; words-- {
		x.words = append(x.words, r.fixed())
	}
	var members [2]uint32
	for i, h := range last {
		if h == (event.Hash{}) {
			continue
		}
		if members[i] = s.lookupTxn(h); members[i] == 0 && r.err == nil {
			r.err = ErrRecord
		}
	}
	if r.err != nil {
		return fmt.Errorf("session: %w", r.err)
	}
	id := s.newSession(h, name)
	s.sessions[id].flags |= flags
	for int(id) >= len(s.seqs) {
		s.seqs = append(s.seqs, seqSet{})
	}
	s.seqs[id] = x
	s.seqWords += int64(len(x.words))
	s.sessions[id].retired, s.sessions[id].unsure = members[0], members[1]
	for _, n := range members {
		if n != 0 {
			s.txns[n].away--
			s.txns[n].session = id
			s.pin(n)
		}
	}
	s.spill.sessions--
	s.spill.returned++
	return nil
}
