package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// The state kept of retired transactions (docs/proofs.md, section 8) grows with the keys that a source
// ever had. Beyond a cap, cold state goes out. Each key, session, and retired transaction that these
// name is one record. The record comes back, exactly as it was, before a transaction that touches it is
// added.
//
// A key is cold when only the frozen state is left of it. Every version is the initial one, in
// the list's spine, unplaced or kept. No live transaction wrote, read, showed or asks about
// one. No transaction of unknown outcome names the key, since it may touch its keys later.
// Key.Count lets one see that from the rest. It counts all versions, and once more for each
// operation of an unknown transaction that has not left.
//
// The hand of a clock goes around over the keys: a key that was used since it last came by
// stays. Use is a bit that interning sets in a line that it has loaded.
//
// A retired transaction is kept while something in memory pins it. When the last pin goes while
// records on disk still name it (Txn.Away), it lingers, and goes out itself in a later step.

// RecordKind is the kind of object that a record is about.
type RecordKind uint8

// Ref names a record: a key, transaction or session by its hash, with the epoch's hash in it.
type Ref struct {
	Kind RecordKind
	Hash event.Hash
}

// spill is the state of what is out.
type spill struct {
	Out       bloomFilter // what may be out
	Hand      uint32      // the key looked at last
	SessHand  uint32      // the session looked at last
	TxnHand   uint32      // the transaction whose record was looked at last
	NameHand  uint32      // the key or session whose name was looked at last
	Keys      int64       // out
	Txns      int64
	Sessions  int64
	Returned  int64 // records that came back
	Lingering []lingering
	Ready     int // of lingering: the entries from before this step
	// Dead are ids of transactions that came back and have left for good: their
	// records are of no use from the next step on.
	Dead   []dead
	Doomed int // of dead: the entries from before this step

	// Scratch.
	Made     int // keys and sessions, in the step in work
	Group    []uint32
	Unsure   []Unsure
	Versions []uint32
	TxnsOf   []uint32
	batch    event.Batch
}

// dead is a record that is of no use any more.
type dead struct {
	Id    event.Hash
	Bytes int64 // of the record, at most
}

// RecordVersion is the version of the records of retired state that are written. oldestRecord
// is the first one that is read. A release reads the records of the one before it.
//
//	5  transactions have all their flags
const (
	RecordVersion = 5
	oldestRecord  = 4
)

// ErrRecord says that a record of the store is not what was written.
var ErrRecord = errors.New("record of retired state is damaged")

// LookupKey is the key with this hash, 0 if it is not in memory.
func (s *Ledger) LookupKey(h event.Hash) uint32 {
	x := &s.ByKey
	i, mask, fp := x.Start(h.Lo)
	for x.Slots[i] != 0 {
		if slot := x.Slots[i]; uint32(slot>>32) == fp && s.Keys[uint32(slot)].Hash == h {
			return uint32(slot)
		}
		i = (i + 1) & mask
	}
	return 0
}

// EachKey calls fn with the hash of the key of every operation in a compact
// record.
func (s *Ledger) EachKey(record []byte, fn func(event.Hash)) {
	b := &s.Spill.batch
	b.Reset()
	if err := s.Decoder.DecodeRecord(b, event.Position{}, record); err != nil {
		return // not possible: the record was written by AppendRecord
	}
	t := &b.Txns[0]
	ops := b.OpsOf(t)
	for i := range ops {
		fn(s.InEpoch(b, t, ops[i].KeyHash))
	}
}

// KeptHead is where the chain of kept versions of k begins: in a field that its
// kind does not use otherwise.
func (s *Ledger) KeptHead(k uint32) *uint32 {
	if x := &s.Keys[k]; x.Kind == event.List {
		return &x.LastBlind
	} else {
		return &x.Unplaced
	}
}

// KeysInMemory is the number of keys that are not out.
func (s *Ledger) KeysInMemory() int { return len(s.Keys) - 1 - s.Free.Keys.Len() }

// Unsure is a transaction of unknown outcome in a group, and what of its pins is
// known.
type Unsure struct{ Txn, Pins uint32 }

// lingering is a retired transaction that nothing in memory needs.
type lingering struct{ Txn, Gen uint32 }

// Linger queues t, which nothing in memory needs and something out names.
func (s *Ledger) Linger(t uint32) {
	s.Spill.Lingering = append(s.Spill.Lingering, lingering{t, s.Txns[t].Gen})
}

// Bury says that the record of x, which came back and leaves for good, is of no
// use any more.
func (s *Ledger) Bury(x *Txn) {
	const most = 4096 // beside the compact record
	s.Spill.Dead = append(s.Spill.Dead, dead{x.Id, int64(len(s.Records.Get(x.Record))) + most})
}

// RecordReader reads records. The first error stays.
type RecordReader struct {
	B   []byte
	Err error
}

func (r *RecordReader) fail() {
	r.B, r.Err = nil, ErrRecord
}

// Version reads the version of the record, and refuses those that this program does not know.
func (r *RecordReader) Version() byte {
	v := r.Byte()
	if (v < oldestRecord || v > RecordVersion) && r.Err == nil {
		r.Err = fmt.Errorf("%w: version %d, this program reads %d to %d", ErrRecord, v, oldestRecord, RecordVersion)
	}
	return v
}

// Byte reads a byte.
func (r *RecordReader) Byte() byte {
	if len(r.B) == 0 {
		r.fail()
		return 0
	}
	v := r.B[0]
	r.B = r.B[1:]
	return v
}

// Uint reads an unsigned integer of any size.
func (r *RecordReader) Uint() uint64 {
	v, n := binary.Uvarint(r.B)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Uint32 reads an unsigned integer, and keeps its lower 32 bits.
func (r *RecordReader) Uint32() uint32 { return uint32(r.Uint()) }

// Int reads a signed integer of any size.
func (r *RecordReader) Int() int64 {
	v, n := binary.Varint(r.B)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Bytes reads n bytes. They are the record's own.
func (r *RecordReader) Bytes(n uint64) []byte {
	if n > uint64(len(r.B)) {
		r.fail()
		return nil
	}
	v := r.B[:n]
	r.B = r.B[n:]
	return v
}

// Fixed reads 8 bytes, the lowest first.
func (r *RecordReader) Fixed() uint64 {
	if b := r.Bytes(8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Hash reads 16 bytes.
func (r *RecordReader) Hash() event.Hash { return event.Hash{Lo: r.Fixed(), Hi: r.Fixed()} }
