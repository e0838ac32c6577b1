package infer

import (
	"math"
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
	"github.com/zeebo/xxh3"
)

// The contract may give the order of a register's versions (version-order: numeric,
// trust-commit-ts). Then the versions with a number stand in the key's spine behind the initial
// one, in the order of their numbers. version.prefix is the number, made unsigned, and
// version.index is 1. Edges join known neighbours, as in a list; further ones that a version in
// between makes redundant stay true.
//
// A read that goes before its own transaction's write must show a lower number. If it does not,
// the contract is not true of the key. That is reported, and the edges of its order are taken
// back. From then on only the reads and writes themselves count.

// notOrdered is in key.length of a register whose numbers contradict its reads. An element has its set there,
// and the bit elementNotOrdered.
const (
	notOrdered        = 2
	elementNotOrdered = 1 << 31
)

func (x *key) hasNoOrder() bool {
	if x.flags&element != 0 {
		return x.length&elementNotOrdered != 0
	}
	return x.length == notOrdered
}

func (x *key) loseOrder() {
	if x.flags&element != 0 {
		x.length |= elementNotOrdered
	} else {
		x.length = notOrdered
	}
}

// set is the key of the set that the element x is of.
func (x *key) set() uint32 { return x.length &^ elementNotOrdered }

// partlyOrdered is in key.base of a register if a version without a number was installed. Under
// serializability and snapshot isolation, a version stands right behind the one that it replaced, if
// its writer had read that. So the read stands before all versions with a higher number. If two are not
// one read-modify-write after the other, package solve finds their order, as for blind writes.
const partlyOrdered = 1

// versionIdentity is the value of the version with this text, where the contract says
// that versions are told by it.
func versionIdentity(text []byte) event.Hash {
	h := xxh3.Hash128(text)
	return event.Hash{Lo: h.Lo ^ 0x76657273696f6e00, Hi: h.Hi}
}

// versionOf are the texts of o's version and of the one before it.
func versionOf(b *event.Batch, o *event.Op) (version, prev []byte) {
	if o.Flags&event.HasExtra == 0 {
		return nil, nil
	}
	x := &b.Extras[o.Extra]
	return b.Bytes(x.Version), b.Bytes(x.PrevVersion)
}

// readVersion takes a read where versions are told by their texts: one without a text
// says nothing, but that nothing was found.
func (s *registers) readVersion(b *event.Batch, n, i, k uint32, o *event.Op) {
	version, _ := versionOf(b, o)
	c := s.touchOf(k)
	switch {
	case len(version) > 0:
		s.readNamed(n, i, k, version, o.ValueHash)
	case o.Flags&event.NotFound != 0:
		s.readValue(c, n, i, event.Hash{}, true)
	default:
		if c.flags&hasRead == 0 {
			c.flags |= untold
		}
		s.Counters.Ambiguous++
		s.readOpen(n, OpenNameless)
	}
}

// readNamed takes a read of the version with this text, which holds the value.
func (s *registers) readNamed(n, i, k uint32, version []byte, value event.Hash) {
	c := s.touchOf(k)
	if c.flags&nameless != 0 && c.flags&(wrote|hasRead) != 0 || c.flags&(untold|wrote) == untold {
		s.Counters.Ambiguous++ // perhaps what it wrote or read itself
		s.readOpen(n, OpenNameless)
		return
	}
	h := versionIdentity(version)
	if c.flags&(hasRead|wrote) == 0 && s.ofOwnRow(c, h) {
		s.readRow(n)
		return
	}
	s.noteVersion(k, value, h)
	s.readValue(c, n, i, h, false)
	s.numberText(k, s.internVersion(k, h), n, version)
}

