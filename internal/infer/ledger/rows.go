package ledger

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/pattern"
)

// txnState is how a transaction takes part.
type txnState uint8

const (
	Free      txnState = iota // nobody has the number
	Counted                   // committed, or unknown and observed
	Aborted                   // kept for the reads that saw it
	Tentative                 // unknown, not observed so far
)

// TxnFlags say what is known of a transaction.
type TxnFlags uint16

const (
	HasSeq    TxnFlags = 1 << iota // it has a place in its session's count
	HasTimes                       // its own start and end are known
	Stale                          // it asked for old data
	Unknown                        // the record's status is unknown: nothing follows from its end
	Retired                        // left every order
	InSession                      // linked in its session's list
	Stored                         // the transaction has a record on disk: see spill.go
	adrift                         // it has no place in its session, by seq or by its own times
	Overruled                      // a second record of the transaction came too late: see Add in package infer
	Again                          // it tries again what one without a record did: see causes/attempts.go
	CameLate                       // its first record came after the lateness: see Ledger.CameLate
	toldLate                       // its first record did not, but that with the outcome
	Unheard                        // its client got no answer, and the outcome became known later: the client may have tried again
	Rewrote                        // it wrote a register more than once: it has a write record that is intermediate
)

// Txn is a transaction in the slab, 128 bytes: two cache lines. Work on other transactions
// meets the first one. Numbers are reused; Gen tells two users of one number apart.
type Txn struct {
	Start, End int64
	Seq        int64
	Gen        uint32
	Session    uint32
	SessPrev   uint32 // in the session's list of live members
	SessNext   uint32
	Writes     uint32 // list of write records
	Reads      uint32 // list of reader records
	Pins       uint32 // what still needs the record or the ranks: versions, witnesses, accusations
	Due        uint32 // entries of the absence queue that name it
	State      txnState
	Flags      TxnFlags
	Asked      uint32 // hash of the level that it asked for by name, 0 for none: see Diverging in package registers

	Id        event.Hash
	Content   uint64
	Record    Place
	Offset    int64
	Partition uint32
	Sub       uint32
	Away      uint32   // what is on disk and names it: see spill.go
	Scans     uint32   // list of its scans: see sets/scan.go
	unnamed   [8]uint8 // of unknown outcome: its reads that name no version, by cause from OpenNothing on
}

// KeyFlags say what is known of a key.
type KeyFlags uint16

const (
	Uncheckable  KeyFlags = 1 << iota // its order cannot be known; counted
	Unsupported                       // operations that give no dependencies, or mixed kinds: nothing is inferred
	Deleted                           // a delete of the key is recorded: not found has several meanings
	HasBaseline                       // a value without a writer was taken as what was there before watching
	FoundNothing                      // a read found no value
	Unordered                         // its versions have several roots; counted
	Used                              // since the hand of spill.go passed it last
	Element                           // of a set: see sets/scan.go
	Versioned                         // its versions are told by their texts: see causes/signs.go
	PlainBefore                       // and operations named some versions by their values before
	Repeats                           // its values repeat, and name no version: see causes/signs.go
	Voided                            // what rests on its values is being taken back: scratch
	DeletedAgain                      // more than once
	Emptied                           // nothing is a value of it that comes again: see registers/nothing.go
	RowsApart                         // a delete without a place in the order of its versions is recorded: see registers/rows.go
	Sums                              // a counter whose operations tell versions: see counters/counted.go
)

// Key is the state of a key, 80 bytes; the fields that registers need come first. Numbers are
// reused.
type Key struct {
	Hash event.Hash
	// Scratch of the transaction in work.
	Stamp, Touch uint32
	Initial      uint32 // the version before all others
	Pattern      pattern.ID
	Flags        KeyFlags
	LastBlind    uint32 // the latest retired version that was written blindly; lists: as kept, see spill.go
	Count        uint32 // versions, and what else keeps it in memory; 0: the number is free
	Unplaced     uint32 // lists: appends that no read has shown, latest first; else as kept, see spill.go
	// Lists: the spine of versions in the order that reads showed.
	First, Last uint32 // retained part; First is the initial version until elements are frozen
	Length      uint32 // elements in the spine, frozen ones included; of no kind yet: 1 if it was read; of an element: its set
	Base        uint32 // frozen elements
	Kind        event.DataKind
	BasePrefix  uint64 // prefix hash behind the frozen elements
	Name        Place
}

// VersionFlags say what is known of a version.
type VersionFlags uint32

