package linear

import (
	"math"
	"unsafe"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
)

// Linear has the bounds that real time puts on a key.
type Linear struct {
	*registers.Registers
	lines []line // by version
	// Scratch.
	below   []uint32
	placing uint32 // the transaction whose keys get their positions now
}

// This file checks linearizability while the records come (MTC, section IV-E, algorithm 2). It is for
// registers whose writers say which version they replaced, by a cas or by a read before the write. Each
// version hangs below the version that its writer replaced. So a path down from a version is the only
// order of the operations on it: its writer, its readers, the next writer. An operation contradicts the
// order if it began after an operation further down had ended. A blind write hangs below the initial
// version, which all others follow. Two branches are not compared.
//
// A position keeps the greatest start above it and the least end below it. So an operation is
// compared with two numbers wherever it comes in. Its changes to them end, up and down, where
// the number there is as good already. That is after as many steps as operations run at a time,
// when records come about in order. An operation that is taken back leaves the numbers as they
// were. A contradiction is confirmed by a walk.

// moment is the start or the end of a transaction's work.
type moment struct {
	at  int64
	txn uint32
	_   uint32
}

// line is the position of a version among the operations on its key, 112 bytes, by number of
// the version. It is kept only where linearizability is asked for.
type line struct {
	of    uint64 // KeyOfValue of the version: another one had the number when it differs
	begun moment // greatest start of its writer and of all above
	ended moment // end of its writer
	// The greatest start and the least end of its readers.
	readBegun, readEnded moment
	later                moment // least end of all below
	again                bool   // is computed again
	_                    [7]byte
}

const never, always = math.MaxInt64, math.MinInt64

// lineOf is the position of v.
func (s *Linear) lineOf(v uint32) *line {
	for int(v) >= len(s.lines) {
		s.lines = append(s.lines, line{})
	}
	l := &s.lines[v]
	if of := s.KeyOfValue(v); l.of != of {
		none, end := moment{at: always}, moment{at: never}
		*l = line{of: of, begun: none, ended: end, readBegun: none, readEnded: end, later: end}
	}
	return l
}

func latest(a, b moment) moment {
	if b.at > a.at {
		return b
	}
	return a
}

func earliest(a, b moment) moment {
	if b.at < a.at {
		return b
	}
	return a
}

// LineUp places n, which counts: each of its first reads and last writes gets its position.
// Ranges and sets have none.
func (s *Linear) LineUp(n uint32) {
	t := &s.Txns[n]
	if t.Flags&ledger.Stale != 0 {
		return
	}
	s.placing = n
	begin, end := moment{at: t.Start, txn: n}, moment{at: t.End, txn: n}
	switch {
	case t.Flags&ledger.HasTimes == 0:
		s.Counters.Placeless++
		return
	case t.Flags&ledger.Unknown != 0:
		end.at = never // it may have taken effect at any time from its start on
	case end.at < s.BegunRetired-s.Opt.ClockDrift:
		// Something that began after it is no longer kept.
		for i := range s.Touches {
			if v := s.Keys[s.Touches[i].Key].Initial; v != 0 {
				s.Report(ledger.Anomaly{Kind: ledger.RetiredReader, A: n, Version: v})
				break
			}
		}
	}
	for i := range s.Touches {
		c := &s.Touches[i]
		k := &s.Keys[c.Key]
		if k.Kind != event.Register && k.Kind != event.AnyKind || k.Flags&(ledger.Element|ledger.Unsupported|ledger.Sums) != 0 || c.Flags&causes.Misread != 0 {
			s.Counters.Placeless++
			continue
		}
		if c.Flags&causes.Wrote != 0 {
			s.lineUpWrite(c, begin, end)
		} else if v := c.ReadVer; v != 0 && s.Versions[v].Flags&ledger.Ambiguous == 0 {
			s.lineUpRead(v, begin, end)
		}
	}
}

func (s *Linear) lineUpRead(v uint32, begin, end moment) {
	for range 2 { // again when what the position held had been taken back
		l := *s.lineOf(v)
		told, stale := s.disagree(l.begun, end, v)
		if !told && !stale {
			told, stale = s.disagree(begin, l.later, v)
		}
		if told {
			return
		}
		if !stale {
			break
		}
	}
	l := s.lineOf(v)
	l.readBegun, l.readEnded = latest(l.readBegun, begin), earliest(l.readEnded, end)
	s.beginBelow(v, begin)
	s.endAbove(s.above(v), end)
}

