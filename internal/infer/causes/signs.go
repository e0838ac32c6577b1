package causes

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/ledger"
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
// A record's signs are looked at before any conclusion from it leaves (SettleSigns in package registers, at
// the end of Add). From then on no plain value of the pattern names a version. On its keys,
// only the acts of one transaction by itself are looked at: see ReadDuplicate.
//
// No number of unique values is proof that the next one is unique: balances of TPC-B look
// unique for 2,800 versions.

// signs holds the signs of patterns.
type signs struct {
	Patterns             *pattern.Table
	twoKeys, twoVersions sightings    // which key had a value, and which version
	Most                 int          // entries of each; a setting
	New                  []pattern.ID // that have shown a sign in the record in work
	CameBack             []uint32     // versions that came back, by the record in work: see value_cycle.go
	replaced, roots      []uint32     // scratch of ValueCycle
	Glimpses             glimpses     // see glimpse.go
	column               []byte       // scratch of ColumnOf
	Stood                stood
	EndRetired           int64 // greatest end of what has retired
	Begun                int64 // latest begin: see attempts.go
	Told                 bool  // some pattern's sign is not told yet
}

// NewSigns returns the signs of a source that nothing is known of.
func NewSigns() signs { return signs{Patterns: pattern.New(), Most: MostSightings} }

// FollowPattern mutes k if the values of its pattern repeat.
func (s *Absences) FollowPattern(k uint32) {
	if x := &s.Keys[k]; s.Opt.Observed && x.Flags&ledger.Versioned == 0 && s.Signs.Patterns.Get(x.Pattern).Repeats != 0 {
		x.Flags |= ledger.Repeats
	}
}

// TellByVersion notes that an operation of k told its version: operations tell the versions of
// k from now on. Conclusions from its values stay: operations that told no version gave them. For a
// counter see TellCounter in package counters.
func (s *Absences) TellByVersion(k uint32) {
	x := &s.Keys[k]
	if x.Flags&ledger.Versioned != 0 || x.Kind > event.Register || x.Flags&ledger.Element != 0 {
		return
	}
	x.Flags = x.Flags&^ledger.Repeats | ledger.Versioned
	s.Counters.Versioned++
	if x.Stamp == s.Stamp && int(x.Touch) < len(s.Touches) && s.Touches[x.Touch].Key == k {
		if c := &s.Touches[x.Touch]; c.Flags&Wrote != 0 || c.Flags&(HasRead|ReadNothing) == HasRead {
			c.Flags |= Nameless // its earlier write or read names a version by value only
		}
	}
	if x.Count > 1 {
		s.Nameless = true
		if x.Count > 2 || x.Flags&ledger.Emptied == 0 { // else a delete left nothing
			x.Flags |= ledger.PlainBefore
		}
	}
}

// Sign notes that the values of k's pattern repeat.
func (s *Absences) Sign(k uint32, why pattern.Sign) {
	if !s.Opt.Observed || s.Keys[k].Flags&ledger.Versioned != 0 || s.Keys[k].Kind > event.Register {
		return
	}
	p := s.Signs.Patterns.Get(s.Keys[k].Pattern)
	if p.Repeats != 0 {
		return
	}
	p.Repeats = why
	s.Signs.New = append(s.Signs.New, s.Keys[k].Pattern)
}

// SecondWriter takes the sign that two committed transactions wrote v, n and another one.
func (s *Absences) SecondWriter(v, n uint32) {
	if !s.Opt.Observed || s.Txns[n].State != ledger.Counted || s.Txns[n].Flags&ledger.Unknown != 0 {
		return
	}
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if w := s.Writes[id].Txn; w != n && s.Txns[w].State == ledger.Counted && s.Txns[w].Flags&ledger.Unknown == 0 {
			s.Sign(s.Versions[v].Key, pattern.TwoWriters)
			return
		}
	}
	if s.Values.Has(s.KeyOfValue(v)) {
		s.Sign(s.Versions[v].Key, pattern.TwoWriters)
	}
}

