package infer

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/pattern"
	"github.com/zeebo/xxh3"
)

// Where the contract says value-identity=observed, the stream shows whether a plain value names
// its writer, key pattern by key pattern (package pattern). It does until the first sign that
// the pattern's values repeat:
//
//   - two transactions that committed wrote one value of a key. The retry of an aborted
//     or unknown one is not a sign.
//   - the writer of a value began when a reader of it had ended, in their session or by more
//     than the clock drift. Within the drift only that version is ambiguous.
//   - one value of a key had two versions.
//   - under unmonitored writers or a partial capture: one transaction had read and replaced a
//     value and was over. Another one began after that, in its session or by more than the
//     clock drift, and read and replaced the value too. If it only read it, only that version
//     is ambiguous: one stale read must not silence a pattern.
//
// A record's signs are looked at before any conclusion from it leaves ([State.settleSigns], at
// the end of Add). From then on no plain value of the pattern names a version. On its keys,
// only the acts of one transaction by itself are looked at: see readDuplicate.
//
// No number of unique values is proof that the next one is unique: balances of TPC-B look
// unique for 2,800 versions.

// signs holds the signs of patterns.
type signs struct {
	patterns             *pattern.Table
	twoKeys, twoVersions sightings    // which key had a value, and which version
	most                 int          // entries of each; a setting
	new                  []pattern.ID // that have shown a sign in the record in work
	cameBack             []uint32     // versions that came back, by the record in work: see value_cycle.go
	replaced, roots      []uint32     // scratch of valueCycle
	glimpses             glimpses     // see glimpse.go
	column               []byte       // scratch of columnOf
	stood                stood
	endRetired           int64 // greatest end of what has retired
	begun                int64 // latest begin: see attempts.go
	told                 bool  // some pattern's sign is not told yet
}

func newSigns() signs { return signs{patterns: pattern.New(), most: mostSightings} }

// strangers says whether a transaction without a record may have written what nobody is
// known to have written, any number of times.
func (o *Options) strangers() bool { return o.Observed && (o.UnmonitoredWriters || !o.Complete) }

// vacant says whether an empty read proves nothing: a writer without a record may have deleted
// the key.
func (o *Options) vacant() bool { return o.DeletesUnseen || o.UnmonitoredWriters }

// enterPattern gives the new key k its pattern.
func (s *registers) enterPattern(k uint32, name []byte) {
	x := &s.keys[k]
	if s.opt.ByVersion {
		x.flags |= versioned
	}
	if !s.opt.Observed || len(name) > 0 && name[0] == elementMark {
		return // an element has the pattern of its set: see elementKey
	}
	epoch := x.hash.Hi - xxh3.Hash128(name).Hi
	for _, p := range s.opt.Patterns {
		if pattern.Matches(p, name) {
			x.pattern = s.signs.patterns.Named(epoch, p)
			s.followPattern(k)
			return
		}
	}
	id, spread := s.signs.patterns.Of(epoch, name)
	x.pattern = id
	if spread {
		s.spreadSigns()
	}
	s.followPattern(k)
}

// followPattern mutes k if the values of its pattern repeat.
func (s *absences) followPattern(k uint32) {
	if x := &s.keys[k]; s.opt.Observed && x.flags&versioned == 0 && s.signs.patterns.Get(x.pattern).Repeats != 0 {
		x.flags |= repeats
	}
}

// tells says whether the operation names its version.
func tells(b *event.Batch, o *event.Op) bool {
	version, prev := versionOf(b, o)
	return len(version)+len(prev) > 0
}

// tellByVersion notes that an operation of k told its version: operations tell the versions of
// k from now on. Conclusions from its values stay: operations that told no version gave them. For a
// counter see tellVersion.
func (s *absences) tellByVersion(k uint32) {
	x := &s.keys[k]
	if x.flags&versioned != 0 || x.kind > event.Register || x.flags&element != 0 {
		return
	}
	x.flags = x.flags&^repeats | versioned
	s.Counters.Versioned++
	if x.stamp == s.stamp && int(x.touch) < len(s.touches) && s.touches[x.touch].key == k {
		if c := &s.touches[x.touch]; c.flags&wrote != 0 || c.flags&(hasRead|readNothing) == hasRead {
			c.flags |= nameless // its earlier write or read names a version by value only
		}
	}
	if x.count > 1 {
		s.nameless = true
		if x.count > 2 || x.flags&emptied == 0 { // else a delete left nothing
			x.flags |= plainBefore
		}
	}
}

