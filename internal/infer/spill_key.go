package infer

import (
	"encoding/binary"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
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

// appendKey writes the record of k, whose versions are s.spill.versions. It uses
// version.due and write.op, which forgetKey clears, as scratch.
func (s *memory) appendKey(dst []byte, k uint32) []byte {
	x := &s.keys[k]
	vs := s.spill.versions
	for i, v := range vs {
		s.versions[v].due = uint32(i) + 1
	}
	dst = append(dst, recordVersion, byte(x.kind))
	dst = binary.AppendUvarint(dst, uint64(x.flags&^used))
	name := s.names.get(x.name)
	dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
	members := s.membersOf(vs)
	dst = binary.AppendUvarint(dst, uint64(len(members)))
	for _, n := range members {
		dst = appendHash(dst, s.txns[n].id)
	}
	dst = binary.AppendUvarint(dst, uint64(len(vs)))
	count := uint32(0) // write records
	for _, v := range vs {
		y := &s.versions[v]
		if y.flags&initialVersion == 0 {
			dst = appendHash(dst, y.hash)
		}
		for _, u := range []uint32{
			uint32(y.flags), y.possible, place(members, y.writer), place(members, y.witness), y.index,
			s.versions[y.prev].due, s.versions[y.next].due, s.versions[y.sibling].due, s.versions[y.sibPrev].due,
		} {
			dst = binary.AppendUvarint(dst, uint64(u))
		}
		dst = binary.AppendUvarint(dst, y.prefix)
		n := 0
		for id := y.writes; id != 0; id = s.writes[id].nextOfVer {
			n++
		}
		dst = binary.AppendUvarint(dst, uint64(n))
		for id := y.writes; id != 0; id = s.writes[id].nextOfVer {
			w := &s.writes[id]
			bits := byte(0)
			if w.intermediate {
				bits |= writeIntermediate
			}
			if w.blind {
				bits |= writeBlind
			}
			if w.unread {
				bits |= writeUnread
			}
			if w.absent {
				bits |= writeAbsent
			}
			dst = append(dst, bits)
			for _, u := range []uint32{place(members, w.txn), w.op, s.versions[w.pred].due} {
				dst = binary.AppendUvarint(dst, uint64(u))
			}
			count++
			w.op = count
		}
	}
	for _, v := range vs {
		for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
			dst = binary.AppendUvarint(dst, uint64(s.writes[id].op))
		}
		dst = append(dst, 0)
	}
	for _, v := range []uint32{x.first, x.last, x.lastBlind, x.unplaced} {
		dst = binary.AppendUvarint(dst, uint64(s.versions[v].due))
	}
	dst = binary.AppendUvarint(dst, uint64(x.length))
	dst = binary.AppendUvarint(dst, uint64(x.base))
	dst = binary.AppendUvarint(dst, x.basePrefix)
	dst = s.signs.stood.appendState(dst, k)
	return s.appendHoldings(dst, k, vs)
}