// replaces takes the version that a write says it replaced, and puts it into c.readLen. If the
// transaction has not read the key before, the version counts as read.
func (s *registers) replaces(b *event.Batch, c *touch, n, i uint32, o *event.Op) {
	_, prev := versionOf(b, o)
	if len(prev) == 0 || c.flags&nameless != 0 {
		return
	}
	h := versionIdentity(prev)
	if s.ofOwnRow(c, h) {
		return // the transaction wrote another column before, and may have read this one
	}
	if c.flags&wrote != 0 {
		if v := s.lookupVersion(c.key, h); h != c.current && (v == 0 || v != c.readVer && v != c.readLen) {
			s.Counters.Ambiguous++ // the version of another transaction, and it should be its own
		}
		return
	}
	v := s.internVersion(c.key, h)
	s.numberText(c.key, v, n, prev)
	if c.flags&hasRead == 0 {
		s.readValue(c, n, i, h, false)
	} else if c.readVer != v {
		c.readLen = v
		s.readers[s.addReader(n, v, i)].how = named
	}
}

// numberText numbers v, which n wrote or saw, by the text of its version.
func (s *orders) numberText(k, v, n uint32, text []byte) {
	if !s.opt.NumericVersions {
		return
	}
	if len(text) > 2 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	if num, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		s.number(k, v, n, num)
	}
}

// numeric says whether the versions of k are numbers. Their order has no commit timestamps then:
// the two kinds of number do not compare. Elements of sets have no version, and so timestamps.
func (s *absences) numeric(k uint32) bool {
	return s.opt.NumericVersions && s.keys[k].flags&versioned != 0
}

// ordered says whether v stands in a spine by its number.
func (s *absences) isOrdered(v uint32) bool {
	return s.opt.Ordered && s.versions[v].index == 1 && s.keys[s.versions[v].key].kind != event.List
}

// number puts v, which n wrote or saw, into its place.
func (s *orders) number(k, v, n uint32, num int64) {
	x, y := &s.keys[k], &s.versions[v]
	if x.kind != event.Register || x.flags&sums != 0 || x.hasNoOrder() || y.flags&(initialVersion|ambiguous) != 0 ||
		y.flags&overwrittenByWriter != 0 && !s.installed(v) && !s.left(n, v) {
		return // an intermediate version has no place in the order
	}
	place := uint64(num) ^ 1<<63
	if y.index == 1 {
		if y.prefix != place {
			s.contradictOrder(k, n, v, v)
		}
		return
	}
	p := x.last
	for p != x.initial && s.versions[p].prefix > place {
		p = s.versions[p].prev
	}
	if p != x.initial && s.versions[p].prefix == place {
		s.contradictOrder(k, n, v, p)
		return
	}
	if place <= x.basePrefix {
		s.anomaly(Anomaly{Kind: RetiredReader, A: n, Version: v}) // its neighbours have left memory
	}
	y.index, y.prefix = 1, place
	y.prev, y.next = p, s.versions[p].next
	s.versions[p].next = v
	if y.next != 0 {
		s.versions[y.next].prev = v
	} else {
		x.last = v
	}
	if y.writer != 0 {
		s.connectOrdered(v, nil)
	}
}

// connectOrdered gives the edges of v, whose writer and number are known.
func (s *orders) connectOrdered(v uint32, again *reordering) {
	x := s.versions[v]
	p := s.knownBefore(x.prev)
	from := p
	if p != 0 {
		s.writesFollow(p, v, again)
	} else {
		from = s.keys[x.key].initial
	}
	s.readersPrecede(from, v, v)
	if q := s.knownAfter(v); q != 0 {
		if p != 0 && s.opt.Rows && x.flags&tombstone != 0 {
			s.killEdges(q, s.versions[q].writer, WW) // its row is not p's
		}
		s.writesFollow(v, q, again)
		s.readersPrecede(v, q, q)
	}
}

// writesFollow gives the edge from the writer of v to the writer of the next version q.
func (s *orders) writesFollow(v, q uint32, again *reordering) {
	label := WW
	if s.otherRow(v, q) {
		label = OtherRow
	}
	s.edgeAgain(s.versions[v].writer, s.versions[q].writer, label, q, again)
}

