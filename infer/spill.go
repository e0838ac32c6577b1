package infer

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// What is kept of retired transactions (docs/semantics.md, section 8) grows with
// the keys that a source ever had. Beyond a cap, what is cold goes out as one
// record a key, a session and a retired transaction that these name, and comes
// back, exactly as it was, before a transaction that touches it is added.
//
// A key is cold when only the frozen state is left of it: every version is the
// initial one, in the list's spine, unplaced or kept, nobody live wrote, read,
// showed or asks about one, and no transaction of unknown outcome, which may
// touch its keys later, names the key. key.count makes that a matter of looking
// at what is left: it counts all versions, and once more for each operation of
// an unknown transaction that has not left.
//
// The hand of a clock goes around over the keys: what was used since it came by
// last stays. Use is a bit that interning sets in a line that it has loaded.
//
// A retired transaction is kept while something in memory pins it. When the last
// pin goes while what is out still names it (txn.away), it lingers, and goes out
// itself in a later step.

// RecordKind is what a record is about.
type RecordKind uint8

// Kinds of records.
const (
	KeyRecord RecordKind = iota + 1
	TxnRecord
	SessionRecord
)

// Ref names a record: a key, transaction or session by its hash, that of its
// epoch in it.
type Ref struct {
	Kind RecordKind
	Hash event.Hash
}