// sign notes that the values of k's pattern repeat.
func (s *absences) sign(k uint32, why pattern.Sign) {
	if !s.opt.Observed || s.keys[k].flags&versioned != 0 || s.keys[k].kind > event.Register {
		return
	}
	p := s.signs.patterns.Get(s.keys[k].pattern)
	if p.Repeats != 0 {
		return
	}
	p.Repeats = why
	s.signs.new = append(s.signs.new, s.keys[k].pattern)
}

// secondWriter takes the sign that two committed transactions wrote v, n and another one.
func (s *absences) secondWriter(v, n uint32) {
	if !s.opt.Observed || s.txns[n].state != counted || s.txns[n].flags&unknown != 0 {
		return
	}
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if w := s.writes[id].txn; w != n && s.txns[w].state == counted && s.txns[w].flags&unknown == 0 {
			s.sign(s.versions[v].key, pattern.TwoWriters)
			return
		}
	}
	if s.values.has(s.valueKey(v)) {
		s.sign(s.versions[v].key, pattern.TwoWriters)
	}
}

// noteValue takes in that v was written: whether its value was seen at another key of the
// pattern.
func (s *absences) noteValue(v uint32) {
	x := &s.versions[v]
	k := &s.keys[x.key]
	if k.flags&(versioned|repeats) != 0 || k.kind > event.Register {
		return
	}
	p := s.signs.patterns.Get(k.pattern)
	if p.Shared || p.Repeats != 0 {
		return
	}
	if where := s.signs.twoKeys.see(x.hash.Lo^uint64(k.pattern)*0x9e3779b97f4a7c15, k.hash.Lo, s.signs.most); where != k.hash.Lo {
		p.Shared = true
	}
}

// noteVersion takes in that the value of k had the version with this hash.
func (s *absences) noteVersion(k uint32, value, version event.Hash) {
	if !s.opt.Observed {
		return
	}
	x := &s.keys[k]
	p := s.signs.patterns.Get(x.pattern)
	if p.Repeats != 0 || s.signs.twoVersions.see(x.hash.Lo^value.Lo*0x9e3779b97f4a7c15, version.Lo, s.signs.most) == version.Lo {
		return
	}
	p.Repeats = pattern.TwoVersions
	s.signs.new = append(s.signs.new, x.pattern)
}

// countRead counts a read of a plain value of k.
func (s *absences) countRead(k uint32) {
	if x := &s.keys[k]; x.flags&versioned == 0 && x.kind <= event.Register {
		s.signs.patterns.Get(x.pattern).Reads++
	}
}

// nobody marks v, which was read, if no writer of v is known.
func (s *absences) nobody(v uint32) {
	if s.nobodyKnown(v) {
		s.mark(v, unrecorded, 0)
	}
}

// recorded takes in that n wrote v. No other writer of v is known. Reads and replacements from before
// are concluded now.
func (s *registers) recorded(v, n uint32) {
	x := &s.versions[v]
	if x.flags&unrecorded == 0 {
		return
	}
	s.mark(v, 0, unrecorded)
	if x.flags&ambiguous != 0 {
		return
	}
	if s.opt.Ordered && s.opt.partly() {
		defer s.orderAgain(x.key)
	}
	for r := x.readers; r != 0; r = s.olderReader(r) {
		if t := s.readers[r].txn; t != n && s.lastOf(t, x.key) != 0 && s.replacedBefore(v, t) {
			s.makeAmbiguous(v)
			return
		}
	}
	s.replaceAgain(v, n)
}

// names says whether v stands for one version. It does not if it has several possible writers, or if it
// has no known writer and the contract allows for any number.
func (x *version) names() bool { return x.flags&(ambiguous|unrecorded) == 0 }

