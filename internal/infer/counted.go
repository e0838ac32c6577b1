package infer

import (
	"encoding/binary"
	"unsafe"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// If operations of a counter tell versions, it is a register as far as dependencies go. An increment
// writes a version. It replaces the version that it names, or that its transaction read before. A read
// is of its version. Its values are compared besides: a version holds the sum of the one before it and
// of its writer's amount. The initial version holds nothing. So once the chain of versions down to it
// is known, a reader of a version is known to have seen a possible sum.
//
// That fails for an operation without a version, two increments that replaced nothing, or a
// value that is not the sum. The counter is loose then. Its dependencies stay, and its values
// are decided as for counters without versions.

// holding is the known value at a version of a counter, 32 bytes. For the initial version, inc
// is how many reads of the counter were taken in.
type holding struct {
	version  uint64 // valueKey of its version, since another version may get the number
	sum, inc int64  // the value, and what its writer added
	known    bool   // the value is
	linked   bool   // its writer is
	_        [6]byte
}

// ownCount is the work of the transaction in work on a counter so far.
type ownCount struct {
	touch        uint32
	inc          int64 // sum of its increments
	seen, left   int64 // the value of its first read, and of its latest read behind an own increment, each without the own increments
	read, reread bool
}

// isCounter says whether k is a counter, whether or not its versions are told.
func (s *ledger) isCounter(k uint32) bool {
	x := &s.keys[k]
	return x.kind == event.Counter || x.flags&sums != 0
}

// countOf is the note of what the transaction in work did to the counter k.
func (s *counters) countOf(k uint32) (c *touch, own *ownCount) {
	c = s.touchOf(k)
	if c.count == 0 {
		s.counted = append(s.counted, ownCount{touch: s.keys[k].touch})
		c.count = uint32(len(s.counted))
	}
	return c, &s.counted[c.count-1]
}

// tellCounter notes that an operation of the counter k told its version: from now on its
// versions are told.
func (s *counters) tellCounter(k uint32) {
	x := &s.keys[k]
	x.kind, x.flags = event.Register, x.flags&^repeats|versioned|sums
	if !s.opt.Existing {
		a := s.holdingOf(x.initial)
		a.known, a.sum = true, 0
	}
}

// Loosen notes that the order of k's increments is not known.
func (s *counters) Loosen(k uint32) {
	x := &s.keys[k]
	if x.flags&loose != 0 {
		return
	}
	x.flags |= loose
	s.Counters.Loose++
	if x.flags&sums != 0 {
		s.reads.Loose += s.holdingOf(x.initial).inc
	}
}

// countIncrement takes an inc of the counter k.
func (s *counters) countIncrement(b *event.Batch, t *event.Txn, n, i, k uint32, o *event.Op) {
	d, ok := amount(b, o)
	if !ok {
		s.giveUp(k)
		return
	}
	c, own := s.countOf(k)
	version, prev := versionOf(b, o)
	if len(version) == 0 {
		s.nameless = true // the value told by it may be its version
		s.Loosen(k)
	}
	if len(version)+len(prev) > 0 || c.flags&wrote != 0 {
		s.writeVersion(b, n, i, k, o, s.written(b, t, k, o))
	} else {
		c.flags |= nameless
	}
	own.inc += d
}

// readCounter takes a read of the counter k: what it shows without the transaction's
// own increments must stay the same.
func (s *counters) readCounter(b *event.Batch, n, i, k uint32, o *event.Op) {
	nothing := o.Flags&event.NotFound != 0
	if nothing && s.txns[n].flags&unknown != 0 {
		return // what it saw is not known
	}
	v, ok := amount(b, o)
	if !ok {
		s.giveUp(k)
		s.readUnchecked(n, k)
		return
	}
	if x := &s.keys[k]; nothing && x.kind == event.Counter && x.flags&loose == 0 {
		s.tellCounter(k) // it is of the initial version
	}
	c, own := s.countOf(k)
	version, _ := versionOf(b, o)
	told := s.keys[k].flags&sums != 0 && c.flags&nameless == 0 && (len(version) > 0 || nothing && !s.absentUnknown(k))
	switch {
	case told:
		s.readCount(b, c, n, i, o, v)
	case !own.read:
		s.readOpen(n, OpenCounter)
	}
	if !told {
		s.Loosen(k)
	}
	before := v - own.inc
	if c.flags&wrote != 0 {
		own.left, own.reread = before, true
	}
	switch {
	case c.flags&misread != 0: // reported once
	case !own.read:
		own.read, own.seen = true, before
	case own.seen != before:
		s.misreads(Nonrepeatable, c, n, i, 0)
	}
}

// readCount takes a read of the counter of c that names its version, or found nothing. v is the
// version that it shows.
func (s *counters) readCount(b *event.Batch, c *touch, n, i uint32, o *event.Op, v int64) {
	k, all := c.key, s.reads.Total
	version, _ := versionOf(b, o)
	h := event.Hash{}
	if len(version) > 0 {
		h = versionIdentity(version)
	}
	s.readValue(c, n, i, h, len(version) == 0)
	at := s.keys[k].initial
	if len(version) > 0 {
		at = s.internVersion(k, h)
	}
	if c.flags&wrote == 0 {
		s.holds(at, v)
	}
	if s.reads.Total == all {
		return
	}
	s.holdingOf(s.keys[k].initial).inc++
	if s.keys[k].flags&loose != 0 {
		s.reads.Loose++
	}
}

// sumUp says what the versions hold that the transaction in work left of counters.
func (s *counters) sumUp() {
	for i := range s.counted {
		own := &s.counted[i]
		c := &s.touches[own.touch]
		if s.keys[c.key].flags&(sums|unsupported) != sums || c.flags&(wrote|nameless) != wrote {
			continue
		}
		w := &s.writes[c.lastWrite]
		a := s.holdingOf(w.version)
		a.inc, a.linked = own.inc, true
		if own.reread {
			s.holds(w.version, own.left+own.inc)
		}
		s.follow(w.version)
	}
	s.counted = s.counted[:0]
}

// holds says that the value at v is sum.
func (s *counters) holds(v uint32, sum int64) {
	if s.learn(v, sum) {
		s.follow(v)
	}
}

// learn is holds for one version only, without conclusions about others. It says whether the value is
// new.
func (s *counters) learn(v uint32, sum int64) bool {
	if s.versions[v].flags&ambiguous != 0 {
		return false
	}
	a := s.holdingOf(v)
	if a.known {
		if a.sum != sum {
			s.Loosen(s.versions[v].key)
		}
		return false
	}
	a.known, a.sum = true, sum
	return true
}

// follow says what the versions before and behind v hold, from what is known of v. Each
// version learns its value once.
func (s *counters) follow(v uint32) {
	todo := append(s.following[:0], v)
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p := s.replacedBy(v); p != 0 && s.holdingOf(v).linked {
			switch inc := s.holdingOf(v).inc; {
			case s.holdingOf(p).known:
				s.learn(v, s.holdingOf(p).sum+inc)
			case s.holdingOf(v).known && s.learn(p, s.holdingOf(v).sum-inc):
				todo = append(todo, p)
			}
		}
		a := *s.holdingOf(v)
		for id := s.versions[v].over; id != 0 && a.known; id = s.writes[id].nextOver {
			w := s.writes[id].version
			if b := *s.holdingOf(w); b.linked && s.learn(w, a.sum+b.inc) {
				todo = append(todo, w)
			}
		}
	}
	s.following = todo
}

