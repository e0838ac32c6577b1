package infer

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
	free      txnState = iota
	counted            // committed, or unknown and observed
	aborted            // kept for the reads that saw it
	tentative          // unknown, not observed so far
)

type txnFlags uint16

const (
	hasSeq txnFlags = 1 << iota
	hasTimes
	stale
	unknown   // the record's status is unknown: nothing follows from its end
	retired   // left every order
	inSession // linked in its session's list
	stored    // the transaction has a record on disk: see spill.go
	adrift    // it has no place in its session, by seq or by its own times
	overruled // a second record of the transaction came too late: see Add
	again     // it tries again what one without a record did: see attempts.go
	cameLate  // its first record came after the lateness: see CameLate
	toldLate  // its first record did not, but that with the outcome
	unheard   // its client got no answer, and the outcome became known later: the client may have tried again
)

// txn is a transaction in the slab, 128 bytes: two cache lines. Work on other transactions
// meets the first one. Numbers are reused; gen tells two users of one number apart.
type txn struct {
	start, end int64
	seq        int64
	gen        uint32
	session    uint32
	sessPrev   uint32 // in the session's list of live members
	sessNext   uint32
	writes     uint32 // list of write records
	reads      uint32 // list of reader records
	pins       uint32 // what still needs the record or the ranks: versions, witnesses, accusations
	due        uint32 // entries of the absence queue that name it
	state      txnState
	flags      txnFlags
	asked      uint32 // hash of the level that it asked for by name, 0 for none: see diverging

	id        event.Hash
	content   uint64
	record    ref
	offset    int64
	partition uint32
	sub       uint32
	away      uint32   // what is on disk and names it: see spill.go
	scans     uint32   // list of its scans: see scan.go
	unnamed   [8]uint8 // of unknown outcome: its reads that name no version, by cause from OpenNothing on
}

type keyFlags uint16

const (
	uncheckable  keyFlags = 1 << iota // its order cannot be known; counted
	unsupported                       // operations that give no dependencies, or mixed kinds: nothing is inferred
	deleted                           // a delete of the key is recorded: not found has several meanings
	hasBaseline                       // a value without a writer was taken as what was there before watching
	foundNothing                      // a read found no value
	unordered                         // its versions have several roots; counted
	used                              // since the hand of spill.go passed it last
	element                           // of a set: see scan.go
	versioned                         // its versions are told by their texts: see signs.go
	plainBefore                       // and operations named some versions by their values before
	repeats                           // its values repeat, and name no version: see signs.go
	voided                            // what rests on its values is being taken back: scratch
	deletedAgain                      // more than once
	emptied                           // nothing is a value of it that comes again: see nothing.go
	rowsApart                         // a delete without a place in the order of its versions is recorded: see rows.go
	sums                              // a counter whose operations tell versions: see counted.go
)

// loose is for counters without a recorded delete: the increments have no known order; counted.
const loose = rowsApart

// since is for lists: a frozen element was appended since those from before watching have ended.
const since = plainBefore

// key is the state of a key, 80 bytes; the fields that registers need come first. Numbers are
// reused.
type key struct {
	hash event.Hash
	// Scratch of the transaction in work.
	stamp, touch uint32
	initial      uint32 // the version before all others
	pattern      pattern.ID
	flags        keyFlags
	lastBlind    uint32 // the latest retired version that was written blindly; lists: as kept, see spill.go
	count        uint32 // versions, and what else keeps it in memory; 0: the number is free
	unplaced     uint32 // lists: appends that no read has shown, latest first; else as kept, see spill.go
	// Lists: the spine of versions in the order that reads showed.
	first, last uint32 // retained part; first is the initial version until elements are frozen
	length      uint32 // elements in the spine, frozen ones included; of no kind yet: 1 if it was read; of an element: its set
	base        uint32 // frozen elements
	kind        event.DataKind
	basePrefix  uint64 // prefix hash behind the frozen elements
	name        ref
}

type versionFlags uint32