// readDuplicate takes a read of a key whose values repeat. Two faults need no identity: n did
// not read its own write, or read the key twice with two results.
func (s *absences) readDuplicate(c *touch, n, op uint32, h event.Hash, nothing bool) {
	switch {
	case c.flags&misread != 0 && c.flags&wrote == 0:
	case nothing && s.txns[n].flags&unknown != 0: // what it saw is not known
	case c.flags&wrote != 0:
		s.readOwn(c, n, op, h, nothing)
	case c.flags&hasRead != 0:
		if nothing != (c.flags&readNothing != 0) || h != c.readHash {
			s.misreads(Nonrepeatable, c, n, op, 0)
		}
	default:
		c.flags |= hasRead
		c.readHash, c.readOp = h, op
		if nothing {
			c.flags |= readNothing
		}
		p := s.signs.patterns.Get(s.keys[c.key].pattern)
		p.Reads++
		p.Undecided++
		s.Counters.Repeating++
		s.readOpen(n, OpenRepeating)
	}
}

// writeDuplicate takes a write of such a key.
func (c *touch) writeDuplicate(h event.Hash) {
	c.current = h
	c.flags = c.flags&^removed | wrote
}

// settleSigns lets the signs of the record in work take effect: what was concluded from plain
// values of these patterns is void. O(keys and versions in memory) a pattern, once for each.
func (s *registers) settleSigns() {
	s.settleCameBack()
	if len(s.signs.new) == 0 {
		return
	}
	s.signs.new = s.signs.new[:0]
	s.spreadSigns()
}

// spreadSigns mutes the keys whose patterns have a sign, and takes back what rests on their
// values.
func (s *registers) spreadSigns() {
	s.signs.told = true
	for k := 1; k < len(s.keys); k++ {
		x := &s.keys[k]
		if x.count == 0 || x.kind > event.Register || x.flags&repeats != 0 || s.signs.patterns.Get(x.pattern).Repeats == 0 {
			continue
		}
		if x.flags&versioned == 0 {
			x.flags |= repeats
		} else if x.flags&plainBefore == 0 {
			continue
		}
		x.flags |= voided
	}
	for v := 1; v < len(s.versions); v++ {
		if x := &s.versions[v]; x.key != 0 && s.keys[x.key].flags&voided != 0 && x.flags&initialVersion == 0 {
			s.voidValue(uint32(v))
		}
	}
	for k := 1; k < len(s.keys); k++ {
		s.keys[k].flags &^= voided
	}
}

// voidValue takes back what rests on v being one version.
func (s *registers) voidValue(v uint32) {
	x := &s.versions[v]
	for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
		if w := s.writes[id].txn; s.txns[w].state == counted && s.txns[w].flags&unknown != 0 {
			s.demote = append(s.demote, w)
		}
	}
	s.out.Ambiguous = append(s.out.Ambiguous, s.valueKey(v))
	if x.writer != 0 {
		s.killOrder(v, x.writer)
	}
	s.mark(v, 0, unrecorded)
	s.makeAmbiguous(v)
	for r := x.readers; r != 0; r = s.olderReader(r) {
		p := s.signs.patterns.Get(s.keys[x.key].pattern)
		p.Undecided++
	}
}

// EachPattern calls fn with the patterns of keys, in the order in which they were met.
func (s *absences) EachPattern(fn func(name string, p *pattern.Pattern)) {
	s.signs.patterns.Each(func(_ pattern.ID, name string, p *pattern.Pattern) { fn(name, p) })
}

func (s *absences) appendSigns(dst *flat.Writer) *flat.Writer {
	dst = s.signs.patterns.AppendState(dst)
	dst = flat.Append(dst, "twoKeys", s.signs.twoKeys.slots)
	dst = flat.Append(dst, "twoVersions", s.signs.twoVersions.slots)
	dst = s.signs.glimpses.appendState(dst)
	dst = flat.Append(dst, "stood", s.signs.stood)
	dst = flat.AppendValue(dst, "endRetired", &s.signs.endRetired)
	return flat.AppendValue(dst, "begun", &s.signs.begun)
}

func (s *absences) readSigns(r *flat.Reader) {
	most := s.signs.most
	s.signs = newSigns()
	s.signs.most = most
	s.signs.patterns.ReadState(r)
	s.signs.twoKeys.read(r, "twoKeys")
	s.signs.twoVersions.read(r, "twoVersions")
	s.signs.glimpses.readState(r)
	flat.Read(r, "stood", (*[]stand)(&s.signs.stood))
	flat.ReadValue(r, "endRetired", &s.signs.endRetired)
	flat.ReadValue(r, "begun", &s.signs.begun)
}

