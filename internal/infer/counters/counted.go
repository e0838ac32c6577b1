package counters

import (
	"encoding/binary"
	"unsafe"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
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
	version  uint64 // KeyOfValue of its version, since another version may get the number
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

// countOf is the note of what the transaction in work did to the counter k.
func (s *Totals) countOf(k uint32) (c *causes.Touch, own *ownCount) {
	c = s.TouchOf(k)
	if c.Count == 0 {
		s.counted = append(s.counted, ownCount{touch: s.Keys[k].Touch})
		c.Count = uint32(len(s.counted))
	}
	return c, &s.counted[c.Count-1]
}

// TellCounter notes that an operation of the counter k told its version: from now on its
// versions are told.
func (s *Totals) TellCounter(k uint32) {
	x := &s.Keys[k]
	x.Kind, x.Flags = event.Register, x.Flags&^ledger.Repeats|ledger.Versioned|ledger.Sums
	if !s.Opt.Existing {
		a := s.holdingOf(x.Initial)
		a.known, a.sum = true, 0
	}
}

// Loosen notes that the order of k's increments is not known.
func (s *Totals) Loosen(k uint32) {
	x := &s.Keys[k]
	if x.Flags&causes.Loose != 0 {
		return
	}
	x.Flags |= causes.Loose
	s.Counters.Loose++
	if x.Flags&ledger.Sums != 0 {
		s.ReadCounts.Loose += s.holdingOf(x.Initial).inc
	}
}

// CountIncrement takes an inc of the counter k.
func (s *Totals) CountIncrement(b *event.Batch, t *event.Txn, n, i, k uint32, o *event.Op) {
	d, ok := Amount(b, o)
	if !ok {
		s.GiveUp(k)
		return
	}
	c, own := s.countOf(k)
	version, prev := causes.VersionOf(b, o)
	if len(version) == 0 {
		s.Nameless = true // the value told by it may be its version
		s.Loosen(k)
	}
	if len(version)+len(prev) > 0 || c.Flags&causes.Wrote != 0 {
		s.WriteVersion(b, n, i, k, o, s.Written(b, t, k, o))
	} else {
		c.Flags |= causes.Nameless
	}
	own.inc += d
}

// ReadCounter takes a read of the counter k: what it shows without the transaction's
// own increments must stay the same.
func (s *Totals) ReadCounter(b *event.Batch, n, i, k uint32, o *event.Op) {
	nothing := o.Flags&event.NotFound != 0
	if nothing && s.Txns[n].Flags&ledger.Unknown != 0 {
		return // what it saw is not known
	}
	v, ok := Amount(b, o)
	if !ok {
		s.GiveUp(k)
		s.ReadUnchecked(n, k)
		return
	}
	if x := &s.Keys[k]; nothing && x.Kind == event.Counter && x.Flags&causes.Loose == 0 {
		s.TellCounter(k) // it is of the initial version
	}
	c, own := s.countOf(k)
	version, _ := causes.VersionOf(b, o)
	told := s.Keys[k].Flags&ledger.Sums != 0 && c.Flags&causes.Nameless == 0 && (len(version) > 0 || nothing && !s.AbsentUnknown(k))
	switch {
	case told:
		s.readCount(b, c, n, i, o, v)
	case !own.read:
		s.ReadOpen(n, ledger.OpenCounter)
	}
	if !told {
		s.Loosen(k)
	}
	before := v - own.inc
	if c.Flags&causes.Wrote != 0 {
		own.left, own.reread = before, true
	}
	switch {
	case c.Flags&causes.Misread != 0: // reported once
	case !own.read:
		own.read, own.seen = true, before
	case own.seen != before:
		s.Misreads(ledger.Nonrepeatable, c, n, i, 0)
	}
}

// readCount takes a read of the counter of c that names its version, or found nothing. v is the
// version that it shows.
func (s *Totals) readCount(b *event.Batch, c *causes.Touch, n, i uint32, o *event.Op, v int64) {
	k, all := c.Key, s.ReadCounts.Total
	version, _ := causes.VersionOf(b, o)
	h := event.Hash{}
	if len(version) > 0 {
		h = ledger.VersionIdentity(version)
	}
	s.ReadValue(c, n, i, h, len(version) == 0)
	at := s.Keys[k].Initial
	if len(version) > 0 {
		at = s.InternVersion(k, h)
	}
	if c.Flags&causes.Wrote == 0 {
		s.holds(at, v)
	}
	if s.ReadCounts.Total == all {
		return
	}
	s.holdingOf(s.Keys[k].Initial).inc++
	if s.Keys[k].Flags&causes.Loose != 0 {
		s.ReadCounts.Loose++
	}
}

// SumUp says what the versions hold that the transaction in work left of counters.
func (s *Totals) SumUp() {
	if len(s.counted) > 0 {
		s.sumUp()
	}
}

func (s *Totals) sumUp() {
	for i := range s.counted {
		own := &s.counted[i]
		c := &s.Touches[own.touch]
		if s.Keys[c.Key].Flags&(ledger.Sums|ledger.Unsupported) != ledger.Sums || c.Flags&(causes.Wrote|causes.Nameless) != causes.Wrote {
			continue
		}
		w := &s.Writes[c.LastWrite]
		a := s.holdingOf(w.Version)
		a.inc, a.linked = own.inc, true
		if own.reread {
			s.holds(w.Version, own.left+own.inc)
		}
		s.follow(w.Version)
	}
	s.counted = s.counted[:0]
}

// holds says that the value at v is sum.
func (s *Totals) holds(v uint32, sum int64) {
	if s.learn(v, sum) {
		s.follow(v)
	}
}

// learn is holds for one version only, without conclusions about others. It says whether the value is
// new.
func (s *Totals) learn(v uint32, sum int64) bool {
	if s.Versions[v].Flags&ledger.Ambiguous != 0 {
		return false
	}
	a := s.holdingOf(v)
	if a.known {
		if a.sum != sum {
			s.Loosen(s.Versions[v].Key)
		}
		return false
	}
	a.known, a.sum = true, sum
	return true
}

// follow says what the versions before and behind v hold, from what is known of v. Each
// version learns its value once.
func (s *Totals) follow(v uint32) {
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
		for id := s.Versions[v].Over; id != 0 && a.known; id = s.Writes[id].NextOver {
			w := s.Writes[id].Version
			if b := *s.holdingOf(w); b.linked && s.learn(w, a.sum+b.inc) {
				todo = append(todo, w)
			}
		}
	}
	s.following = todo
}