// NoteValue takes in that v was written: whether its value was seen at another key of the
// pattern.
func (s *Absences) NoteValue(v uint32) {
	x := &s.Versions[v]
	k := &s.Keys[x.Key]
	if k.Flags&(ledger.Versioned|ledger.Repeats) != 0 || k.Kind > event.Register {
		return
	}
	p := s.Signs.Patterns.Get(k.Pattern)
	if p.Shared || p.Repeats != 0 {
		return
	}
	if where := s.Signs.twoKeys.see(x.Hash.Lo^uint64(k.Pattern)*0x9e3779b97f4a7c15, k.Hash.Lo, s.Signs.Most); where != k.Hash.Lo {
		p.Shared = true
	}
}

// NoteVersion takes in that the value of k had the version with this hash.
func (s *Absences) NoteVersion(k uint32, value, version event.Hash) {
	if !s.Opt.Observed {
		return
	}
	x := &s.Keys[k]
	p := s.Signs.Patterns.Get(x.Pattern)
	if p.Repeats != 0 || s.Signs.twoVersions.see(x.Hash.Lo^value.Lo*0x9e3779b97f4a7c15, version.Lo, s.Signs.Most) == version.Lo {
		return
	}
	p.Repeats = pattern.TwoVersions
	s.Signs.New = append(s.Signs.New, x.Pattern)
}

// CountRead counts a read of a plain value of k.
func (s *Absences) CountRead(k uint32) {
	if x := &s.Keys[k]; x.Flags&ledger.Versioned == 0 && x.Kind <= event.Register {
		s.Signs.Patterns.Get(x.Pattern).Reads++
	}
}

// Nobody marks v, which was read, if no writer of v is known.
func (s *Absences) Nobody(v uint32) {
	if s.NobodyKnown(v) {
		s.Mark(v, ledger.Unrecorded, 0)
	}
}

// ReadDuplicate takes a read of a key whose values repeat. Two faults need no identity: n did
// not read its own write, or read the key twice with two results.
func (s *Absences) ReadDuplicate(c *Touch, n, op uint32, h event.Hash, nothing bool) {
	switch {
	case c.Flags&Misread != 0 && c.Flags&Wrote == 0:
	case nothing && s.Txns[n].Flags&ledger.Unknown != 0: // what it saw is not known
	case c.Flags&Wrote != 0:
		s.ReadOwn(c, n, op, h, nothing)
	case c.Flags&HasRead != 0:
		if nothing != (c.Flags&ReadNothing != 0) || h != c.ReadHash {
			s.Misreads(ledger.Nonrepeatable, c, n, op, 0)
		}
	default:
		c.Flags |= HasRead
		c.ReadHash, c.ReadOp = h, op
		if nothing {
			c.Flags |= ReadNothing
		}
		p := s.Signs.Patterns.Get(s.Keys[c.Key].Pattern)
		p.Reads++
		p.Undecided++
		s.Counters.Repeating++
		s.ReadOpen(n, ledger.OpenRepeating)
	}
}

// WriteDuplicate takes a write of such a key.
func (c *Touch) WriteDuplicate(h event.Hash) {
	c.Current = h
	c.Flags = c.Flags&^Removed | Wrote
}

// EachPattern calls fn with the patterns of keys, in the order in which they were met.
func (s *Absences) EachPattern(fn func(name string, p *pattern.Pattern)) {
	s.Signs.Patterns.Each(func(_ pattern.ID, name string, p *pattern.Pattern) { fn(name, p) })
}

// AppendSigns writes the patterns and their signs.
func (s *Absences) AppendSigns(dst *flat.Writer) *flat.Writer {
	dst = s.Signs.Patterns.AppendState(dst)
	dst = flat.Append(dst, "twoKeys", s.Signs.twoKeys.slots)
	dst = flat.Append(dst, "twoVersions", s.Signs.twoVersions.slots)
	dst = s.Signs.Glimpses.appendState(dst)
	dst = flat.Append(dst, "stood", s.Signs.Stood)
	dst = flat.AppendValue(dst, "endRetired", &s.Signs.EndRetired)
	return flat.AppendValue(dst, "begun", &s.Signs.Begun)
}

// ReadSigns reads what AppendSigns wrote.
func (s *Absences) ReadSigns(r *flat.Reader) {
	most := s.Signs.Most
	s.Signs = NewSigns()
	s.Signs.Most = most
	s.Signs.Patterns.ReadState(r)
	s.Signs.twoKeys.read(r, "twoKeys")
	s.Signs.twoVersions.read(r, "twoVersions")
	s.Signs.Glimpses.readState(r)
	flat.Read(r, "stood", (*[]stand)(&s.Signs.Stood))
	flat.ReadValue(r, "endRetired", &s.Signs.EndRetired)
	flat.ReadValue(r, "begun", &s.Signs.Begun)
}