// repeatsSince mutes k, which came back with these versions, if the values of its pattern have turned
// out to repeat. No live transaction has read or written one of them.
func (s *absences) repeatsSince(k uint32, vs []uint32) {
	x := &s.keys[k]
	if !s.opt.Observed || x.kind > event.Register || s.signs.patterns.Get(x.pattern).Repeats == 0 || x.flags&(versioned|plainBefore) == versioned {
		return
	}
	s.followPattern(k)
	for _, v := range vs {
		if y := &s.versions[v]; y.flags&initialVersion == 0 {
			y.flags = y.flags&^unrecorded | ambiguous
			y.writer = 0
		}
	}
}

// A version that names no writer any more shows signs all the same. Otherwise these would
// depend on the order in which records came. If a retry explains it, that is not a sign
// (retried).

// disown takes back the conclusions from v, whose writer is not known any more.
func (s *registers) disown(v uint32) {
	x := &s.versions[v]
	if x.key == 0 || !s.nobodyKnown(v) || !x.names() || s.keys[x.key].kind > event.Register {
		return
	}
	s.makeAmbiguous(v)
	s.mark(v, unrecorded, ambiguous)
}

// Shared says whether one value was seen at two keys of this key's pattern, or one element was
// appended twice. It is true, too, if the key is not in memory.
func (s *absences) Shared(key, epoch string) bool {
	k := s.keyNamed(key, epoch)
	return k == 0 || s.signs.patterns.Get(s.keys[k].pattern).Shared
}

// Beginning is the ValueKey of the key's initial version, 0 if the key is not in memory.
func (s *absences) Beginning(key, epoch string) uint64 {
	if k := s.keyNamed(key, epoch); k != 0 {
		return s.valueKey(s.keys[k].initial)
	}
	return 0
}

// Repeats says whether the plain values of the key name no version, since the values of its
// pattern repeat. It is true, too, if that is not known: the key is not in memory.
func (s *absences) Repeats(key, epoch string) bool {
	if !s.opt.Observed {
		return false
	}
	k := s.keyNamed(key, epoch)
	return k == 0 || s.keys[k].flags&repeats != 0
}

// IsRegister says whether the key is known to be a register.
func (s *absences) IsRegister(key, epoch string) bool {
	k := s.keyNamed(key, epoch)
	return k != 0 && s.keys[k].kind == event.Register && s.keys[k].flags&element == 0
}

// keyNamed is the key with this name in the epoch, 0 if it is not in memory.
func (s *absences) keyNamed(key, epoch string) uint32 {
	h := event.HashText([]byte(key))
	if epoch != "" {
		h = underEpoch(h, xxh3.HashString(epoch))
	}
	if len(s.byKey.slots) == 0 {
		return 0
	}
	return s.lookupKey(h)
}

// Observed appends to dst the patterns whose plain values name their writers in e, as observed.
func (s *absences) Observed(dst []pattern.ID, e Edge) []pattern.ID {
	for _, v := range s.restsOn(e) {
		dst = s.ObservedAt(dst, v)
	}
	return dst
}

// ObservedAt is Observed of what rests on the version v.
func (s *absences) ObservedAt(dst []pattern.ID, v uint32) []pattern.ID {
	x := &s.versions[v]
	k := &s.keys[x.key]
	if v == 0 || !s.opt.Observed || k.kind > event.Register || k.flags&(versioned|element) != 0 || x.flags&initialVersion != 0 || slices.Contains(dst, k.pattern) {
		return dst
	}
	return append(dst, k.pattern)
}

// SomeRepeat says whether the values of one of these patterns repeat.
func (s *absences) SomeRepeat(of []pattern.ID) bool {
	return slices.ContainsFunc(of, func(p pattern.ID) bool { return s.signs.patterns.Get(p).Repeats != 0 })
}

// Unsigned says whether no pattern's sign is to be told: see Signed.
func (s *absences) Unsigned() bool { return !s.signs.told }

// Signed calls fn with the patterns that have shown their sign since this was called last, and
// says whether there are any.
func (s *absences) Signed(fn func(name string, p *pattern.Pattern)) bool {
	if !s.signs.told {
		return false
	}
	s.signs.told = false
	s.EachPattern(func(name string, p *pattern.Pattern) {
		if p.Repeats != 0 && !p.Told {
			p.Told = true
			fn(name, p)
		}
	})
	return true
}
