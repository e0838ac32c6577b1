package infer

import (
	"math"
	"unsafe"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

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
	of    uint64 // valueKey of the version: another one had the number when it differs
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
func (s *linear) lineOf(v uint32) *line {
	for int(v) >= len(s.lines) {
		s.lines = append(s.lines, line{})
	}
	l := &s.lines[v]
	if of := s.valueKey(v); l.of != of {
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

// lineUp places n, which counts: each of its first reads and last writes gets its position.
// Ranges and sets have none.
func (s *linear) lineUp(n uint32) {
	t := &s.txns[n]
	if t.flags&stale != 0 {
		return
	}
	s.placing = n
	begin, end := moment{at: t.start, txn: n}, moment{at: t.end, txn: n}
	switch {
	case t.flags&hasTimes == 0:
		s.Counters.Placeless++
		return
	case t.flags&unknown != 0:
		end.at = never // it may have taken effect at any time from its start on
	case end.at < s.begunRetired-s.opt.ClockDrift:
		// Something that began after it is no longer kept.
		for i := range s.touches {
			if v := s.keys[s.touches[i].key].initial; v != 0 {
				s.anomaly(Anomaly{Kind: RetiredReader, A: n, Version: v})
				break
			}
		}
	}
	for i := range s.touches {
		c := &s.touches[i]
		k := &s.keys[c.key]
		if k.kind != event.Register && k.kind != event.AnyKind || k.flags&(element|unsupported|sums) != 0 || c.flags&misread != 0 {
			s.Counters.Placeless++
			continue
		}
		if c.flags&wrote != 0 {
			s.lineUpWrite(c, begin, end)
		} else if v := c.readVer; v != 0 && s.versions[v].flags&ambiguous == 0 {
			s.lineUpRead(v, begin, end)
		}
	}
}

func (s *linear) lineUpRead(v uint32, begin, end moment) {
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

func (s *linear) lineUpWrite(c *touch, begin, end moment) {
	w := &s.writes[c.lastWrite]
	v := w.version
	if s.versions[v].flags&ambiguous != 0 {
		return
	}
	p := s.above(v)
	if p != 0 && s.versions[v].over != 0 && s.versionCycle(v, p) {
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
func (s *linear) versionCycle(v, p uint32) bool {
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
		for id := s.versions[at].over; id != 0 && !found; id = s.writes[id].nextOver {
			found = s.writes[id].version == p
			s.below = append(s.below, s.writes[id].version)
		}
	}
	s.below = s.below[:from]
	if found {
		s.anomaly(Anomaly{Kind: Nonlinearizable, A: s.versions[v].writer, B: s.versions[p].writer, Version: p, Other: v, Count: 1, Certain: true})
	}
	return found
}

// above is the version that the writer of v replaced. It is 0 if that is not known, or names
// nothing: after a delete of the key, the initial version does not come before all.
func (s *linear) above(v uint32) uint32 {
	x := &s.versions[v]
	if x.writer == 0 || x.flags&(initialVersion|ambiguous) != 0 {
		return 0
	}
	id := s.writeOf(x.writer, v)
	if id == 0 || s.writes[id].intermediate {
		return 0
	}
	if p := s.writes[id].pred; p != 0 && s.versions[p].flags&ambiguous == 0 {
		return p
	}
	return 0
}

// beginBelow tells the versions below v that an operation above them began at m.
func (s *linear) beginBelow(v uint32, m moment) {
	from := len(s.below)
	s.below = append(s.below, v)
	for len(s.below) > from {
		v = s.below[len(s.below)-1]
		s.below = s.below[:len(s.below)-1]
		for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
			if l := s.lineOf(s.writes[id].version); l.begun.at < m.at {
				l.begun = m
				s.below = append(s.below, s.writes[id].version)
			}
		}
	}
}

// endAbove tells v and the versions above it that an operation below them ended at m.
func (s *linear) endAbove(v uint32, m moment) {
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
func (s *linear) disagree(earlier, later moment, v uint32) (told, stale bool) {
	if earlier.at == always || later.at == never || later.at >= earlier.at-s.opt.ClockDrift {
		return false, false
	}
	k := s.versions[v].key
	if !s.opt.Whole && (s.hasLeft(earlier.txn) || s.hasLeft(later.txn)) {
		if s.hasLeft(later.txn) && s.liveBelow(v) {
			s.anomaly(Anomaly{Kind: RetiredReader, A: s.placing, Version: v})
		}
		if s.txns[earlier.txn].state == counted && s.txns[later.txn].state == counted {
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
func (s *linear) hasLeft(n uint32) bool {
	return s.txns[n].flags&retired != 0 || s.txns[n].state != counted
}

// liveBelow says whether a transaction that read v or replaced it has not retired.
func (s *linear) liveBelow(v uint32) bool {
	if s.versions[v].readers != 0 {
		return true
	}
	for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
		if !s.hasLeft(s.writes[id].txn) {
			return true
		}
	}
	return false
}

// confirmLine reports the two if there is a path from the one down to the other.
func (s *linear) confirmLine(k, a, b uint32) bool {
	if a == b || s.txns[a].state != counted || s.txns[b].state != counted {
		return false
	}
	from, wrote := s.lineAt(a, k)
	to, installed := s.lineAt(b, k)
	if from == 0 || to == 0 || s.txns[b].end >= s.txns[a].start-s.opt.ClockDrift {
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
	s.anomaly(Anomaly{Kind: Nonlinearizable, A: a, B: b, Version: to, Other: from, Certain: true})
	return true
}

// lineAt is the version of k that n installed. If n installed none, lineAt is the version that n read.
func (s *linear) lineAt(n, k uint32) (v uint32, installed bool) {
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		if w := &s.writes[id]; !w.intermediate && s.versions[w.version].key == k {
			return w.version, true
		}
	}
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if r := &s.readers[id]; r.saw() && s.versions[r.version].key == k {
			return r.version, false
		}
	}
	return 0, false
}

// lineAgain computes the positions around v again, from the operations that are still there:
// others had been taken back. O(versions below the top one, or the one maxLine above v).
func (s *linear) lineAgain(k, v uint32) {
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
		if w := s.versions[v].writer; w != 0 && s.txns[w].flags&hasTimes != 0 {
			l.begun = latest(l.begun, moment{at: s.txns[w].start, txn: w})
			l.ended = s.endOf(w)
		}
		for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
			n := s.readers[r].txn
			if at, installed := s.lineAt(n, k); !s.readers[r].saw() || installed || at != v || s.txns[n].flags&(hasTimes|stale) != hasTimes {
				continue
			}
			l.readBegun = latest(l.readBegun, moment{at: s.txns[n].start, txn: n})
			l.readEnded = earliest(l.readEnded, s.endOf(n))
		}
		for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
			at = append(at, s.writes[id].version)
		}
	}
	for i := len(down) - 1; i >= 0; i-- {
		l := s.lineOf(down[i])
		l.again = false
		s.endAbove(s.above(down[i]), earliest(l.later, earliest(l.ended, l.readEnded)))
	}
}

func (s *linear) endOf(n uint32) moment {
	if s.txns[n].flags&unknown != 0 {
		return moment{at: never}
	}
	return moment{at: s.txns[n].end, txn: n}
}

// Line appends to dst the versions on the way down from one version to another. It returns nil if there
// is no way.
func (s *linear) Line(dst []uint32, from, to uint32) []uint32 {
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

// forget lets go of all positions: linearizability is not asked for any more.
func (s *linear) forget() { s.lines = nil }

// appendState writes the positions.
func (s *linear) appendState(dst *flat.Writer) *flat.Writer {
	return flat.Append(dst, "lines", s.lines)
}

// readState reads what appendState wrote.
func (s *linear) readState(r *flat.Reader) { flat.Read(r, "lines", &s.lines) }

// memory is the size of the positions, bytes: all of them are in use.
func (s *linear) memory() (used, taken int64) { return flat.Size(s.lines), flat.Size(s.lines) }

// allocated is memory with the room to grow.
func (s *linear) allocated() int64 { return int64(cap(s.lines)) * int64(unsafe.Sizeof(line{})) }