// readersPrecede gives the edges to the writer of q from the readers of the versions from one
// up to another, which is not among them.
func (s *orders) readersPrecede(from, to, q uint32) {
	for a := from; a != to && a != 0; a = s.versions[a].next {
		if x := &s.versions[a]; x.flags&ambiguous != 0 || x.index == 1 && x.writer == 0 && !s.numeric(x.key) {
			continue // its number was the commit timestamp of a writer that is none now
		}
		for r := s.versions[a].readers; r != 0; r = s.olderReader(r) {
			if s.readers[r].how != named {
				s.edge(s.readers[r].txn, s.versions[q].writer, RW, q, s.shownBy(a))
			}
		}
	}
}

// shownBy is the transaction whose commit timestamp is a's number; 0 where a's own
// text is.
func (s *orders) shownBy(a uint32) uint32 {
	if s.numeric(s.versions[a].key) {
		return 0
	}
	return s.versions[a].writer
}

// sawOrdered gives the edge of n's read of v to the writer of the next known version.
func (s *orders) sawOrdered(v, n uint32) {
	if s.NamedOnly(v, n) {
		return
	}
	if s.opt.partly() {
		s.sawPartly(v, n)
	}
	if s.versions[v].index != 1 {
		return
	}
	if q := s.knownAfter(v); q != 0 {
		s.edge(n, s.versions[q].writer, RW, q, s.shownBy(v))
	}
}

// bridgeOrdered takes back what rests on w having written v, and joins v's neighbours.
func (s *orders) bridgeOrdered(v, w uint32) {
	s.kill(v, w, WW|RW|OtherRow)
	s.displaceReaders(v, w)
	for q := s.versions[v].next; q != 0; q = s.versions[q].next {
		s.kill(q, w, WW|OtherRow)
	}
	p, q := s.knownBefore(s.versions[v].prev), s.knownAfter(v)
	if q == 0 {
		return
	}
	from := p
	if p != 0 {
		s.writesFollow(p, q, nil)
	} else {
		from = s.keys[s.versions[v].key].initial
	}
	s.readersPrecede(from, q, q)
}

// displaceReaders takes back that the readers of v come before the writers of later versions, where that
// rests on w's commit timestamp.
func (s *orders) displaceReaders(v, w uint32) {
	if s.numeric(s.versions[v].key) {
		return
	}
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		k := Kill{Version: v, Writer: s.readers[r].txn, Labels: RW, Order: true, From: s.readers[r].txn, Placed: w}
		s.out.Kills = append(s.out.Kills, k)
		s.out.Edges = slices.DeleteFunc(s.out.Edges, func(e Edge) bool { return k.Kills(&e) })
	}
}

// forgetPlaceOfReaders takes back that the readers of v, which is ambiguous now, come before the
// next version in the order of commit timestamps. The readers of other versions still do. A
// version that is a number has its place whoever wrote it.
func (s *orders) forgetPlaceOfReaders(v uint32) {
	q := s.knownAfter(v)
	if q == 0 || s.numeric(s.versions[v].key) {
		return
	}
	w := s.versions[q].writer
	s.killEdges(q, w, RW)
	if id := s.writeOf(w, q); id != 0 && s.writes[id].pred != 0 {
		s.readersBefore(s.writes[id].pred, q, nil)
	}
	from := s.knownBefore(s.versions[v].prev)
	if from == 0 {
		from = s.keys[s.versions[v].key].initial
	}
	s.readersPrecede(from, q, q)
}

// leaveOrder takes v, which leaves memory, out of its spine.
func (s *orders) leaveOrder(v uint32) {
	k := &s.keys[s.versions[v].key]
	k.basePrefix = max(k.basePrefix, s.versions[v].prefix)
	s.unlinkOrdered(v)
}