// membersOf are the transactions that the versions name, some perhaps twice:
// only the latest ones are looked through for a repetition.
func (s *memory) membersOf(vs []uint32) []uint32 {
	members := s.spill.txnsOf[:0]
	add := func(n uint32) {
		if n != 0 && place(members, n) == 0 {
			members = append(members, n)
		}
	}
	for _, v := range vs {
		for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
			add(s.writes[id].txn)
		}
		add(s.versions[v].witness)
	}
	s.spill.txnsOf = members
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
	if s.lookupKey(h) != 0 {
		return 0, nil, nil
	}
	r := recordReader{b: record}
	r.version()
	kind, flags := event.DataKind(r.byte()), keyFlags(r.uint())
	name := r.bytes(r.uint())
	members := s.spill.txnsOf[:0]
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		m := s.lookupTxn(r.hash())
		if m == 0 && r.err == nil {
			r.err = ErrRecord
		}
		members = append(members, m)
	}
	s.spill.txnsOf = members
	count := r.uint()
	if r.err != nil || count == 0 || count > maxSpilledVersions {
		return 0, nil, fmt.Errorf("key: %w", ErrRecord)
	}
	k = s.newKey(h, name)
	vs := s.spill.versions[:0]
	for range count {
		vs = append(vs, s.newVersion(k, event.Hash{}))
	}
	s.spill.versions = vs
	version := func() uint32 {
		i := r.uint()
		if i > uint64(len(vs)) {
			r.err = ErrRecord
		}
		if i == 0 || r.err != nil {
			return 0
		}
		return vs[i-1]
	}
	member := func() uint32 {
		i := r.uint()
		if i > uint64(len(members)) {
			r.err = ErrRecord
		}
		if i == 0 || r.err != nil {
			return 0
		}
		return members[i-1]
	}
	var writes []uint32
	for i, v := range vs {
		y := &s.versions[v]
		if i > 0 {
			y.hash = r.hash()
			s.byVersion.insert(versionHash(k, y.hash), v)
		}
		y.flags, y.possible = versionFlags(r.uint32()), r.uint32()
		y.writer, y.witness, y.index = member(), member(), r.uint32()
		y.prev, y.next, y.sibling, y.sibPrev = version(), version(), version(), version()
		y.prefix = r.uint()
		first := len(writes)
		for n := r.uint(); n > 0 && r.err == nil; n-- {
			bits := r.byte()
			id, ok := s.free.writes.Take()
			if !ok {
				id = uint32(len(s.writes))
				s.writes = flat.Push(s.writes, write{})
			}
			s.writes[id] = write{
				version: v, txn: member(), op: r.uint32(), pred: version(),
				intermediate: bits&writeIntermediate != 0, blind: bits&writeBlind != 0, unread: bits&writeUnread != 0,
				absent: bits&writeAbsent != 0,
			}
			writes = append(writes, id)
		}
		for j := len(writes) - 1; j >= first; j-- {
			if next := y.writes; next != 0 {
				s.writes[next].prevOfVer, s.writes[writes[j]].nextOfVer = writes[j], next
			}
			y.writes = writes[j]
		}
	}
	for _, v := range vs {
		last := uint32(0)
		for o := r.uint(); o != 0 && r.err == nil; o = r.uint() {
			if o > uint64(len(writes)) {
				r.err = ErrRecord
				break
			}
			if id := writes[o-1]; last == 0 {
				s.versions[v].over, last = id, id
			} else {
				s.writes[last].nextOver, s.writes[id].prevOver, last = id, last, id
			}
		}
	}
	x := &s.keys[k]
	x.kind, x.flags = kind, flags|used
	x.initial = vs[0]
	x.first, x.last, x.lastBlind, x.unplaced = version(), version(), version(), version()
	x.length, x.base, x.basePrefix = r.uint32(), r.uint32(), r.uint()
	s.signs.stood.readState(&r, k)
	s.readHoldings(&r, k, vs)
	if r.err != nil {
		return 0, nil, fmt.Errorf("key: %w", r.err)
	}
	for _, v := range vs {
		s.adopt(v)
	}
	s.repeatsSince(k, vs)
	s.enrollAgain(k)
	s.spill.keys--
	s.spill.returned++
	return k, r.b, nil
}

// adopt ties v, which came back, to the transactions that it names.
func (s *memory) adopt(v uint32) {
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		n := s.writes[id].txn
		t := &s.txns[n]
		t.pins++
		t.away--
		// In the order in which the transaction made them, latest first.
		prev, next := uint32(0), t.writes
		for next != 0 && s.writes[next].op > s.writes[id].op {
			prev, next = next, s.writes[next].nextOfTxn
		}
		s.writes[id].prevOfTxn, s.writes[id].nextOfTxn = prev, next
		if prev != 0 {
			s.writes[prev].nextOfTxn = id
		} else {
			t.writes = id
		}
		if next != 0 {
			s.writes[next].prevOfTxn = id
		}
	}
	if n := s.versions[v].witness; n != 0 {
		s.txns[n].pins++
		s.txns[n].away--
	}
}

func appendHash(dst []byte, h event.Hash) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, h.Lo), h.Hi)
}

// recordReader reads records. The first error stays.
type recordReader struct {
	b   []byte
	err error
}

func (r *recordReader) fail() {
	r.b, r.err = nil, ErrRecord
}

func (r *recordReader) version() byte {
	v := r.byte()
	if (v < oldestRecord || v > recordVersion) && r.err == nil {
		r.err = fmt.Errorf("%w: version %d, this program reads %d to %d", ErrRecord, v, oldestRecord, recordVersion)
	}
	return v
}

func (r *recordReader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *recordReader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *recordReader) uint32() uint32 { return uint32(r.uint()) }

func (r *recordReader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *recordReader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *recordReader) fixed() uint64 {
	if b := r.bytes(8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *recordReader) hash() event.Hash { return event.Hash{Lo: r.fixed(), Hi: r.fixed()} }
