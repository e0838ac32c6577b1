package infer

import (
	"encoding/binary"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// ColdTxn is the next transaction that may go out, 0 when there is none. Those that are awaited stay,
// and are looked at again in the next step.
func (s *memory) ColdTxn(awaited []uint32) uint32 {
	p := &s.Spill
	for p.Ready > 0 {
		p.Ready--
		l := p.Lingering[p.Ready]
		if contains(awaited, l.Txn) {
			continue
		}
		last := len(p.Lingering) - 1
		p.Lingering[p.Ready] = p.Lingering[last]
		p.Lingering = p.Lingering[:last]
		x := &s.Txns[l.Txn]
		if x.Gen == l.Gen && x.State == ledger.Counted && x.Flags&ledger.Retired != 0 && x.Pins == 0 && x.Due == 0 && x.Writes == 0 && x.Away > 0 {
			return l.Txn
		}
	}
	return 0
}

// SpillTxn appends the record of n, which ColdTxn gave, to dst and forgets n.
func (s *memory) SpillTxn(dst []byte, n uint32) (ledger.Ref, []byte) {
	x := &s.Txns[n]
	ref := ledger.Ref{Kind: TxnRecord, Hash: x.Id}
	dst = append(dst, ledger.RecordVersion)
	dst = binary.AppendUvarint(dst, uint64(x.Flags&^ledger.Stored))
	for _, u := range []uint32{x.Gen, x.Partition, x.Sub, x.Away, x.Asked} {
		dst = binary.AppendUvarint(dst, uint64(u))
	}
	dst = binary.AppendVarint(dst, x.Start)
	dst = binary.AppendVarint(dst, x.End-x.Start)
	dst = binary.AppendVarint(dst, x.Seq)
	dst = binary.AppendVarint(dst, x.Offset)
	dst = binary.LittleEndian.AppendUint64(dst, x.Content)
	dst = append(dst, s.Records.Get(x.Record)...)
	s.ByID.Remove(x.Id.Lo, n)
	s.Records.Drop(x.Record)
	*x = ledger.Txn{}
	s.Free.Txns.Give(n)
	s.Spill.Out.Add(ref)
	s.Spill.Txns++
	return ref, dst
}

// BringTxn takes back the transaction that SpillTxn wrote out, and returns its
// number: 0 when it is there already.
func (s *memory) BringTxn(h event.Hash, record []byte) (uint32, error) {
	if s.LookupTxn(h) != 0 {
		return 0, nil
	}
	x, rest, err := readTxn(record)
	if err != nil {
		return 0, err
	}
	x.Id = h
	x.Flags |= ledger.Stored
	x.Record = s.Records.Put(rest)
	n, ok := s.Free.Txns.Take()
	if !ok {
		n = uint32(len(s.Txns))
		s.Txns = flat.Push(s.Txns, ledger.Txn{})
	}
	s.Txns[n] = x
	s.ByID.Insert(h.Lo, n)
	s.Spill.Txns--
	s.Spill.Returned++
	s.Linger(n) // until something pins it
	return n, nil
}

// readTxn reads what SpillTxn wrote; rest is the compact record.
func readTxn(record []byte) (x ledger.Txn, rest []byte, err error) {
	r := ledger.RecordReader{B: record}
	x.State = ledger.Counted
	if r.Version() > 4 {
		x.Flags = ledger.TxnFlags(r.Uint())
	} else if x.Flags = ledger.TxnFlags(r.Byte()); x.Flags&ledger.Stored != 0 { // it has the first eight, and overruled in the place of stored
		x.Flags ^= ledger.Stored | ledger.Overruled
	}
	for _, u := range []*uint32{&x.Gen, &x.Partition, &x.Sub, &x.Away, &x.Asked} {
		*u = r.Uint32()
	}
	x.Start = r.Int()
	x.End = x.Start + r.Int()
	x.Seq, x.Offset = r.Int(), r.Int()
	x.Content = r.Fixed()
	if r.Err != nil {
		return x, nil, fmt.Errorf("transaction: %w", r.Err)
	}
	return x, r.B, nil
}