func (s *orders) unlinkOrdered(v uint32) {
	x := &s.versions[v]
	k := &s.keys[x.key]
	s.versions[x.prev].next = x.next
	if x.next != 0 {
		s.versions[x.next].prev = x.prev
	} else {
		k.last = x.prev
	}
	x.index, x.prev, x.next = 0, 0, 0
}

// supersedeInOrder drops v, and the versions behind it one by one. Each must be the first in its spine,
// and the next one must have a retired writer. A read of v is then a read of an old state.
func (s *orders) supersedeInOrder(v uint32) {
	for v != 0 {
		x := &s.versions[v]
		q := s.knownAfter(v)
		if x.prev != s.keys[x.key].initial || q == 0 || s.txns[s.versions[q].writer].flags&retired == 0 || !s.gone(v) {
			return
		}
		next := x.next
		if s.drop(v); s.versions[v].key != 0 {
			return // a question may still name the version
		}
		v = next
	}
}

// checkStep reports a transaction n that read or replaced pred and wrote v with a
// number that is not higher.
func (s *orders) checkStep(n, pred, v uint32) {
	if s.isOrdered(pred) && s.isOrdered(v) && s.versions[pred].prefix >= s.versions[v].prefix {
		s.contradictOrder(s.versions[v].key, n, v, pred)
	}
}

// contradictOrder reports that the numbers of the versions v and other exclude what n did, and forgets
// the order of k. If a number is the commit timestamp of other's one writer, it falls when other gets a
// second writer.
func (s *orders) contradictOrder(k, n, v, other uint32) {
	a := Anomaly{Kind: CyclicVersions, A: n, B: s.versions[other].writer, Version: v, Certain: true}
	if !s.numeric(k) && other != v {
		a.Other = other
	}
	s.giveUpOrder(k)
	s.anomaly(a)
}

func (s *orders) giveUpOrder(k uint32) {
	x := &s.keys[k]
	x.loseOrder()
	var all []uint32
	for v := s.versions[x.initial].next; v != 0; v = s.versions[v].next {
		all = append(all, v)
		s.killOrder(v, s.versions[v].writer)
	}
	for _, v := range all {
		y := &s.versions[v]
		y.index, y.prefix, y.prev, y.next = 0, 0, 0, 0
	}
	s.versions[x.initial].next, x.last = 0, x.initial
	for _, v := range append(all, x.initial) { // what reads say by themselves
		if s.versions[v].flags&ambiguous != 0 {
			continue
		}
		for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
			for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
				if s.readers[r].saw() {
					s.edge(s.readers[r].txn, s.writes[id].txn, RW, s.writes[id].version, 0)
				}
			}
		}
	}
	s.countRoots(k)
}

// commitNumber is the number that n's versions get from its commit timestamp.
func (s *orders) commitNumber(t *event.Txn) int64 {
	if s.opt.TrustCommitTS && t.Flags&event.HasCommitTS != 0 {
		return t.CommitTS
	}
	return math.MinInt64
}

// nothingInOrder is called when empty reads of k name the initial version no more. It only
// takes back their edges to the writers of the versions in order.
func (s *orders) nothingInOrder(k uint32) {
	if !s.opt.Ordered || s.keys[k].kind == event.List || s.keys[k].flags&element != 0 {
		return
	}
	for q := s.versions[s.keys[k].initial].next; q != 0; q = s.versions[q].next {
		w := s.versions[q].writer
		if w == 0 {
			continue
		}
		s.killEdges(q, w, RW)
		if id := s.writeOf(w, q); id != 0 && s.writes[id].pred != 0 {
			s.readersBefore(s.writes[id].pred, q, nil)
		}
		if p := s.knownBefore(s.versions[q].prev); p != 0 {
			s.readersPrecede(p, q, q)
		}
	}
	if s.opt.partly() {
		s.orderAgain(k)
	}
}