const (
	InitialVersion      VersionFlags = 1 << iota // what a key held before all writes, and watching
	Ambiguous                                    // several writers that did not abort
	Placed                                       // in the spine
	InUnplaced                                   // of a list: in the chain of appends that no read has shown
	Chained                                      // as kept, and had a neighbour in that chain
	Accused                                      // a finding says that the version has no writer, or that all its writers aborted
	Baseline                                     // taken as what was there before watching
	LateReaders                                  // read by a transaction that has retired
	Unattributed                                 // counted as read without a writer
	Overwritten                                  // by a transaction that is no longer kept: to read it now is to read an old state
	OverwrittenByWriter                          // a transaction wrote it and then wrote the key again: it is an intermediate version there
	AccusedOne                                   // a finding rests on its having exactly one writer
	Seen                                         // a transaction that has retired read it
	SeenSurely                                   // and its outcome was known
	Kept                                         // in the chain of what is kept of the retired: see spill.go
	OverwrittenSince                             // overwritten, by one that has left memory since the key is unordered
	Tombstone                                    // a delete left it
	Nothing                                      // what deletes leave in an emptied key
	Unrecorded                                   // no known transaction that counts wrote it, and one without a record may have: it names no version
	Twofold                                      // of a list: a read showed it twice
	WasThere                                     // taken as older than the first record, until a possible writer came
	Overtaken                                    // perhaps overwritten by a transaction that ran beside its writer and has left memory
	OfAnotherColumn                              // no record wrote it here, and one may have at another column: see causes/columns.go
	BehindOwn                                    // of a list: somebody appended it behind an element of his own

	// Old says that a transaction that has left memory replaced the version, or may have.
	Old = Overwritten | Overtaken
)

// Version is one value of a key, 88 bytes, what registers need first.
type Version struct {
	Hash     event.Hash
	Key      uint32
	Flags    VersionFlags
	Writer   uint32 // the one counted writer, 0 if none or ambiguous
	Writes   uint32 // list of write records, all outcomes
	Readers  uint32 // list of reader records, latest first: see OlderReader
	Oldest   uint32 // the last of them
	Over     uint32 // registers: list of the write records that overwrote it
	Possible uint32 // write records that did not abort
	Due      uint32 // entries of the absence queue that name it
	Open     OpenRead
	Prefix   uint64 // lists: hash of the list up to and including this element
	Prev     uint32 // lists: the element before
	Next     uint32 // lists: the element behind
	Sibling  uint32 // chain of unplaced, or of kept
	SibPrev  uint32 // back link in that chain
	Witness  uint32 // lists: the transaction whose read placed it
	Index    uint32 // lists: position in the spine, from 1
}

// Write links a transaction to a version that it wrote. A register write that was installed overwrote
// Pred. That is the version that the transaction read. For a blind write, Pred is the initial version,
// since all other versions come after the initial one.
type Write struct {
	Txn, Version uint32
	NextOfTxn    uint32 // in the transaction's list, latest first
	PrevOfTxn    uint32
	NextOfVer    uint32 // in the version's list, latest first
	PrevOfVer    uint32
	Pred         uint32
	NextOver     uint32 // in Pred's list of overwriting write records, latest first
	PrevOver     uint32
	Op           uint32
	Intermediate bool
	Blind        bool
	Unread       bool // the transaction had not read the key, and did not insert
	Absent       bool // it had found nothing there, or inserted
}

// Reader links a transaction to the version that its first external read of a
// key saw.
type Reader struct {
	Txn, Version uint32
	Newer, Older uint32 // in the version's list; Older is void for the oldest one
	NextOfTxn    uint32
	Op           uint32
	Overwrote    bool // the transaction installed a next version as well
	Again        bool // a later operation of the transaction saw it as well
	Reread       bool // the transaction had seen another version before
	How          howRead
}

type howRead uint8

const (
	Surely  howRead = iota // it read what the writer left
	Named                  // its write says that it replaced the version, and it had read another version
	Perhaps                // it may have found the value before the writer left it: see causes/stood.go
)

// Start makes the rows with the number 0, which are nobody's.
func (s *Ledger) Start(o Options) {
	s.Txns = make([]Txn, 1)
	s.Keys = make([]Key, 1)
	s.Versions = make([]Version, 1)
	s.Writes = make([]Write, 1)
	s.Readers = make([]Reader, 1)
	s.Sessions = make([]Session, 1)
	s.BegunRetired = math.MinInt64 / 2
	s.SetRowOptions(o)
}

// SetRowOptions is SetOptions for the rows.
func (s *Ledger) SetRowOptions(o Options) {
	s.Opt = o.withDefaults()
	s.Opt.Ordered = o.NumericVersions || o.TrustCommitTS || o.Partly()
}