// replacedBy is the version that the only writer of v replaced, 0 if nobody knows it.
func (s *Totals) replacedBy(v uint32) uint32 {
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if s.Writes[id].Txn == s.Versions[v].Writer {
			return s.Writes[id].Pred
		}
	}
	return 0
}

// holdingOf is the known value at v.
func (s *Totals) holdingOf(v uint32) *holding {
	for int(v) >= len(s.holdings) {
		s.holdings = append(s.holdings, holding{})
	}
	a := &s.holdings[v]
	if key := s.KeyOfValue(v); a.version != key {
		*a = holding{version: key}
	}
	return a
}

// AppendHoldings writes the values that the versions of the counter k hold.
func (s *Totals) AppendHoldings(dst []byte, k uint32, vs []uint32) []byte {
	if s.Keys[k].Flags&ledger.Sums == 0 {
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

// ReadHoldings reads what AppendHoldings wrote.
func (s *Totals) ReadHoldings(r *ledger.RecordReader, k uint32, vs []uint32) {
	if s.Keys[k].Flags&ledger.Sums == 0 {
		return
	}
	for _, v := range vs {
		bits, a := r.Byte(), s.holdingOf(v)
		a.known, a.linked = bits&1 != 0, bits&2 != 0
		a.sum, a.inc = r.Int(), r.Int()
	}
}

// AppendState writes the values that versions hold.
func (s *Totals) AppendState(dst *flat.Writer) *flat.Writer {
	return flat.Append(dst, "holdings", s.holdings)
}

// ReadState reads what AppendState wrote.
func (s *Totals) ReadState(r *flat.Reader) { flat.Read(r, "holdings", &s.holdings) }

// Memory is the size of the values that versions hold, bytes: all of them are in use.
func (s *Totals) Memory() (used, taken int64) {
	return flat.Size(s.holdings), flat.Size(s.holdings)
}

// Allocated is memory with the room to grow.
func (s *Totals) Allocated() int64 { return int64(cap(s.holdings)) * int64(unsafe.Sizeof(holding{})) }