// RepeatsSince mutes k, which came back with these versions, if the values of its pattern have turned
// out to repeat. No live transaction has read or written one of them.
func (s *Absences) RepeatsSince(k uint32, vs []uint32) {
	x := &s.Keys[k]
	if !s.Opt.Observed || x.Kind > event.Register || s.Signs.Patterns.Get(x.Pattern).Repeats == 0 || x.Flags&(ledger.Versioned|ledger.PlainBefore) == ledger.Versioned {
		return
	}
	s.FollowPattern(k)
	for _, v := range vs {
		if y := &s.Versions[v]; y.Flags&ledger.InitialVersion == 0 {
			y.Flags = y.Flags&^ledger.Unrecorded | ledger.Ambiguous
			y.Writer = 0
		}
	}
}

// Shared says whether one value was seen at two keys of this key's pattern, or one element was
// appended twice. It is true, too, if the key is not in memory.
func (s *Absences) Shared(key, epoch string) bool {
	k := s.KeyNamed(key, epoch)
	return k == 0 || s.Signs.Patterns.Get(s.Keys[k].Pattern).Shared
}

// Beginning is the ValueKey of the key's initial version, 0 if the key is not in memory.
func (s *Absences) Beginning(key, epoch string) uint64 {
	if k := s.KeyNamed(key, epoch); k != 0 {
		return s.KeyOfValue(s.Keys[k].Initial)
	}
	return 0
}

// Repeats says whether the plain values of the key name no version, since the values of its
// pattern repeat. It is true, too, if that is not known: the key is not in memory.
func (s *Absences) Repeats(key, epoch string) bool {
	if !s.Opt.Observed {
		return false
	}
	k := s.KeyNamed(key, epoch)
	return k == 0 || s.Keys[k].Flags&ledger.Repeats != 0
}

// IsRegister says whether the key is known to be a register.
func (s *Absences) IsRegister(key, epoch string) bool {
	k := s.KeyNamed(key, epoch)
	return k != 0 && s.Keys[k].Kind == event.Register && s.Keys[k].Flags&ledger.Element == 0
}

// KeyNamed is the key with this name in the epoch, 0 if it is not in memory.
func (s *Absences) KeyNamed(key, epoch string) uint32 {
	h := event.HashText([]byte(key))
	if epoch != "" {
		h = ledger.UnderEpoch(h, xxh3.HashString(epoch))
	}
	if len(s.ByKey.Slots) == 0 {
		return 0
	}
	return s.LookupKey(h)
}

// Observed appends to dst the patterns whose plain values name their writers in e, as observed.
func (s *Absences) Observed(dst []pattern.ID, e ledger.Edge) []pattern.ID {
	for _, v := range s.RestsOnVersions(e) {
		dst = s.ObservedAt(dst, v)
	}
	return dst
}

// ObservedAt is Observed of what rests on the version v.
func (s *Absences) ObservedAt(dst []pattern.ID, v uint32) []pattern.ID {
	x := &s.Versions[v]
	k := &s.Keys[x.Key]
	if v == 0 || !s.Opt.Observed || k.Kind > event.Register || k.Flags&(ledger.Versioned|ledger.Element) != 0 || x.Flags&ledger.InitialVersion != 0 ||
		slices.Contains(dst, k.Pattern) {
		return dst
	}
	return append(dst, k.Pattern)
}

// SomeRepeat says whether the values of one of these patterns repeat.
func (s *Absences) SomeRepeat(of []pattern.ID) bool {
	return slices.ContainsFunc(of, func(p pattern.ID) bool { return s.Signs.Patterns.Get(p).Repeats != 0 })
}

// Unsigned says whether no pattern's sign is to be told: see Signed.
func (s *Absences) Unsigned() bool { return !s.Signs.Told }

// Signed calls fn with the patterns that have shown their sign since this was called last, and
// says whether there are any.
func (s *Absences) Signed(fn func(name string, p *pattern.Pattern)) bool {
	if !s.Signs.Told {
		return false
	}
	s.Signs.Told = false
	s.EachPattern(func(name string, p *pattern.Pattern) {
		if p.Repeats != 0 && !p.Told {
			p.Told = true
			fn(name, p)
		}
	})
	return true
}
