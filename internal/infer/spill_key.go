package infer

import (
	"encoding/binary"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// A key's record has these parts: version, kind, flags, name. The ids of the transactions that it
// names. Then the versions, each with its write records. The initial one is first. By version: the
// write records that overwrote it. The key's own fields, and the values that it is known to have held.
// Versions are named by their place in the record, from 1; 0 stands for no version. So are transactions
// and write records.

// Bits of a write record in a key's record.
const (
	writeIntermediate = 1 << iota
	writeBlind
	writeUnread
	writeAbsent
)

// appendKey writes the record of k, whose versions are s.Spill.Versions. It uses
// Version.Due and Write.Op, which forgetKey clears, as scratch.
func (s *memory) appendKey(dst []byte, k uint32) []byte {
	x := &s.Keys[k]
	vs := s.Spill.Versions
	for i, v := range vs {
		s.Versions[v].Due = uint32(i) + 1
	}
	dst = append(dst, ledger.RecordVersion, byte(x.Kind))
	dst = binary.AppendUvarint(dst, uint64(x.Flags&^ledger.Used))
	name := s.Names.Get(x.Name)
	dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
	members := s.membersOf(vs)
	dst = binary.AppendUvarint(dst, uint64(len(members)))
	for _, n := range members {
		dst = appendHash(dst, s.Txns[n].Id)
	}
	dst = binary.AppendUvarint(dst, uint64(len(vs)))
	count := uint32(0) // write records
	for _, v := range vs {
		y := &s.Versions[v]
		if y.Flags&ledger.InitialVersion == 0 {
			dst = appendHash(dst, y.Hash)
		}
		for _, u := range []uint32{
			uint32(y.Flags), y.Possible, place(members, y.Writer), place(members, y.Witness), y.Index,
			s.Versions[y.Prev].Due, s.Versions[y.Next].Due, s.Versions[y.Sibling].Due, s.Versions[y.SibPrev].Due,
		} {
			dst = binary.AppendUvarint(dst, uint64(u))
		}
		dst = binary.AppendUvarint(dst, y.Prefix)
		n := 0
		for id := y.Writes; id != 0; id = s.Writes[id].NextOfVer {
			n++
		}
		dst = binary.AppendUvarint(dst, uint64(n))
		for id := y.Writes; id != 0; id = s.Writes[id].NextOfVer {
			w := &s.Writes[id]
			bits := byte(0)
			if w.Intermediate {
				bits |= writeIntermediate
			}
			if w.Blind {
				bits |= writeBlind
			}
			if w.Unread {
				bits |= writeUnread
			}
			if w.Absent {
				bits |= writeAbsent
			}
			dst = append(dst, bits)
			for _, u := range []uint32{place(members, w.Txn), w.Op, s.Versions[w.Pred].Due} {
				dst = binary.AppendUvarint(dst, uint64(u))
			}
			count++
			w.Op = count
		}
	}
	for _, v := range vs {
		for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
			dst = binary.AppendUvarint(dst, uint64(s.Writes[id].Op))
		}
		dst = append(dst, 0)
	}
	for _, v := range []uint32{x.First, x.Last, x.LastBlind, x.Unplaced} {
		dst = binary.AppendUvarint(dst, uint64(s.Versions[v].Due))
	}
	dst = binary.AppendUvarint(dst, uint64(x.Length))
	dst = binary.AppendUvarint(dst, uint64(x.Base))
	dst = binary.AppendUvarint(dst, x.BasePrefix)
	dst = s.Signs.Stood.AppendState(dst, k)
	return s.AppendHoldings(dst, k, vs)
}

// membersOf are the transactions that the versions name, some perhaps twice:
// only the latest ones are looked through for a repetition.
func (s *memory) membersOf(vs []uint32) []uint32 {
	members := s.Spill.TxnsOf[:0]
	add := func(n uint32) {
		if n != 0 && place(members, n) == 0 {
			members = append(members, n)
		}
	}
	for _, v := range vs {
		for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
			add(s.Writes[id].Txn)
		}
		add(s.Versions[v].Witness)
	}
	s.Spill.TxnsOf = members
	return members
}

// place is the index of n in ns plus 1; 0 if ns does not hold n.
func place(ns []uint32, n uint32) uint32 {
	for i := len(ns) - 1; i >= 0; i-- {
		if ns[i] == n {
			return uint32(i) + 1
		}
	}
	return 0
}