// replacedBy is the version that the only writer of v replaced, 0 if nobody knows it.
func (s *counters) replacedBy(v uint32) uint32 {
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if s.writes[id].txn == s.versions[v].writer {
			return s.writes[id].pred
		}
	}
	return 0
}

// holdingOf is the known value at v.
func (s *counters) holdingOf(v uint32) *holding {
	for int(v) >= len(s.holdings) {
		s.holdings = append(s.holdings, holding{})
	}
	a := &s.holdings[v]
	if key := s.valueKey(v); a.version != key {
		*a = holding{version: key}
	}
	return a
}

// appendHoldings writes the values that the versions of the counter k hold.
func (s *counters) appendHoldings(dst []byte, k uint32, vs []uint32) []byte {
	if s.keys[k].flags&sums == 0 {
		return dst
	}
	for _, v := range vs {
		a := s.holdingOf(v)
		bits := byte(0)
		if a.known {
			bits |= 1
		}
		if a.linked {
			bits |= 2
		}
		dst = binary.AppendVarint(binary.AppendVarint(append(dst, bits), a.sum), a.inc)
	}
	return dst
}

// readHoldings reads what appendHoldings wrote.
func (s *counters) readHoldings(r *recordReader, k uint32, vs []uint32) {
	if s.keys[k].flags&sums == 0 {
		return
	}
	for _, v := range vs {
		bits, a := r.byte(), s.holdingOf(v)
		a.known, a.linked = bits&1 != 0, bits&2 != 0
		a.sum, a.inc = r.int(), r.int()
	}
}

// appendState writes the values that versions hold.
func (s *counters) appendState(dst *flat.Writer) *flat.Writer {
	return flat.Append(dst, "holdings", s.holdings)
}

// readState reads what appendState wrote.
func (s *counters) readState(r *flat.Reader) { flat.Read(r, "holdings", &s.holdings) }

// memory is the size of the values that versions hold, bytes: all of them are in use.
func (s *counters) memory() (used, taken int64) {
	return flat.Size(s.holdings), flat.Size(s.holdings)
}

// allocated is memory with the room to grow.
func (s *counters) allocated() int64 { return int64(cap(s.holdings)) * int64(unsafe.Sizeof(holding{})) }