func (s *Linear) lineUpWrite(c *causes.Touch, begin, end moment) {
	w := &s.Writes[c.LastWrite]
	v := w.Version
	if s.Versions[v].Flags&ledger.Ambiguous != 0 {
		return
	}
	p := s.above(v)
	if p != 0 && s.Versions[v].Over != 0 && s.versionCycle(v, p) {
		return
	}
	var before, after moment
	for range 2 { // as above
		before = moment{at: always}
		if p != 0 {
			l := s.lineOf(p)
			before = latest(l.begun, l.readBegun)
		}
		l := s.lineOf(v)
		after = earliest(l.readEnded, l.later)
		told, stale := s.disagree(before, end, v)
		if !told && !stale {
			told, stale = s.disagree(begin, after, v)
		}
		if !told && !stale {
			told, stale = s.disagree(before, after, v)
		}
		if told {
			return
		}
		if !stale {
			break
		}
	}
	l := s.lineOf(v)
	l.ended = end
	if b := latest(before, begin); b.at > l.begun.at {
		l.begun = b
		s.beginBelow(v, b)
	}
	s.endAbove(p, earliest(end, after))
}

// versionCycle reports that p, which the writer of v replaced, is below v. O(versions below v):
// they came before v's writer did.
func (s *Linear) versionCycle(v, p uint32) bool {
	from, steps := len(s.below), 0
	s.below = append(s.below, v)
	found := false
	for len(s.below) > from && !found {
		at := s.below[len(s.below)-1]
		s.below = s.below[:len(s.below)-1]
		if steps++; steps > maxLine {
			s.Counters.Placeless++
			break
		}
		for id := s.Versions[at].Over; id != 0 && !found; id = s.Writes[id].NextOver {
			found = s.Writes[id].Version == p
			s.below = append(s.below, s.Writes[id].Version)
		}
	}
	s.below = s.below[:from]
	if found {
		s.Report(ledger.Anomaly{Kind: ledger.Nonlinearizable, A: s.Versions[v].Writer, B: s.Versions[p].Writer, Version: p, Other: v, Count: 1, Certain: true})
	}
	return found
}

// above is the version that the writer of v replaced. It is 0 if that is not known, or names
// nothing: after a delete of the key, the initial version does not come before all.
func (s *Linear) above(v uint32) uint32 {
	x := &s.Versions[v]
	if x.Writer == 0 || x.Flags&(ledger.InitialVersion|ledger.Ambiguous) != 0 {
		return 0
	}
	id := s.WriteOf(x.Writer, v)
	if id == 0 || s.Writes[id].Intermediate {
		return 0
	}
	if p := s.Writes[id].Pred; p != 0 && s.Versions[p].Flags&ledger.Ambiguous == 0 {
		return p
	}
	return 0
}

// beginBelow tells the versions below v that an operation above them began at m.
func (s *Linear) beginBelow(v uint32, m moment) {
	from := len(s.below)
	s.below = append(s.below, v)
	for len(s.below) > from {
		v = s.below[len(s.below)-1]
		s.below = s.below[:len(s.below)-1]
		for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
			if l := s.lineOf(s.Writes[id].Version); l.begun.at < m.at {
				l.begun = m
				s.below = append(s.below, s.Writes[id].Version)
			}
		}
	}
}

// endAbove tells v and the versions above it that an operation below them ended at m.
func (s *Linear) endAbove(v uint32, m moment) {
	for ; v != 0; v = s.above(v) {
		l := s.lineOf(v)
		if l.later.at <= m.at {
			return
		}
		l.later = m
	}
}

// maxLine bounds the walk between the versions of two operations that contradict each other.
const maxLine = 1 << 12

// disagree reports two operations: earlier began after later had ended, and yet comes before it in the
// order. One of the two is about v. If the versions do not show that any more, the positions are stale
// and made again. It reports nothing of a retired operation, since it is chance whether that is still
// in memory. Such an operation may have begun after the record in work had ended, or be a neighbour of
// v. In both cases a horizon finding tells of it already. One further down is flagged here.
func (s *Linear) disagree(earlier, later moment, v uint32) (told, stale bool) {
	if earlier.at == always || later.at == never || later.at >= earlier.at-s.Opt.ClockDrift {
		return false, false
	}
	k := s.Versions[v].Key
	if !s.Opt.Whole && (s.hasLeft(earlier.txn) || s.hasLeft(later.txn)) {
		if s.hasLeft(later.txn) && s.liveBelow(v) {
			s.Report(ledger.Anomaly{Kind: ledger.RetiredReader, A: s.placing, Version: v})
		}
		if s.Txns[earlier.txn].State == ledger.Counted && s.Txns[later.txn].State == ledger.Counted {
			return true, false
		}
	} else if s.confirmLine(k, earlier.txn, later.txn) {
		return true, false
	}
	s.lineAgain(k, v)
	return false, true
}

// hasLeft says whether n has retired, or left memory, perhaps since its record was
// replaced.
func (s *Linear) hasLeft(n uint32) bool {
	return s.Txns[n].Flags&ledger.Retired != 0 || s.Txns[n].State != ledger.Counted
}

// liveBelow says whether a transaction that read v or replaced it has not retired.
func (s *Linear) liveBelow(v uint32) bool {
	if s.Versions[v].Readers != 0 {
		return true
	}
	for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
		if !s.hasLeft(s.Writes[id].Txn) {
			return true
		}
	}
	return false
}