// NewTxn makes a transaction, and returns its number.
func (s *Ledger) NewTxn() uint32 {
	s.Gen++
	if id, ok := s.Free.Txns.Take(); ok {
		s.Txns[id] = Txn{Gen: s.Gen}
		return id
	}
	s.Txns = flat.Push(s.Txns, Txn{Gen: s.Gen})
	return uint32(len(s.Txns) - 1)
}

// NewVersion makes a version of k with this value. The caller enters it into ByVersion if it is to be found.
func (s *Ledger) NewVersion(k uint32, h event.Hash) uint32 {
	id, ok := s.Free.Versions.Take()
	if !ok {
		id = uint32(len(s.Versions))
		s.Versions = flat.Push(s.Versions, Version{})
	}
	v := &s.Versions[id]
	v.Key, v.Hash = k, h
	s.Keys[k].Count++
	return id
}

// VersionHash is the hash of a version of k with this value, as ByVersion has it.
func VersionHash(k uint32, h event.Hash) uint64 {
	return (h.Lo ^ uint64(k)) * 0x9e3779b97f4a7c15
}

// LookupVersion finds the version of k with this value, 0 if there is none.
func (s *Ledger) LookupVersion(k uint32, h event.Hash) uint32 {
	x := &s.ByVersion
	i, mask, fp := x.Start(VersionHash(k, h))
	for x.Slots[i] != 0 {
		if slot := x.Slots[i]; uint32(slot>>32) == fp {
			if v := &s.Versions[uint32(slot)]; v.Hash == h && v.Key == k {
				return uint32(slot)
			}
		}
		i = (i + 1) & mask
	}
	return 0
}

// InternVersion finds or makes the version of k with this value.
func (s *Ledger) InternVersion(k uint32, h event.Hash) uint32 {
	if v := s.LookupVersion(k, h); v != 0 {
		return v
	}
	v := s.NewVersion(k, h)
	s.ByVersion.Insert(VersionHash(k, h), v)
	return v
}

// LookupTxn is the transaction with this id, 0 if it is not in memory.
func (s *Ledger) LookupTxn(id event.Hash) uint32 {
	x := &s.ByID
	i, mask, fp := x.Start(id.Lo)
	for x.Slots[i] != 0 {
		if slot := x.Slots[i]; uint32(slot>>32) == fp && s.Txns[uint32(slot)].Id == id {
			return uint32(slot)
		}
		i = (i + 1) & mask
	}
	return 0
}

// AddWrite links t to v, which its operation op wrote.
func (s *Ledger) AddWrite(t, v, op uint32) uint32 {
	id, ok := s.Free.Writes.Take()
	if !ok {
		id = uint32(len(s.Writes))
		s.Writes = flat.Push(s.Writes, Write{})
	}
	w := &s.Writes[id]
	*w = Write{}
	w.Txn, w.Version, w.Op = t, v, op
	w.NextOfTxn, w.NextOfVer = s.Txns[t].Writes, s.Versions[v].Writes
	if next := w.NextOfTxn; next != 0 {
		s.Writes[next].PrevOfTxn = id
	}
	if next := w.NextOfVer; next != 0 {
		s.Writes[next].PrevOfVer = id
	}
	s.Txns[t].Writes, s.Versions[v].Writes = id, id
	return id
}

// AddReader links n to v, which its operation op read, and counts the read.
func (s *Ledger) AddReader(n, v, op uint32) uint32 {
	id, ok := s.Free.Readers.Take()
	if !ok {
		id = uint32(len(s.Readers))
		s.Readers = flat.Push(s.Readers, Reader{})
	}
	r, t, x := &s.Readers[id], &s.Txns[n], &s.Versions[v]
	r.Txn, r.Version, r.Op = n, v, op
	r.Newer, r.Older, r.NextOfTxn = 0, x.Readers, t.Reads
	r.Overwrote, r.Again, r.Reread, r.How = false, false, false, Surely
	if x.Readers != 0 {
		s.ReadCounts.Settle(s, v)
		s.Readers[x.Readers].Newer = id
	} else {
		x.Open, x.Oldest = s.OpenBy(v), id
	}
	t.Reads, x.Readers = id, id
	s.ReadCounts.Total++
	s.ReadCounts.Open[x.Open]++
	return id
}

// OlderReader is the reader record behind r in its version's list, 0 if there is
// none.
func (s *Ledger) OlderReader(r uint32) uint32 {
	x := &s.Readers[r]
	if s.Versions[x.Version].Oldest == r {
		return 0
	}
	return x.Older
}

