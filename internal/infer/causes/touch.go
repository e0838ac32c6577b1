package causes

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Touch is the note of what the transaction in work did to one key so far.
type Touch struct {
	Key       uint32
	ReadVer   uint32     // version of the first external read
	ReadHash  event.Hash // its value, or the hash of a list's elements
	ReadLen   uint32     // lists: elements of it
	ReadOp    uint32
	LastWrite uint32     // write record of the latest write
	Count     uint32     // counters: place among those that the transaction in work used, from 1
	Current   event.Hash // registers: value of the latest own write
	FirstOwn  uint32     // own writes, linked in Registers.Own of package registers, from 1; 0 is none
	LastOwn   uint32
	Flags     touchFlags
	ShownBy   uint32 // from 1: the operation that showed this key among others: see sets/scan.go
}

type touchFlags uint16

const (
	HasRead     touchFlags = 1 << iota // it made an external read
	ReadNothing                        // which found nothing
	Wrote
	Misread   // a read that contradicts the transaction's own operations was reported
	Removed   // the latest own write is a tombstone
	Plain     // read by FirstRead
	Nameless  // the latest own write named no version, though versions of the key have names
	OwnMissed // a misread of an own write was reported already
	Untold    // its first read named no version, though versions of the key have names
)

// WriteOf is the record of n's write of v, 0 if there is none.
func (s *Causes) WriteOf(n, v uint32) uint32 {
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if s.Writes[id].Txn == n {
			return id
		}
	}
	return 0
}

// ReadOwn is a read behind a write of the same transaction. A difference is reported once. It is
// reported also if the transaction had misread the key before it wrote it, since weaker levels forbid
// this. An empty read behind an own delete may tell no version, though the delete told one.
func (s *Absences) ReadOwn(c *Touch, n, op uint32, h event.Hash, nothing bool) {
	if nothing && c.LastWrite != 0 && s.IsDelete(&s.Writes[c.LastWrite]) {
		return
	}
	if c.Flags&OwnMissed == 0 && (nothing != (c.Flags&Removed != 0) || !nothing && h != c.Current) {
		if !nothing && c.Flags&Removed == 0 && s.OfRow(c.Key, h) {
			s.ReadRow(n)
			return
		}
		s.Misreads(ledger.Internal, c, n, op, 0)
	}
}

// Misreads reports a read that contradicts the transaction's own operations. See
// enclosing in package lists about the other transaction.
func (s *Absences) Misreads(kind ledger.AnomalyKind, c *Touch, n, op, other uint32) {
	c.Flags |= Misread
	if kind == ledger.Internal {
		c.Flags |= OwnMissed
	}
	a := ledger.Anomaly{Kind: kind, A: n, B: other, OpA: op, Certain: true}
	if k := &s.Keys[c.Key]; k.Kind != event.List { // which the operation need not name
		a.Version = k.Initial
	}
	s.Report(a)
}