const (
	initialVersion versionFlags = 1 << iota
	ambiguous                   // several writers that did not abort
	placed                      // in the spine
	inUnplaced
	chained // as kept, and had a neighbour in that chain
	accused // a finding says that the version has no writer, or that all its writers aborted
	baseline
	lateReaders         // read by a transaction that has retired
	unattributed        // counted as read without a writer
	overwritten         // by a transaction that is no longer kept: to read it now is to read an old state
	overwrittenByWriter // a transaction wrote it and then wrote the key again: it is an intermediate version there
	accusedOne          // a finding rests on its having exactly one writer
	seen                // a transaction that has retired read it
	seenSurely          // and its outcome was known
	kept                // in the chain of what is kept of the retired: see spill.go
	overwrittenSince    // overwritten, by one that has left memory since the key is unordered
	tombstone           // a delete left it
	nothing             // what deletes leave in an emptied key
	unrecorded          // no known transaction that counts wrote it, and one without a record may have: it names no version
	twofold             // of a list: a read showed it twice
	wasThere            // taken as older than the first record, until a possible writer came
	overtaken           // perhaps overwritten by a transaction that ran beside its writer and has left memory
	ofAnotherColumn     // no record wrote it here, and one may have at another column: see columns.go
	behindOwn           // of a list: somebody appended it behind an element of his own

	old = overwritten | overtaken
)

// version is one value of a key, 88 bytes, what registers need first.
type version struct {
	hash     event.Hash
	key      uint32
	flags    versionFlags
	writer   uint32 // the one counted writer, 0 if none or ambiguous
	writes   uint32 // list of write records, all outcomes
	readers  uint32 // list of reader records, latest first: see olderReader
	oldest   uint32 // the last of them
	over     uint32 // registers: list of the write records that overwrote it
	possible uint32 // write records that did not abort
	due      uint32 // entries of the absence queue that name it
	open     OpenRead
	prefix   uint64 // lists: hash of the list up to and including this element
	prev     uint32 // lists: the element before
	next     uint32 // lists: the element behind
	sibling  uint32 // chain of unplaced, or of kept
	sibPrev  uint32 // back link in that chain
	witness  uint32 // lists: the transaction whose read placed it
	index    uint32 // lists: position in the spine, from 1
}

// write links a transaction to a version that it wrote. A register write that was installed overwrote
// pred. That is the version that the transaction read. For a blind write, pred is the initial version,
// since all other versions come after the initial one.
type write struct {
	txn, version uint32
	nextOfTxn    uint32 // in the transaction's list, latest first
	prevOfTxn    uint32
	nextOfVer    uint32 // in the version's list, latest first
	prevOfVer    uint32
	pred         uint32
	nextOver     uint32 // in pred's list of overwriting write records, latest first
	prevOver     uint32
	op           uint32
	intermediate bool
	blind        bool
	unread       bool // the transaction had not read the key, and did not insert
	absent       bool // it had found nothing there, or inserted
}

// reader links a transaction to the version that its first external read of a
// key saw.
type reader struct {
	txn, version uint32
	newer, older uint32 // in the version's list; older is void for the oldest one
	nextOfTxn    uint32
	op           uint32
	overwrote    bool // the transaction installed a next version as well
	again        bool // a later operation of the transaction saw it as well
	reread       bool // the transaction had seen another version before
	how          howRead
}

type howRead uint8

const (
	surely  howRead = iota // it read what the writer left
	named                  // its write says that it replaced the version, and it had read another version
	perhaps                // it may have found the value before the writer left it: see stood.go
)

// start makes the rows with the number 0, which are nobody's.
func (s *ledger) start(o Options) {
	s.txns = make([]txn, 1)
	s.keys = make([]key, 1)
	s.versions = make([]version, 1)
	s.writes = make([]write, 1)
	s.readers = make([]reader, 1)
	s.sessions = make([]session, 1)
	s.begunRetired = math.MinInt64 / 2
	s.setOptions(o)
}