// DropReader unlinks r from its version and frees it; the transaction's list is
// the caller's. Mostly it is the oldest one, and no other record is touched.
func (s *Ledger) DropReader(id uint32) {
	r := &s.Readers[id]
	v := &s.Versions[r.Version]
	switch {
	case v.Oldest != id && v.Readers != id:
		s.Readers[r.Newer].Older = r.Older
		s.Readers[r.Older].Newer = r.Newer
	case v.Oldest != id:
		v.Readers = r.Older
		s.Readers[r.Older].Newer = 0
	case v.Readers != id:
		v.Oldest = r.Newer
	default:
		v.Readers, v.Oldest = 0, 0
	}
	*r = Reader{}
	s.Free.Readers.Give(id)
}

// Pin holds on to the record and the number of t, if t is not 0.
func (s *Ledger) Pin(t uint32) {
	if t != 0 {
		s.Txns[t].Pins++
	}
}

// Unpin undoes one Pin. It frees t if nothing else holds on to it.
func (s *Ledger) Unpin(t uint32) {
	if t == 0 {
		return
	}
	s.Txns[t].Pins--
	s.Release(t)
}

// Release frees t when it left every order and nothing needs it any more.
func (s *Ledger) Release(t uint32) {
	x := &s.Txns[t]
	if x.Flags&Retired == 0 || x.Pins > 0 || x.Due > 0 || x.Writes != 0 {
		return
	}
	if x.Away > 0 {
		s.Linger(t)
		return
	}
	if x.Flags&Stored != 0 {
		s.Bury(x)
	}
	if x.Id != (event.Hash{}) {
		s.ByID.Remove(x.Id.Lo, t)
		s.Ids.Add(x.Id.Lo, x.Content, x.Flags&Unknown != 0)
		s.Greatest = max(s.Greatest, x.End)
	}
	s.Records.Drop(x.Record)
	*x = Txn{}
	s.Free.Txns.Give(t)
}

// GiveEdge gives an edge, where both ends are known.
func (s *Ledger) GiveEdge(from, to uint32, label Label, version, witness uint32) {
	if from == to || from == 0 || to == 0 || label&s.Opt.Labels == 0 {
		return
	}
	o := s.Out
	k := len(o.Edges)
	if k == cap(o.Edges) {
		o.growEdges()
	}
	o.Edges = o.Edges[:k+1]
	// Field by field: a composite value would be built aside in narrow stores and copied by
	// wide loads. The loads wait until the stores have reached the cache.
	e := &o.Edges[k]
	e.From, e.To, e.Label, e.Version, e.Witness = from, to, label, version, witness
}

//go:noinline
func (o *Out) growEdges() { o.Edges = slices.Grow(o.Edges, 64) }

// Report gives out an anomaly. Until the next step begins, it holds on to what the anomaly names.
func (s *Ledger) Report(a Anomaly) {
	if accuses(a.Kind) && (s.Txns[a.A].Flags|s.Txns[a.B].Flags)&Overruled != 0 {
		return // another record of A or B came too late, and a finding tells that
	}
	if a.Version != 0 {
		a.Value = s.KeyOfValue(a.Version)
	}
	for _, v := range []uint32{a.Version, a.Other} {
		if v != 0 {
			s.Versions[v].Due++
			s.HeldVersions = append(s.HeldVersions, v)
		}
	}
	for _, n := range []uint32{a.A, a.B} {
		if n != 0 {
			s.Pin(n)
			s.Held = append(s.Held, n)
		}
	}
	s.Out.Anomalies = append(s.Out.Anomalies, a)
}

// Saw says whether the transaction read the version, and no other one of the key before.
func (r *Reader) Saw() bool { return !r.Reread && r.How != Named }

// Expected is how much is to come.
type Expected struct{ Txns, Versions, Writes, Readers int }

// Expect makes room for what is to come, so that arrays do not grow by copying.
func (s *Ledger) Expect(x Expected) {
	s.Txns = flat.Room(s.Txns, len(s.Txns)+x.Txns)
	s.Versions = flat.Room(s.Versions, len(s.Versions)+x.Versions)
	s.Writes = flat.Room(s.Writes, len(s.Writes)+x.Writes)
	s.Readers = flat.Room(s.Readers, len(s.Readers)+x.Readers)
	s.ByID.expect(x.Txns)
	s.ByVersion.expect(x.Versions)
}

// expect makes room for n more.
func (x *Index) expect(n int) {
	slots := max(16, len(x.Slots))
	for 4*(x.Used+n+1) > slots {
		slots *= 2
	}
	if slots > len(x.Slots) {
		x.resize(slots)
	}
}