// confirmLine reports the two if there is a path from the one down to the other.
func (s *Linear) confirmLine(k, a, b uint32) bool {
	if a == b || s.Txns[a].State != ledger.Counted || s.Txns[b].State != ledger.Counted {
		return false
	}
	from, wrote := s.lineAt(a, k)
	to, installed := s.lineAt(b, k)
	if from == 0 || to == 0 || s.Txns[b].End >= s.Txns[a].Start-s.Opt.ClockDrift {
		return false
	}
	if from == to && (!wrote || installed) {
		return false
	}
	at := to
	for range maxLine {
		if at == 0 || at == from {
			break
		}
		at = s.above(at)
	}
	if at != from {
		return false
	}
	s.Report(ledger.Anomaly{Kind: ledger.Nonlinearizable, A: a, B: b, Version: to, Other: from, Certain: true})
	return true
}

// lineAt is the version of k that n installed. If n installed none, lineAt is the version that n read.
func (s *Linear) lineAt(n, k uint32) (v uint32, installed bool) {
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		if w := &s.Writes[id]; !w.Intermediate && s.Versions[w.Version].Key == k {
			return w.Version, true
		}
	}
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if r := &s.Readers[id]; r.Saw() && s.Versions[r.Version].Key == k {
			return r.Version, false
		}
	}
	return 0, false
}

// lineAgain computes the positions around v again, from the operations that are still there:
// others had been taken back. O(versions below the top one, or the one maxLine above v).
func (s *Linear) lineAgain(k, v uint32) {
	for range maxLine { // the bound also ends a cycle of versions, which is a finding of its own
		p := s.above(v)
		if p == 0 {
			break
		}
		v = p
	}
	var down []uint32
	for at := []uint32{v}; len(at) > 0; {
		v, at = at[len(at)-1], at[:len(at)-1]
		if s.lineOf(v).again {
			continue // around a cycle
		}
		down = append(down, v)
		s.lineOf(v).of = 0
		l := s.lineOf(v)
		l.again = true
		if p := s.above(v); p != 0 {
			l.begun = latest(s.lineOf(p).begun, s.lineOf(p).readBegun)
		}
		if w := s.Versions[v].Writer; w != 0 && s.Txns[w].Flags&ledger.HasTimes != 0 {
			l.begun = latest(l.begun, moment{at: s.Txns[w].Start, txn: w})
			l.ended = s.endOf(w)
		}
		for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
			n := s.Readers[r].Txn
			if at, installed := s.lineAt(n, k); !s.Readers[r].Saw() || installed || at != v || s.Txns[n].Flags&(ledger.HasTimes|ledger.Stale) != ledger.HasTimes {
				continue
			}
			l.readBegun = latest(l.readBegun, moment{at: s.Txns[n].Start, txn: n})
			l.readEnded = earliest(l.readEnded, s.endOf(n))
		}
		for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
			at = append(at, s.Writes[id].Version)
		}
	}
	for i := len(down) - 1; i >= 0; i-- {
		l := s.lineOf(down[i])
		l.again = false
		s.endAbove(s.above(down[i]), earliest(l.later, earliest(l.ended, l.readEnded)))
	}
}

func (s *Linear) endOf(n uint32) moment {
	if s.Txns[n].Flags&ledger.Unknown != 0 {
		return moment{at: never}
	}
	return moment{at: s.Txns[n].End, txn: n}
}

// Line appends to dst the versions on the way down from one version to another. It returns nil if there
// is no way.
func (s *Linear) Line(dst []uint32, from, to uint32) []uint32 {
	at := len(dst)
	for v := to; ; v = s.above(v) {
		if v == 0 || len(dst)-at > maxLine {
			return nil
		}
		dst = append(dst, v)
		if v == from {
			break
		}
	}
	for i, j := at, len(dst)-1; i < j; i, j = i+1, j-1 {
		dst[i], dst[j] = dst[j], dst[i]
	}
	return dst
}

// ForgetAll lets go of all positions: linearizability is not asked for any more.
func (s *Linear) ForgetAll() { s.lines = nil }

// AppendState writes the positions.
func (s *Linear) AppendState(dst *flat.Writer) *flat.Writer {
	return flat.Append(dst, "lines", s.lines)
}

// ReadState reads what AppendState wrote.
func (s *Linear) ReadState(r *flat.Reader) { flat.Read(r, "lines", &s.lines) }

// Memory is the size of the positions, bytes: all of them are in use.
func (s *Linear) Memory() (used, taken int64) { return flat.Size(s.lines), flat.Size(s.lines) }

// Allocated is memory with the room to grow.
func (s *Linear) Allocated() int64 { return int64(cap(s.lines)) * int64(unsafe.Sizeof(line{})) }