// BringKey takes back the key that SpillKey wrote out. It returns the key's number, 0 when it is there
// already, and the bytes behind its record. The transactions that the record names must be in memory.
func (s *memory) BringKey(h event.Hash, record []byte) (k uint32, rest []byte, err error) {
	if s.LookupKey(h) != 0 {
		return 0, nil, nil
	}
	r := ledger.RecordReader{B: record}
	r.Version()
	kind, flags := event.DataKind(r.Byte()), ledger.KeyFlags(r.Uint())
	name := r.Bytes(r.Uint())
	members := s.Spill.TxnsOf[:0]
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		m := s.LookupTxn(r.Hash())
		if m == 0 && r.Err == nil {
			r.Err = ledger.ErrRecord
		}
		members = append(members, m)
	}
	s.Spill.TxnsOf = members
	count := r.Uint()
	if r.Err != nil || count == 0 || count > maxSpilledVersions {
		return 0, nil, fmt.Errorf("key: %w", ledger.ErrRecord)
	}
	k = s.NewKey(h, name)
	vs := s.Spill.Versions[:0]
	for range count {
		vs = append(vs, s.NewVersion(k, event.Hash{}))
	}
	s.Spill.Versions = vs
	version := func() uint32 {
		i := r.Uint()
		if i > uint64(len(vs)) {
			r.Err = ledger.ErrRecord
		}
		if i == 0 || r.Err != nil {
			return 0
		}
		return vs[i-1]
	}
	member := func() uint32 {
		i := r.Uint()
		if i > uint64(len(members)) {
			r.Err = ledger.ErrRecord
		}
		if i == 0 || r.Err != nil {
			return 0
		}
		return members[i-1]
	}
	var writes []uint32
	for i, v := range vs {
		y := &s.Versions[v]
		if i > 0 {
			y.Hash = r.Hash()
			s.ByVersion.Insert(ledger.VersionHash(k, y.Hash), v)
		}
		y.Flags, y.Possible = ledger.VersionFlags(r.Uint32()), r.Uint32()
		y.Writer, y.Witness, y.Index = member(), member(), r.Uint32()
		y.Prev, y.Next, y.Sibling, y.SibPrev = version(), version(), version(), version()
		y.Prefix = r.Uint()
		first := len(writes)
		for n := r.Uint(); n > 0 && r.Err == nil; n-- {
			bits := r.Byte()
			id, ok := s.Free.Writes.Take()
			if !ok {
				id = uint32(len(s.Writes))
				s.Writes = flat.Push(s.Writes, ledger.Write{})
			}
			s.Writes[id] = ledger.Write{
				Version: v, Txn: member(), Op: r.Uint32(), Pred: version(),
				Intermediate: bits&writeIntermediate != 0, Blind: bits&writeBlind != 0, Unread: bits&writeUnread != 0,
				Absent: bits&writeAbsent != 0,
			}
			writes = append(writes, id)
		}
		for j := len(writes) - 1; j >= first; j-- {
			if next := y.Writes; next != 0 {
				s.Writes[next].PrevOfVer, s.Writes[writes[j]].NextOfVer = writes[j], next
			}
			y.Writes = writes[j]
		}
	}
	for _, v := range vs {
		last := uint32(0)
		for o := r.Uint(); o != 0 && r.Err == nil; o = r.Uint() {
			if o > uint64(len(writes)) {
				r.Err = ledger.ErrRecord
				break
			}
			if id := writes[o-1]; last == 0 {
				s.Versions[v].Over, last = id, id
			} else {
				s.Writes[last].NextOver, s.Writes[id].PrevOver, last = id, last, id
			}
		}
	}
	x := &s.Keys[k]
	x.Kind, x.Flags = kind, flags|ledger.Used
	x.Initial = vs[0]
	x.First, x.Last, x.LastBlind, x.Unplaced = version(), version(), version(), version()
	x.Length, x.Base, x.BasePrefix = r.Uint32(), r.Uint32(), r.Uint()
	s.Signs.Stood.ReadState(&r, k)
	s.ReadHoldings(&r, k, vs)
	if r.Err != nil {
		return 0, nil, fmt.Errorf("key: %w", r.Err)
	}
	for _, v := range vs {
		s.adopt(v)
	}
	s.RepeatsSince(k, vs)
	s.EnrollAgain(k)
	s.Spill.Keys--
	s.Spill.Returned++
	return k, r.B, nil
}

// adopt ties v, which came back, to the transactions that it names.
func (s *memory) adopt(v uint32) {
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		n := s.Writes[id].Txn
		t := &s.Txns[n]
		t.Pins++
		t.Away--
		// In the order in which the transaction made them, latest first.
		prev, next := uint32(0), t.Writes
		for next != 0 && s.Writes[next].Op > s.Writes[id].Op {
			prev, next = next, s.Writes[next].NextOfTxn
		}
		s.Writes[id].PrevOfTxn, s.Writes[id].NextOfTxn = prev, next
		if prev != 0 {
			s.Writes[prev].NextOfTxn = id
		} else {
			t.Writes = id
		}
		if next != 0 {
			s.Writes[next].PrevOfTxn = id
		}
	}
	if n := s.Versions[v].Witness; n != 0 {
		s.Txns[n].Pins++
		s.Txns[n].Away--
	}
}

func appendHash(dst []byte, h event.Hash) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, h.Lo), h.Hi)
}
