package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/pattern"
	"github.com/zeebo/xxh3"
)

// enterPattern gives the new key k its pattern.
func (s *Registers) enterPattern(k uint32, name []byte) {
	x := &s.Keys[k]
	if s.Opt.ByVersion {
		x.Flags |= ledger.Versioned
	}
	if !s.Opt.Observed || len(name) > 0 && name[0] == ledger.ElementMark {
		return // an element has the pattern of its set: see ElementKey in package sets
	}
	epoch := x.Hash.Hi - xxh3.Hash128(name).Hi
	for _, p := range s.Opt.Patterns {
		if pattern.Matches(p, name) {
			x.Pattern = s.Signs.Patterns.Named(epoch, p)
			s.FollowPattern(k)
			return
		}
	}
	id, spread := s.Signs.Patterns.Of(epoch, name)
	x.Pattern = id
	if spread {
		s.spreadSigns()
	}
	s.FollowPattern(k)
}

// Tells says whether the operation names its version.
func Tells(b *event.Batch, o *event.Op) bool {
	version, prev := causes.VersionOf(b, o)
	return len(version)+len(prev) > 0
}

// recorded takes in that n wrote v. No other writer of v is known. Reads and replacements from before
// are concluded now.
func (s *Registers) recorded(v, n uint32) {
	x := &s.Versions[v]
	if x.Flags&ledger.Unrecorded == 0 {
		return
	}
	s.Mark(v, 0, ledger.Unrecorded)
	if x.Flags&ledger.Ambiguous != 0 {
		return
	}
	if s.Opt.Ordered && s.Opt.Partly() {
		defer s.OrderAgain(x.Key)
	}
	for r := x.Readers; r != 0; r = s.OlderReader(r) {
		if t := s.Readers[r].Txn; t != n && s.LastOf(t, x.Key) != 0 && s.ReplacedBefore(v, t) {
			s.MakeAmbiguous(v)
			return
		}
	}
	s.replaceAgain(v, n)
}

// SettleSigns lets the signs of the record in work take effect: what was concluded from plain
// values of these patterns is void. O(keys and versions in memory) a pattern, once for each.
func (s *Registers) SettleSigns() {
	s.settleCameBack()
	if len(s.Signs.New) == 0 {
		return
	}
	s.Signs.New = s.Signs.New[:0]
	s.spreadSigns()
}

// spreadSigns mutes the keys whose patterns have a sign, and takes back what rests on their
// values.
func (s *Registers) spreadSigns() {
	s.Signs.Told = true
	for k := 1; k < len(s.Keys); k++ {
		x := &s.Keys[k]
		if x.Count == 0 || x.Kind > event.Register || x.Flags&ledger.Repeats != 0 || s.Signs.Patterns.Get(x.Pattern).Repeats == 0 {
			continue
		}
		if x.Flags&ledger.Versioned == 0 {
			x.Flags |= ledger.Repeats
		} else if x.Flags&ledger.PlainBefore == 0 {
			continue
		}
		x.Flags |= ledger.Voided
	}
	for v := 1; v < len(s.Versions); v++ {
		if x := &s.Versions[v]; x.Key != 0 && s.Keys[x.Key].Flags&ledger.Voided != 0 && x.Flags&ledger.InitialVersion == 0 {
			s.voidValue(uint32(v))
		}
	}
	for k := 1; k < len(s.Keys); k++ {
		s.Keys[k].Flags &^= ledger.Voided
	}
}

// voidValue takes back what rests on v being one version.
func (s *Registers) voidValue(v uint32) {
	x := &s.Versions[v]
	for id := x.Writes; id != 0; id = s.Writes[id].NextOfVer {
		if w := s.Writes[id].Txn; s.Txns[w].State == ledger.Counted && s.Txns[w].Flags&ledger.Unknown != 0 {
			s.Demote = append(s.Demote, w)
		}
	}
	s.Out.Ambiguous = append(s.Out.Ambiguous, s.KeyOfValue(v))
	if x.Writer != 0 {
		s.KillOrder(v, x.Writer)
	}
	s.Mark(v, 0, ledger.Unrecorded)
	s.MakeAmbiguous(v)
	for r := x.Readers; r != 0; r = s.OlderReader(r) {
		p := s.Signs.Patterns.Get(s.Keys[x.Key].Pattern)
		p.Undecided++
	}
}

// A version that names no writer any more shows signs all the same. Otherwise these would
// depend on the order in which records came. If a retry explains it, that is not a sign
// (Retried in package causes).

// Disown takes back the conclusions from v, whose writer is not known any more.
func (s *Registers) Disown(v uint32) {
	x := &s.Versions[v]
	if x.Key == 0 || !s.NobodyKnown(v) || !x.Names() || s.Keys[x.Key].Kind > event.Register {
		return
	}
	s.MakeAmbiguous(v)
	s.Mark(v, ledger.Unrecorded, ledger.Ambiguous)
}

// settleCameBack makes the versions that came back ambiguous, at the end of a record.
func (s *Registers) settleCameBack() {
	for _, v := range s.Signs.CameBack {
		if s.Versions[v].Flags&(ledger.Ambiguous|ledger.InitialVersion) == 0 && s.Versions[v].Key != 0 {
			s.MakeAmbiguous(v)
		}
	}
	s.Signs.CameBack = s.Signs.CameBack[:0]
}