// setOptions is SetOptions for the rows.
func (s *ledger) setOptions(o Options) {
	s.opt = o.withDefaults()
	s.opt.Ordered = o.NumericVersions || o.TrustCommitTS || o.partly()
}

func (s *ledger) newTxn() uint32 {
	s.gen++
	if id, ok := s.free.txns.Take(); ok {
		s.txns[id] = txn{gen: s.gen}
		return id
	}
	s.txns = flat.Push(s.txns, txn{gen: s.gen})
	return uint32(len(s.txns) - 1)
}

func (s *ledger) newVersion(k uint32, h event.Hash) uint32 {
	id, ok := s.free.versions.Take()
	if !ok {
		id = uint32(len(s.versions))
		s.versions = flat.Push(s.versions, version{})
	}
	v := &s.versions[id]
	v.key, v.hash = k, h
	s.keys[k].count++
	return id
}

func versionHash(k uint32, h event.Hash) uint64 {
	return (h.Lo ^ uint64(k)) * 0x9e3779b97f4a7c15
}

// versionHashInverse takes the multiplication of versionHash back: their product is
// 1 modulo 2^64.
const versionHashInverse = 0xf1de83e19937733d

// lookupVersion finds the version of k with this value, 0 if there is none.
func (s *ledger) lookupVersion(k uint32, h event.Hash) uint32 {
	x := &s.byVersion
	i, mask, fp := x.start(versionHash(k, h))
	for x.slots[i] != 0 {
		if slot := x.slots[i]; uint32(slot>>32) == fp {
			if v := &s.versions[uint32(slot)]; v.hash == h && v.key == k {
				return uint32(slot)
			}
		}
		i = (i + 1) & mask
	}
	return 0
}

// internVersion finds or makes the version of k with this value.
func (s *ledger) internVersion(k uint32, h event.Hash) uint32 {
	if v := s.lookupVersion(k, h); v != 0 {
		return v
	}
	v := s.newVersion(k, h)
	s.byVersion.insert(versionHash(k, h), v)
	return v
}

// internKey finds or makes the key with this name.
func (s *registers) internKey(h event.Hash, name []byte) uint32 {
	x := &s.byKey
	i, mask, fp := x.start(h.Lo)
	for x.slots[i] != 0 {
		if slot := x.slots[i]; uint32(slot>>32) == fp {
			if k := &s.keys[uint32(slot)]; k.hash == h {
				k.flags |= used
				return uint32(slot)
			}
		}
		i = (i + 1) & mask
	}
	k := s.newKey(h, name)
	v := s.newVersion(k, event.Hash{})
	s.versions[v].flags = initialVersion | placed
	s.keys[k].initial, s.keys[k].first, s.keys[k].last = v, v, v
	return k
}

func (s *ledger) lookupTxn(id event.Hash) uint32 {
	x := &s.byID
	i, mask, fp := x.start(id.Lo)
	for x.slots[i] != 0 {
		if slot := x.slots[i]; uint32(slot>>32) == fp && s.txns[uint32(slot)].id == id {
			return uint32(slot)
		}
		i = (i + 1) & mask
	}
	return 0
}

func (s *ledger) addWrite(t, v, op uint32) uint32 {
	id, ok := s.free.writes.Take()
	if !ok {
		id = uint32(len(s.writes))
		s.writes = flat.Push(s.writes, write{})
	}
	w := &s.writes[id]
	*w = write{}
	w.txn, w.version, w.op = t, v, op
	w.nextOfTxn, w.nextOfVer = s.txns[t].writes, s.versions[v].writes
	if next := w.nextOfTxn; next != 0 {
		s.writes[next].prevOfTxn = id
	}
	if next := w.nextOfVer; next != 0 {
		s.writes[next].prevOfVer = id
	}
	s.txns[t].writes, s.versions[v].writes = id, id
	return id
}