// spill is the state of what is out.
type spill struct {
	out       sketch // what may be out
	hand      uint32 // the key looked at last
	sessHand  uint32 // the session looked at last
	txnHand   uint32 // the transaction whose record was looked at last
	nameHand  uint32 // the key or session whose name was looked at last
	keys      int64  // out
	txns      int64
	sessions  int64
	returned  int64 // records that came back
	lingering []lingering
	ready     int // of lingering: those from before this step
	// dead are ids of transactions that came back and have left for good: their
	// records are of no use from the next step on.
	dead   []dead
	doomed int // of dead: those from before this step

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

// lingering is a retired transaction that nothing in memory needs.
type lingering struct{ txn, gen uint32 }

// maxSpilledVersions bounds a record: a key with more versions stays.
const maxSpilledVersions = 1024

const recordVersion = 2

// ErrRecord: a record of the store is not what was written.
var ErrRecord = errors.New("record of retired state is damaged")

func (s *State) newKey(h event.Hash, name []byte) uint32 {
	k, ok := s.freeKeys.Take()
	if !ok {
		k = uint32(len(s.keys))
		s.keys = flat.Push(s.keys, key{})
	}
	s.spill.made++
	s.keys[k] = key{hash: h, name: s.names.put(name), flags: used}
	s.byKey.insert(h.Lo, k)
	return k
}

func (s *State) newSession(h event.Hash, name []byte) uint32 {
	id, ok := s.freeSessions.Take()
	if !ok {
		id = uint32(len(s.sessions))
		s.sessions = append(s.sessions, session{})
	}
	s.spill.made++
	s.sessions[id] = session{hash: h, name: s.names.put(name), flags: recent}
	s.bySession.insert(h.Lo, id)
	return id
}

// lookupKey is the key with this hash, 0 if it is not in memory.
func (s *State) lookupKey(h event.Hash) uint32 {
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

func (s *State) lookupSession(h event.Hash) uint32 {
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

// hold keeps the keys of a transaction of unknown outcome in memory: it may be
// counted, and taken back, long after it came.
func (s *State) hold(b *event.Batch, t *event.Txn) {
	ops := b.OpsOf(t)
	for i := range ops {
		k := s.keyOf(b, t, &ops[i])
		s.keys[k].count++
	}
}

// leave undoes hold, and lets go of n's session.
func (s *State) leave(n uint32) {
	x := &s.txns[n]
	if x.session != 0 {
		s.sessions[x.session].refs--
	}
	if x.flags&unknown != 0 {
		s.letGoKeys(x.record)
	}
}

func (s *State) letGoKeys(record ref) {
	s.eachKey(s.records.get(record), func(h event.Hash) {
		if k := s.lookupKey(h); k != 0 {
			s.keys[k].count--
		}
	})
}

// KeysOfRecord calls fn with the keys of the transaction in a record that SpillTxn
// wrote, if its outcome is unknown: they come back together.
func (s *State) KeysOfRecord(record []byte, fn func(event.Hash)) error {
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
		r.byte()
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

// Needs calls fn with what may be out of what adding t touches: its keys, its
// session, a transaction with its id.
func (s *State) Needs(b *event.Batch, t *event.Txn, fn func(Ref)) {
	ops := b.OpsOf(t)
	for i := range ops {
		h := ops[i].KeyHash
		if t.Epoch.Len > 0 {
			h = s.inEpoch(b, t, h)
		}
		s.needKey(h, fn)
	}
	if t.Session.Len > 0 {
		if h := s.inEpoch(b, t, t.SessionHash); s.lookupSession(h) == 0 {
			s.need(Ref{SessionRecord, h}, fn)
		}
	}
	s.NeedTxn(s.inEpoch(b, t, t.IDHash), fn)
}

func (s *State) needKey(h event.Hash, fn func(Ref)) {
	if s.lookupKey(h) == 0 {
		s.need(Ref{KeyRecord, h}, fn)
	}
}

// NeedTxn calls fn with the transaction, unless it is in memory; with the keys of one
// of unknown outcome that lingers there.
func (s *State) NeedTxn(h event.Hash, fn func(Ref)) {
	n := s.lookupTxn(h)
	if n == 0 {
		s.need(Ref{TxnRecord, h}, fn)
	} else if x := &s.txns[n]; x.away > 0 && x.flags&unknown != 0 {
		s.eachKey(s.records.get(x.record), func(h event.Hash) { s.needKey(h, fn) })
	}
}

// NeedKey calls fn with the key, unless it is in memory.
func (s *State) NeedKey(h event.Hash, fn func(Ref)) { s.needKey(h, fn) }

func (s *State) need(r Ref, fn func(Ref)) {
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
func (s *State) eachKey(record []byte, fn func(event.Hash)) {
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
func (s *State) keptHead(k uint32) *uint32 {
	if x := &s.keys[k]; x.kind == event.List {
		return &x.lastBlind
	} else {
		return &x.unplaced
	}
}

// keep links v, whose writers have retired, into its key's chain of kept
// versions, unless it is in another chain of the key.
func (s *State) keep(v uint32) {
	if x := &s.versions[v]; x.key != 0 && x.flags&notKept == 0 && s.gone(v) {
		s.chain(v)
	}
}

// notKept are the flags of versions that keep passes by.
const notKept = kept | initialVersion | placed | inUnplaced

func (s *State) chain(v uint32) {
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

func (s *State) unkeep(v uint32) {
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

// linger queues t, which nothing in memory needs and something out names.
func (s *State) linger(t uint32) {
	s.spill.lingering = append(s.spill.lingering, lingering{t, s.txns[t].gen})
}

// Spilled says whether anything may be out.
func (s *State) Spilled() bool { return s.spill.out.used > 0 }

// KeysInMemory is the number of keys that are not out.
func (s *State) KeysInMemory() int { return len(s.keys) - 1 - s.freeKeys.Len() }

// Made is how many keys and sessions were made, or came back, in this step.
func (s *State) Made() int { return s.spill.made }

// KeySlots is how many keys the hand passes in a round.
func (s *State) KeySlots() int { return len(s.keys) - 1 }

// SessionSlots is how many sessions the hand passes in a round.
func (s *State) SessionSlots() int { return len(s.sessions) - 1 }

// SessionsInMemory is the number of sessions that are not out.
func (s *State) SessionsInMemory() int { return len(s.sessions) - 1 - s.freeSessions.Len() }

// bury says that the record of x, which came back and leaves for good, is of no
// use any more.
func (s *State) bury(x *txn) {
	const most = 4096 // beside the compact record
	s.spill.dead = append(s.spill.dead, dead{x.id, int64(len(s.records.get(x.record))) + most})
}

// EndStep ends a step: what was put off in it may go out in the next one.
func (s *State) EndStep() {
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
func (s *State) SpillSizes() SpillSizes {
	p := &s.spill
	return SpillSizes{p.keys, p.txns, p.sessions, p.returned, p.out.bytes()}
}

// EachDead calls fn with the names of transactions' records that are of no use
// since the last step, and how large these are at most, and forgets them.
func (s *State) EachDead(fn func(ref Ref, bytes int)) {
	for _, d := range s.spill.dead[:s.spill.doomed] {
		fn(Ref{TxnRecord, d.id}, int(d.bytes))
	}
	s.spill.dead = append(s.spill.dead[:0], s.spill.dead[s.spill.doomed:]...)
	s.spill.doomed = 0
}

// ColdTxn is the next transaction that may go out, 0 when there is none.
func (s *State) ColdTxn() uint32 {
	p := &s.spill
	for p.ready > 0 {
		p.ready--
		l := p.lingering[p.ready]
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

// ColdKeys moves the hand on to the next key that may go out, at most the given
// number of keys, which it counts down, and returns it with those that must go
// together with it; none when there is none. pinned are keys that must stay.
func (s *State) ColdKeys(visits *int, pinned []uint32) []uint32 {
	for *visits > 0 {
		*visits--
		if s.spill.hand++; int(s.spill.hand) >= len(s.keys) {
			s.spill.hand = 1
			if len(s.keys) == 1 {
				return nil
			}
		}
		k := s.spill.hand
		x := &s.keys[k]
		if x.count == 0 {
			continue
		}
		if x.flags&used != 0 {
			x.flags &^= used
			continue
		}
		if s.coldGroup(k, pinned) {
			return s.spill.group
		}
	}
	return nil
}

// maxGroup bounds the keys that go out together.
const maxGroup = 1024

// coldGroup says whether k may go out together with all other keys of the
// transactions of unknown outcome that it names; they are then in s.spill.group.
// Whether such a transaction took effect, and what shows it, is looked up in all that
// it wrote and in those who saw it (observedSome, proofs): so these keys are in
// memory together, or out, and nothing else may hold on to the transaction, but for its
// session.
func (s *State) coldGroup(k uint32, pinned []uint32) bool {
	p := &s.spill
	p.group, p.unsure = append(p.group[:0], k), p.unsure[:0]
	for i := 0; i < len(p.group); i++ {
		g := p.group[i]
		if len(p.group) > maxGroup || s.keys[g].flags&used != 0 || contains(pinned, g) || !s.cold(g) {
			return false
		}
		for _, v := range p.versions {
			for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
				s.joinGroup(s.writes[id].txn, 0)
			}
			if n := s.versions[v].witness; n != 0 {
				s.joinGroup(n, 1)
			}
		}
	}
	for _, u := range p.unsure {
		x := &s.txns[u.txn]
		if s.sessions[x.session].unsure == u.txn {
			u.pins++ // its session's order asks for its ranks only
		}
		if x.pins != u.pins {
			return false
		}
	}
	return true
}

// unsure is a transaction of unknown outcome in a group, and what of its pins is
// known.
type unsure struct{ txn, pins uint32 }

// joinGroup adds the keys that n wrote to the group if its outcome is unknown, and
// so many pins.
func (s *State) joinGroup(n, pins uint32) {
	if s.txns[n].flags&unknown == 0 {
		return
	}
	p := &s.spill
	for i := range p.unsure {
		if p.unsure[i].txn == n {
			p.unsure[i].pins += pins
			return
		}
	}
	for id := s.txns[n].writes; id != 0 && len(p.group) <= maxGroup; id = s.writes[id].nextOfTxn {
		pins++
		if k := s.versions[s.writes[id].version].key; !contains(p.group, k) {
			p.group = append(p.group, k)
		}
	}
	p.unsure = append(p.unsure, unsure{n, pins})
}

func contains(ks []uint32, k uint32) bool {
	for _, x := range ks {
		if x == k {
			return true
		}
	}
	return false
}

// KeyOf is the key that v is a version of.
func (s *State) KeyOf(v uint32) uint32 { return s.versions[v].key }

// cold says whether k may go out; its versions are then in s.spill.versions.
func (s *State) cold(k uint32) bool {
	x := &s.keys[k]
	if x.count > maxSpilledVersions {
		return false
	}
	vs := append(s.spill.versions[:0], x.initial)
	if x.kind == event.List {
		v := x.first
		if v == x.initial {
			v = s.versions[v].next
		}
		for ; v != 0 && len(vs) <= int(x.count); v = s.versions[v].next {
			vs = append(vs, v)
		}
		for v := x.unplaced; v != 0 && len(vs) <= int(x.count); v = s.versions[v].sibling {
			vs = append(vs, v)
		}
	}
	for v := *s.keptHead(k); v != 0 && len(vs) <= int(x.count); v = s.versions[v].sibling {
		vs = append(vs, v)
	}
	s.spill.versions = vs
	if len(vs) != int(x.count) {
		return false
	}
	for _, v := range vs {
		if !s.coldVersion(v) {
			return false
		}
	}
	return true
}

func (s *State) coldVersion(v uint32) bool {
	x := &s.versions[v]
	if x.readers != 0 || x.due != 0 || x.flags&lateReaders != 0 {
		return false
	}
	for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
		if !s.coldMember(s.writes[id].txn) {
			return false
		}
	}
	return x.witness == 0 || s.coldMember(x.witness)
}

// coldMember says whether n has retired and can be named by its id.
func (s *State) coldMember(n uint32) bool {
	x := &s.txns[n]
	return x.flags&retired != 0 && x.state == counted && x.id != (event.Hash{})
}

// Unread calls fn with the transactions that appended to k what no read has
// shown, if there are several: as EachUnread does.
func (s *State) Unread(k uint32, fn func(writers []uint32)) {
	x := &s.keys[k]
	if x.kind != event.List || x.flags&unsupported != 0 || x.unplaced == 0 || s.versions[x.unplaced].sibling == 0 {
		return
	}
	writers := s.unread(k, nil)
	if len(writers) > 1 {
		fn(writers)
	}
}

// SpillKey appends the record of k, which ColdKeys gave, to dst and forgets k. It
// returns nil for a key that is as if it had never been met: none is needed.
func (s *State) SpillKey(dst []byte, k uint32) (Ref, []byte) {
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
func (s *State) MayBeOut(r Ref) bool { return s.spill.out.has(r) }

// trivial says whether k is as if it had never been met.
func (s *State) trivial(k uint32) bool {
	x := &s.keys[k]
	return x.count == 1 && x.flags&^used == 0 && x.kind == event.AnyKind &&
		s.versions[x.initial].flags == initialVersion|placed && s.versions[x.initial].over == 0
}

// forgetKey frees k, which is cold, and what it holds. What it names may go out
// in a later step.
func (s *State) forgetKey(k uint32) {
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
			s.freeWrites.Give(id)
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
		s.freeVersions.Give(v)
	}
	s.byKey.remove(x.hash.Lo, k)
	s.names.drop(x.name)
	*x = key{}
	s.freeKeys.Give(k)
	for _, n := range members {
		if s.txns[n].state != free {
			s.release(n)
		}
	}
	s.spill.txnsOf = members
}

// SpillTxn appends the record of n, which ColdTxn gave, to dst and forgets n.
func (s *State) SpillTxn(dst []byte, n uint32) (Ref, []byte) {
	x := &s.txns[n]
	ref := Ref{TxnRecord, x.id}
	dst = append(dst, recordVersion, byte(x.flags&^stored))
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
	s.freeTxns.Give(n)
	s.spill.out.add(ref)
	s.spill.txns++
	return ref, dst
}

// BringTxn takes back the transaction that SpillTxn wrote out, and returns its
// number: 0 when it is there already.
func (s *State) BringTxn(h event.Hash, record []byte) (uint32, error) {
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
	n, ok := s.freeTxns.Take()
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
	r.version()
	x.state, x.flags = counted, txnFlags(r.byte())
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

// ColdSession moves the hand on to the next session that may go out, as ColdKeys.
func (s *State) ColdSession(visits *int) uint32 {
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
func (s *State) SpillSession(dst []byte, id uint32) (Ref, []byte) {
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
		s.seqs[id] = seqSet{}
	} else {
		dst = append(dst, 0, 0)
	}
	if int(id) < len(s.seats) {
		s.seats[id] = seats{}
	}
	s.bySession.remove(x.hash.Lo, id)
	s.names.drop(x.name)
	*x = session{}
	s.freeSessions.Give(id)
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
func (s *State) BringSession(h event.Hash, record []byte) error {
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
