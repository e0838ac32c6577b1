package infer

import (
	"encoding/binary"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// lingering is a retired transaction that nothing in memory needs.
type lingering struct{ txn, gen uint32 }

// linger queues t, which nothing in memory needs and something out names.
func (s *ledger) linger(t uint32) {
	s.spill.lingering = append(s.spill.lingering, lingering{t, s.txns[t].gen})
}

// bury says that the record of x, which came back and leaves for good, is of no
// use any more.
func (s *ledger) bury(x *txn) {
	const most = 4096 // beside the compact record
	s.spill.dead = append(s.spill.dead, dead{x.id, int64(len(s.records.get(x.record))) + most})
}

// ColdTxn is the next transaction that may go out, 0 when there is none. Those that are awaited stay,
// and are looked at again in the next step.
func (s *memory) ColdTxn(awaited []uint32) uint32 {
	p := &s.spill
	for p.ready > 0 {
		p.ready--
		l := p.lingering[p.ready]
		if contains(awaited, l.txn) {
			continue
		}
		last := len(p.lingering) - 1
		p.lingering[p.ready] = p.lingering[last]
		p.lingering = p.lingering[:last]
		x := &s.txns[l.txn]
		if x.gen == l.gen && x.state == counted && x.flags&retired != 0 && x.pins == 0 && x.due == 0 && x.writes == 0 && x.away > 0 {
			return l.txn
		}
	}
	return 0
}

// SpillTxn appends the record of n, which ColdTxn gave, to dst and forgets n.
func (s *memory) SpillTxn(dst []byte, n uint32) (Ref, []byte) {
	x := &s.txns[n]
	ref := Ref{TxnRecord, x.id}
	dst = append(dst, recordVersion)
	dst = binary.AppendUvarint(dst, uint64(x.flags&^stored))
	for _, u := range []uint32{x.gen, x.partition, x.sub, x.away, x.asked} {
		dst = binary.AppendUvarint(dst, uint64(u))
	}
	dst = binary.AppendVarint(dst, x.start)
	dst = binary.AppendVarint(dst, x.end-x.start)
	dst = binary.AppendVarint(dst, x.seq)
	dst = binary.AppendVarint(dst, x.offset)
	dst = binary.LittleEndian.AppendUint64(dst, x.content)
	dst = append(dst, s.records.get(x.record)...)
	s.byID.remove(x.id.Lo, n)
	s.records.drop(x.record)
	*x = txn{}
	s.free.txns.Give(n)
	s.spill.out.add(ref)
	s.spill.txns++
	return ref, dst
}

// BringTxn takes back the transaction that SpillTxn wrote out, and returns its
// number: 0 when it is there already.
func (s *memory) BringTxn(h event.Hash, record []byte) (uint32, error) {
	if s.lookupTxn(h) != 0 {
		return 0, nil
	}
	x, rest, err := readTxn(record)
	if err != nil {
		return 0, err
	}
	x.id = h
	x.flags |= stored
	x.record = s.records.put(rest)
	n, ok := s.free.txns.Take()
	if !ok {
		n = uint32(len(s.txns))
		s.txns = flat.Push(s.txns, txn{})
	}
	s.txns[n] = x
	s.byID.insert(h.Lo, n)
	s.spill.txns--
	s.spill.returned++
	s.linger(n) // until something pins it
	return n, nil
}

// readTxn reads what SpillTxn wrote; rest is the compact record.
func readTxn(record []byte) (x txn, rest []byte, err error) {
	r := recordReader{b: record}
	x.state = counted
	if r.version() > 4 {
		x.flags = txnFlags(r.uint())
	} else if x.flags = txnFlags(r.byte()); x.flags&stored != 0 { // it has the first eight, and overruled in the place of stored
		x.flags ^= stored | overruled
	}
	for _, u := range []*uint32{&x.gen, &x.partition, &x.sub, &x.away, &x.asked} {
		*u = r.uint32()
	}
	x.start = r.int()
	x.end = x.start + r.int()
	x.seq, x.offset = r.int(), r.int()
	x.content = r.fixed()
	if r.err != nil {
		return x, nil, fmt.Errorf("transaction: %w", r.err)
	}
	return x, r.b, nil
}
