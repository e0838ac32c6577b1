package infer

import (
	"errors"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// The state kept of retired transactions (docs/proofs.md, section 8) grows with the keys that a source
// ever had. Beyond a cap, cold state goes out. Each key, session, and retired transaction that these
// name is one record. The record comes back, exactly as it was, before a transaction that touches it is
// added.
//
// A key is cold when only the frozen state is left of it. Every version is the initial one, in
// the list's spine, unplaced or kept. No live transaction wrote, read, showed or asks about
// one. No transaction of unknown outcome names the key, since it may touch its keys later.
// key.count lets one see that from the rest. It counts all versions, and once more for each
// operation of an unknown transaction that has not left.
//
// The hand of a clock goes around over the keys: a key that was used since it last came by
// stays. Use is a bit that interning sets in a line that it has loaded.
//
// A retired transaction is kept while something in memory pins it. When the last pin goes while
// records on disk still name it (txn.away), it lingers, and goes out itself in a later step.

// RecordKind is the kind of object that a record is about.
type RecordKind uint8

// Kinds of records.
const (
	KeyRecord RecordKind = iota + 1
	TxnRecord
	SessionRecord
)

// Ref names a record: a key, transaction or session by its hash, with the epoch's hash in it.
type Ref struct {
	Kind RecordKind
	Hash event.Hash
}

// spill is the state of what is out.
type spill struct {
	out       bloomFilter // what may be out
	hand      uint32      // the key looked at last
	sessHand  uint32      // the session looked at last
	txnHand   uint32      // the transaction whose record was looked at last
	nameHand  uint32      // the key or session whose name was looked at last
	keys      int64       // out
	txns      int64
	sessions  int64
	returned  int64 // records that came back
	lingering []lingering
	ready     int // of lingering: the entries from before this step
	// dead are ids of transactions that came back and have left for good: their
	// records are of no use from the next step on.
	dead   []dead
	doomed int // of dead: the entries from before this step

	// Scratch.
	made     int // keys and sessions, in the step in work
	group    []uint32
	unsure   []unsure
	versions []uint32
	txnsOf   []uint32
	batch    event.Batch
}

// dead is a record that is of no use any more.
type dead struct {
	id    event.Hash
	bytes int64 // of the record, at most
}

// maxSpilledVersions bounds a record: a key with more versions stays.
const maxSpilledVersions = 1024

// recordVersion is the version of the records of retired state that are written. oldestRecord
// is the first one that is read. A release reads the records of the one before it.
//
//	5  transactions have all their flags
const (
	recordVersion = 5
	oldestRecord  = 4
)

// ErrRecord: a record of the store is not what was written.
var ErrRecord = errors.New("record of retired state is damaged")

func (s *registers) newKey(h event.Hash, name []byte) uint32 {
	k, ok := s.free.keys.Take()
	if !ok {
		k = uint32(len(s.keys))
		s.keys = flat.Push(s.keys, key{})
	}
	s.spill.made++
	s.keys[k] = key{hash: h, name: s.names.put(name), flags: used}
	s.signs.stood.forget(k)
	s.byKey.insert(h.Lo, k)
	s.enterPattern(k, name)
	return k
}

// lookupKey is the key with this hash, 0 if it is not in memory.
func (s *ledger) lookupKey(h event.Hash) uint32 {
	x := &s.byKey
	i, mask, fp := x.start(h.Lo)
	for x.slots[i] != 0 {
		if slot := x.slots[i]; uint32(slot>>32) == fp && s.keys[uint32(slot)].hash == h {
			return uint32(slot)
		}
		i = (i + 1) & mask
	}
	return 0
}

// hold keeps the keys of a transaction of unknown outcome in memory: it may be
// counted, and taken back, long after it came.
func (s *memory) hold(b *event.Batch, t *event.Txn) {
	ops := b.OpsOf(t)
	for i := range ops {
		k := s.keyOf(b, t, &ops[i])
		s.keys[k].count++
	}
}

// leave undoes hold, and lets go of n's session.
func (s *memory) leave(n uint32) {
	x := &s.txns[n]
	if x.session != 0 {
		s.sessions[x.session].refs--
	}
	if x.flags&unknown != 0 {
		s.letGoKeys(x.record)
	}
}

func (s *memory) letGoKeys(record ref) {
	s.eachKey(s.records.get(record), func(h event.Hash) {
		if k := s.lookupKey(h); k != 0 {
			s.keys[k].count--
		}
	})
}

// KeysOfRecord calls fn with the keys of the transaction in a record that SpillTxn
// wrote, if its outcome is unknown: they come back together.
func (s *memory) KeysOfRecord(record []byte, fn func(event.Hash)) error {
	x, rest, err := readTxn(record)
	if err == nil && x.flags&unknown != 0 {
		s.eachKey(rest, fn)
	}
	return err
}

// MembersOfRecord calls fn with the ids of the transactions that a record of a key
// or session names.
func MembersOfRecord(kind RecordKind, record []byte, fn func(event.Hash)) error {
	r := recordReader{b: record}
	r.version()
	r.byte() // flags, or kind
	if kind == KeyRecord {
		r.uint() // flags
	}
	r.bytes(r.uint())
	n := uint64(2) // of a session
	if kind == KeyRecord {
		n = r.uint()
	}
	for ; n > 0 && r.err == nil; n-- {
		if h := r.hash(); r.err == nil && h != (event.Hash{}) {
			fn(h)
		}
	}
	return r.err
}

// Needs calls fn with the records that adding t touches and that may be out. They are the records of
// its keys, of the rows that its ranges show, of its session, and of a transaction with its id.
func (s *memory) Needs(b *event.Batch, t *event.Txn, fn func(Ref)) {
	ops := b.OpsOf(t)
	for i := range ops {
		h := ops[i].KeyHash
		if t.Epoch.Len > 0 {
			h = s.inEpoch(b, t, h)
		}
		s.needKey(h, fn)
		if ops[i].Kind == event.Range {
			x := &b.Extras[ops[i].Extra]
			for _, r := range b.Rows[x.FirstRow : x.FirstRow+x.NumRows] {
				s.needKey(s.inEpoch(b, t, r.KeyHash), fn)
			}
		}
	}
	if t.Session.Len > 0 {
		if h := s.inEpoch(b, t, t.SessionHash); s.lookupSession(h) == 0 {
			s.need(Ref{SessionRecord, h}, fn)
		}
	}
	s.NeedTxn(s.inEpoch(b, t, t.IDHash), fn)
}

func (s *memory) needKey(h event.Hash, fn func(Ref)) {
	if s.lookupKey(h) == 0 {
		s.need(Ref{KeyRecord, h}, fn)
	}
}

// NeedTxn calls fn with the transaction, unless it is in memory; with the keys of one
// of unknown outcome that lingers there.
func (s *memory) NeedTxn(h event.Hash, fn func(Ref)) {
	n := s.lookupTxn(h)
	if n == 0 {
		s.need(Ref{TxnRecord, h}, fn)
	} else if x := &s.txns[n]; x.away > 0 && x.flags&unknown != 0 {
		s.eachKey(s.records.get(x.record), func(h event.Hash) { s.needKey(h, fn) })
	}
}

// NeedKey calls fn with the key, unless it is in memory.
func (s *memory) NeedKey(h event.Hash, fn func(Ref)) { s.needKey(h, fn) }

func (s *memory) need(r Ref, fn func(Ref)) {
	if !s.spill.out.has(r) {
		return
	}
	if r.Kind == TxnRecord {
		for i := range s.spill.dead {
			if s.spill.dead[i].id == r.Hash {
				return
			}
		}
	}
	fn(r)
}

// eachKey calls fn with the hash of the key of every operation in a compact
// record.
func (s *ledger) eachKey(record []byte, fn func(event.Hash)) {
	b := &s.spill.batch
	b.Reset()
	if err := s.decoder.DecodeRecord(b, event.Position{}, record); err != nil {
		return // not possible: the record was written by AppendRecord
	}
	t := &b.Txns[0]
	ops := b.OpsOf(t)
	for i := range ops {
		fn(s.inEpoch(b, t, ops[i].KeyHash))
	}
}

// keptHead is where the chain of kept versions of k begins: in a field that its
// kind does not use otherwise.
func (s *ledger) keptHead(k uint32) *uint32 {
	if x := &s.keys[k]; x.kind == event.List {
		return &x.lastBlind
	} else {
		return &x.unplaced
	}
}

// keep links v, whose writers have retired, into its key's chain of kept
// versions, unless it is in another chain of the key.
func (s *registers) keep(v uint32) {
	if x := &s.versions[v]; x.key != 0 && x.flags&notKept == 0 && s.gone(v) {
		s.chain(v)
	}
}

// notKept are the flags of versions that keep passes by.
const notKept = kept | initialVersion | placed | inUnplaced

func (s *registers) chain(v uint32) {
	x := &s.versions[v]
	head := s.keptHead(x.key)
	x.flags |= kept
	if next := *head; next != 0 { // otherwise neither's second half is touched
		y := &s.versions[next]
		x.sibling, y.sibPrev = next, v
		x.flags |= chained
		y.flags |= chained
	}
	*head = v
}

func (s *orders) unkeep(v uint32) {
	x := &s.versions[v]
	if x.flags&chained == 0 {
		*s.keptHead(x.key) = 0
		x.flags &^= kept
		return
	}
	if x.sibPrev != 0 {
		s.versions[x.sibPrev].sibling = x.sibling
	} else {
		*s.keptHead(x.key) = x.sibling
	}
	if x.sibling != 0 {
		s.versions[x.sibling].sibPrev = x.sibPrev
	}
	x.sibling, x.sibPrev = 0, 0
	x.flags &^= kept | chained
}

// Spilled says whether anything may be out.
func (s *memory) Spilled() bool { return s.spill.out.used > 0 }

// KeysInMemory is the number of keys that are not out.
func (s *ledger) KeysInMemory() int { return len(s.keys) - 1 - s.free.keys.Len() }

// Made is how many keys and sessions were made, or came back, in this step.
func (s *memory) Made() int { return s.spill.made }

// KeySlots is how many keys the hand passes in a round.
func (s *memory) KeySlots() int { return len(s.keys) - 1 }

// SessionSlots is how many sessions the hand passes in a round.
func (s *memory) SessionSlots() int { return len(s.sessions) - 1 }

// SessionsInMemory is the number of sessions that are not out.
func (s *memory) SessionsInMemory() int { return len(s.sessions) - 1 - s.free.sessions.Len() }

// EndStep ends a step: what was put off in it may go out in the next one.
func (s *memory) EndStep() {
	s.spill.ready, s.spill.doomed, s.spill.made = len(s.spill.lingering), len(s.spill.dead), 0
}

// SpillSizes say how much is out.
type SpillSizes struct {
	Keys        int64 `json:"keys"` // out
	Txns        int64 `json:"txns"`
	Sessions    int64 `json:"sessions"`
	Returned    int64 `json:"returned"` // records that came back, since the beginning
	FilterBytes int64 `json:"filter_bytes"`
}

// SpillSizes of the state. O(1).
func (s *memory) SpillSizes() SpillSizes {
	p := &s.spill
	return SpillSizes{p.keys, p.txns, p.sessions, p.returned, p.out.bytes()}
}

// EachDead calls fn with the names of transactions' records that have become useless since the
// last step, with the largest size that they can have. It forgets them.
func (s *memory) EachDead(fn func(ref Ref, bytes int)) {
	for _, d := range s.spill.dead[:s.spill.doomed] {
		fn(Ref{TxnRecord, d.id}, int(d.bytes))
	}
	s.spill.dead = append(s.spill.dead[:0], s.spill.dead[s.spill.doomed:]...)
	s.spill.doomed = 0
}

// maxGroup bounds the keys that go out together.
const maxGroup = 1024

// KeyOf is the key that v is a version of.
func (s *memory) KeyOf(v uint32) uint32 { return s.versions[v].key }

// SpillKey appends the record of k, which ColdKeys gave, to dst and forgets k. It
// returns nil for a key that is as if it had never been met: none is needed.
func (s *memory) SpillKey(dst []byte, k uint32) (Ref, []byte) {
	s.cold(k) // finds its versions
	ref := Ref{KeyRecord, s.keys[k].hash}
	if s.trivial(k) {
		dst = nil
	} else {
		dst = s.appendKey(dst, k)
		s.spill.out.add(ref)
		s.spill.keys++
	}
	s.forgetKey(k)
	return ref, dst
}

// MayBeOut says whether a record with this name may be on disk.
func (s *memory) MayBeOut(r Ref) bool { return s.spill.out.has(r) }

// trivial says whether k is as if it had never been met.
func (s *memory) trivial(k uint32) bool {
	x := &s.keys[k]
	return x.count == 1 && x.flags&^used == 0 && x.kind == event.AnyKind &&
		s.versions[x.initial].flags == initialVersion|placed && s.versions[x.initial].over == 0
}

// forgetKey frees k, which is cold, with its versions. Transactions that it names may go out in
// a later step.
func (s *memory) forgetKey(k uint32) {
	x := &s.keys[k]
	members := s.spill.txnsOf[:0]
	for _, v := range s.spill.versions {
		y := &s.versions[v]
		for id := y.writes; id != 0; {
			w := s.writes[id]
			s.unlinkFromTxn(id)
			t := &s.txns[w.txn]
			t.pins--
			t.away++
			members = append(members, w.txn)
			s.writes[id] = write{}
			s.free.writes.Give(id)
			id = w.nextOfVer
		}
		if n := y.witness; n != 0 {
			s.txns[n].pins--
			s.txns[n].away++
			members = append(members, n)
		}
		if y.flags&initialVersion == 0 {
			s.byVersion.remove(versionHash(k, y.hash), v)
		}
		*y = version{}
		s.free.versions.Give(v)
		s.freed++
	}
	s.byKey.remove(x.hash.Lo, k)
	s.names.drop(x.name)
	*x = key{}
	s.free.keys.Give(k)
	for _, n := range members {
		if s.txns[n].state != free {
			s.release(n)
		}
	}
	s.spill.txnsOf = members
}