func (s *ledger) addReader(n, v, op uint32) uint32 {
	id, ok := s.free.readers.Take()
	if !ok {
		id = uint32(len(s.readers))
		s.readers = flat.Push(s.readers, reader{})
	}
	r, t, x := &s.readers[id], &s.txns[n], &s.versions[v]
	r.txn, r.version, r.op = n, v, op
	r.newer, r.older, r.nextOfTxn = 0, x.readers, t.reads
	r.overwrote, r.again, r.reread, r.how = false, false, false, surely
	if x.readers != 0 {
		s.reads.settle(s, v)
		s.readers[x.readers].newer = id
	} else {
		x.open, x.oldest = s.openBy(v), id
	}
	t.reads, x.readers = id, id
	s.reads.Total++
	s.reads.Open[x.open]++
	return id
}

// olderReader is the reader record behind r in its version's list, 0 if there is
// none.
func (s *ledger) olderReader(r uint32) uint32 {
	x := &s.readers[r]
	if s.versions[x.version].oldest == r {
		return 0
	}
	return x.older
}

// dropReader unlinks r from its version and frees it; the transaction's list is
// the caller's. Mostly it is the oldest one, and no other record is touched.
func (s *ledger) dropReader(id uint32) {
	r := &s.readers[id]
	v := &s.versions[r.version]
	switch {
	case v.oldest != id && v.readers != id:
		s.readers[r.newer].older = r.older
		s.readers[r.older].newer = r.newer
	case v.oldest != id:
		v.readers = r.older
		s.readers[r.older].newer = 0
	case v.readers != id:
		v.oldest = r.newer
	default:
		v.readers, v.oldest = 0, 0
	}
	*r = reader{}
	s.free.readers.Give(id)
}

func (s *ledger) pin(t uint32) {
	if t != 0 {
		s.txns[t].pins++
	}
}

func (s *ledger) unpin(t uint32) {
	if t == 0 {
		return
	}
	s.txns[t].pins--
	s.release(t)
}

// release frees t when it left every order and nothing needs it any more.
func (s *ledger) release(t uint32) {
	x := &s.txns[t]
	if x.flags&retired == 0 || x.pins > 0 || x.due > 0 || x.writes != 0 {
		return
	}
	if x.away > 0 {
		s.linger(t)
		return
	}
	if x.flags&stored != 0 {
		s.bury(x)
	}
	if x.id != (event.Hash{}) {
		s.byID.remove(x.id.Lo, t)
		s.ids.add(x.id.Lo, x.content, x.flags&unknown != 0)
		s.greatest = max(s.greatest, x.end)
	}
	s.records.drop(x.record)
	*x = txn{}
	s.free.txns.Give(t)
}

// begin starts a step: what the last one handed out may go now.
func (s *registers) begin(out *Out) {
	s.out = out
	clear(s.partial.again)
	for len(s.held) > 0 {
		n := s.held[len(s.held)-1]
		s.held = s.held[:len(s.held)-1]
		s.unpin(n)
	}
	for len(s.heldVersions) > 0 {
		v := s.heldVersions[len(s.heldVersions)-1]
		s.heldVersions = s.heldVersions[:len(s.heldVersions)-1]
		s.versions[v].due--
		s.dropIfUnused(v)
	}
}

// edge gives an edge, where both ends are known.
func (s *ledger) edge(from, to uint32, label Label, version, witness uint32) {
	if from == to || from == 0 || to == 0 || label&s.opt.Labels == 0 {
		return
	}
	o := s.out
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

func (s *ledger) anomaly(a Anomaly) {
	if accuses(a.Kind) && (s.txns[a.A].flags|s.txns[a.B].flags)&overruled != 0 {
		return // another record of A or B came too late, and a finding tells that
	}
	if a.Version != 0 {
		a.Value = s.valueKey(a.Version)
	}
	for _, v := range []uint32{a.Version, a.Other} {
		if v != 0 {
			s.versions[v].due++
			s.heldVersions = append(s.heldVersions, v)
		}
	}
	for _, n := range []uint32{a.A, a.B} {
		if n != 0 {
			s.pin(n)
			s.held = append(s.held, n)
		}
	}
	s.out.Anomalies = append(s.out.Anomalies, a)
}
