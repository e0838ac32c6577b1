package infer

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// Let a reader have found nothing in a key, and have ended before any deleter of it began. It found the
// initial state of the key, since cause precedes effect. Conclusions from its read stay when the first
// delete of the key is recorded. So a finding that has left is not taken back because the row is
// deleted in the end. A whole history goes by the definitions of levels alone, which know no time.

// Deletion is a delete. It takes back conclusions from empty reads of the key.
type Deletion struct {
	Version uint32 // the initial one of the key
	Value   uint64 // its ValueKey
	Began   int64  // the deleter, by the clock that is the furthest behind: what rests on who had ended before stays
}

// keptRead is a transaction that found nothing in a key before anybody deleted it.
type keptRead struct{ key, txn, gen uint32 }

// maxKeptReads bounds them: what the others found says nothing when the key is deleted. So
// does what more than maxKeptEdges edges say.
const maxKeptReads, maxKeptEdges = 1024, 256

// endedBefore says whether transaction r had ended, by more than the clock drift, when n began.
func (s *ledger) endedBefore(r, n uint32) bool {
	x, y := &s.txns[r], &s.txns[n]
	return r != n && x.flags&y.flags&hasTimes != 0 && x.end < y.start-s.opt.ClockDrift
}

// mayKeep says whether n, the first to delete k, leaves what those had found who had ended.
func (s *causes) mayKeep(k, n uint32) bool {
	if n == 0 || s.opt.Whole || s.untimed > 0 || s.opt.Ordered || s.txns[n].flags&hasTimes == 0 || s.keys[k].kind != event.Register {
		return false
	}
	v, readers, roots := &s.versions[s.keys[k].initial], 0, 0
	for r := v.readers; r != 0 && readers <= maxKeptEdges; r = s.olderReader(r) {
		readers++
	}
	for id := v.over; id != 0 && roots <= maxKeptEdges; id = s.writes[id].nextOver {
		roots++
	}
	if len(s.kept)+readers > maxKeptReads {
		s.kept = slices.DeleteFunc(s.kept, func(r keptRead) bool { return !s.isKept(r) })
	}
	return readers*roots <= maxKeptEdges && len(s.kept)+readers <= maxKeptReads
}

// isKept says whether the transaction is in memory still.
func (s *causes) isKept(r keptRead) bool {
	t := &s.txns[r.txn]
	return t.gen == r.gen && t.state == counted && t.flags&retired == 0
}

// keepEarlier takes back what those say who found nothing in k and had not ended when n began.
func (s *causes) keepEarlier(k, n uint32) {
	v := s.keys[k].initial
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		t := s.readers[r].txn
		if s.endedBefore(t, n) {
			s.kept = append(s.kept, keptRead{k, t, s.txns[t].gen})
		} else {
			s.voidNothing(k, t)
		}
	}
	s.deletedSince(k, n)
}

// deletedEarlier is called when n, which deleted k too, is met. It takes back the kept
// conclusions of readers that had not ended when n began. If the deleter is not known (0), it
// takes back all.
func (s *causes) deletedEarlier(k, n uint32) {
	if s.opt.Whole {
		return
	}
	late := s.txns[n].flags&hasTimes == 0 || s.txns[n].start-s.opt.ClockDrift <= s.signs.endRetired
	was := len(s.kept)
	s.kept = slices.DeleteFunc(s.kept, func(r keptRead) bool {
		if r.key != k || !s.isKept(r) || s.endedBefore(r.txn, n) {
			return false
		}
		s.voidNothing(k, r.txn)
		return true
	})
	if late || len(s.kept) < was {
		s.deletedSince(k, n)
	}
}

// voidNothing takes back the order between t, which found nothing in k, and the writers of k.
func (s *causes) voidNothing(k, t uint32) {
	for id := s.versions[s.keys[k].initial].over; id != 0; id = s.writes[id].nextOver {
		s.killEdgesFrom(t, s.writes[id].version, s.writes[id].txn, RW)
	}
}

// deletedSince hands out that n deleted k.
func (s *causes) deletedSince(k, n uint32) {
	v := s.keys[k].initial
	d := Deletion{Version: v, Value: s.valueKey(v), Began: math.MinInt64}
	if s.txns[n].flags&hasTimes != 0 {
		d.Began = s.txns[n].start - s.opt.ClockDrift
	}
	s.out.Deletions = append(s.out.Deletions, d)
	s.killEdges(v, 0, WR) // there are no such edges: the kill says that v names another version now
	s.out.Anomalies = slices.DeleteFunc(s.out.Anomalies, func(a Anomaly) bool { return a.Kind == Divergence && a.Version == v })
}

func (s *causes) appendKept(dst *flat.Writer) *flat.Writer { return flat.Append(dst, "kept", s.kept) }

func (s *causes) readKept(r *flat.Reader) { flat.Read(r, "kept", &s.kept) }
