package infer

import (
	"encoding/binary"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// ColdSession moves the hand on to the next session that may go out, as ColdKeys.
func (s *memory) ColdSession(visits *int) uint32 {
	for *visits > 0 {
		*visits--
		if s.Spill.SessHand++; int(s.Spill.SessHand) >= len(s.Sessions) {
			s.Spill.SessHand = 1
			if len(s.Sessions) == 1 {
				return 0
			}
		}
		x := &s.Sessions[s.Spill.SessHand]
		if x.Hash == (event.Hash{}) {
			continue
		}
		if x.Flags&ledger.Recent != 0 {
			x.Flags &^= ledger.Recent
			continue
		}
		if x.Refs == 0 && x.Last == 0 && (x.Retired == 0 || s.coldMember(x.Retired)) && (x.Unsure == 0 || s.coldMember(x.Unsure)) {
			return s.Spill.SessHand
		}
	}
	return 0
}

// SpillSession appends the record of the session, which ColdSession gave, to dst
// and forgets it.
func (s *memory) SpillSession(dst []byte, id uint32) (ledger.Ref, []byte) {
	x := &s.Sessions[id]
	ref := ledger.Ref{Kind: SessionRecord, Hash: x.Hash}
	dst = append(dst, ledger.RecordVersion, byte(x.Flags&^ledger.Recent))
	name := s.Names.Get(x.Name)
	dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
	members := [2]uint32{x.Retired, x.Unsure}
	for _, n := range members {
		dst = appendHash(dst, s.Txns[n].Id) // of none, the zero hash
	}
	if int(id) < len(s.Seqs) {
		dst = binary.AppendVarint(dst, s.Seqs[id].Base)
		dst = binary.AppendUvarint(dst, uint64(len(s.Seqs[id].Words)))
		for _, w := range s.Seqs[id].Words {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
		s.SeqWords -= int64(len(s.Seqs[id].Words))
		s.Seqs[id] = ledger.SeqSet{}
	} else {
		dst = append(dst, 0, 0)
	}
	if int(id) < len(s.SessionIndexes) {
		s.SessionIndexes[id] = ledger.SessionIndex{}
	}
	s.BySession.Remove(x.Hash.Lo, id)
	s.Names.Drop(x.Name)
	*x = ledger.Session{}
	s.Free.Sessions.Give(id)
	for _, n := range members {
		if n != 0 {
			s.Txns[n].Away++
			s.Unpin(n)
		}
	}
	s.Spill.Out.Add(ref)
	s.Spill.Sessions++
	return ref, dst
}

// BringSession takes back the session that SpillSession wrote out. Its last
// member must be in memory.
func (s *memory) BringSession(h event.Hash, record []byte) error {
	if s.LookupSession(h) != 0 {
		return nil
	}
	r := ledger.RecordReader{B: record}
	r.Version()
	flags := ledger.SessionFlags(r.Byte())
	name := r.Bytes(r.Uint())
	last := [2]event.Hash{r.Hash(), r.Hash()}
	x := ledger.SeqSet{Base: r.Int()}
	words := r.Uint()
	for ; words > 0 && r.Err == nil; words-- {
		x.Words = append(x.Words, r.Fixed())
	}
	var members [2]uint32
	for i, h := range last {
		if h == (event.Hash{}) {
			continue
		}
		if members[i] = s.LookupTxn(h); members[i] == 0 && r.Err == nil {
			r.Err = ledger.ErrRecord
		}
	}
	if r.Err != nil {
		return fmt.Errorf("session: %w", r.Err)
	}
	id := s.NewSession(h, name)
	s.Sessions[id].Flags |= flags
	for int(id) >= len(s.Seqs) {
		s.Seqs = append(s.Seqs, ledger.SeqSet{})
	}
	s.Seqs[id] = x
	s.SeqWords += int64(len(x.Words))
	s.Sessions[id].Retired, s.Sessions[id].Unsure = members[0], members[1]
	for _, n := range members {
		if n != 0 {
			s.Txns[n].Away--
			s.Txns[n].Session = id
			s.Pin(n)
		}
	}
	s.Spill.Sessions--
	s.Spill.Returned++
	return nil
}
