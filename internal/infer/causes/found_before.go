package causes

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// keptRead is a transaction that found nothing in a key before anybody deleted it.
type keptRead struct{ key, txn, gen uint32 }

// maxKeptReads bounds them: what the others found says nothing when the key is deleted. So
// does what more than maxKeptEdges edges say.
const maxKeptReads, maxKeptEdges = 1024, 256

// MayKeep says whether n, the first to delete k, leaves what those had found who had ended.
func (s *Causes) MayKeep(k, n uint32) bool {
	if n == 0 || s.Opt.Whole || s.UntimedPatience > 0 || s.Opt.Ordered || s.Txns[n].Flags&ledger.HasTimes == 0 || s.Keys[k].Kind != event.Register {
		return false
	}
	v, readers, roots := &s.Versions[s.Keys[k].Initial], 0, 0
	for r := v.Readers; r != 0 && readers <= maxKeptEdges; r = s.OlderReader(r) {
		readers++
	}
	for id := v.Over; id != 0 && roots <= maxKeptEdges; id = s.Writes[id].NextOver {
		roots++
	}
	if len(s.Kept)+readers > maxKeptReads {
		s.Kept = slices.DeleteFunc(s.Kept, func(r keptRead) bool { return !s.isKept(r) })
	}
	return readers*roots <= maxKeptEdges && len(s.Kept)+readers <= maxKeptReads
}

// isKept says whether the transaction is in memory still.
func (s *Causes) isKept(r keptRead) bool {
	t := &s.Txns[r.txn]
	return t.Gen == r.gen && t.State == ledger.Counted && t.Flags&ledger.Retired == 0
}

// KeepEarlier takes back what those say who found nothing in k and had not ended when n began.
func (s *Causes) KeepEarlier(k, n uint32) {
	v := s.Keys[k].Initial
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		t := s.Readers[r].Txn
		if s.EndedBefore(t, n) {
			s.Kept = append(s.Kept, keptRead{k, t, s.Txns[t].Gen})
		} else {
			s.voidNothing(k, t)
		}
	}
	s.deletedSince(k, n)
}

// DeletedEarlier is called when n, which deleted k too, is met. It takes back the kept
// conclusions of readers that had not ended when n began. If the deleter is not known (0), it
// takes back all.
func (s *Causes) DeletedEarlier(k, n uint32) {
	if s.Opt.Whole {
		return
	}
	late := s.Txns[n].Flags&ledger.HasTimes == 0 || s.Txns[n].Start-s.Opt.ClockDrift <= s.Signs.EndRetired
	was := len(s.Kept)
	s.Kept = slices.DeleteFunc(s.Kept, func(r keptRead) bool {
		if r.key != k || !s.isKept(r) || s.EndedBefore(r.txn, n) {
			return false
		}
		s.voidNothing(k, r.txn)
		return true
	})
	if late || len(s.Kept) < was {
		s.deletedSince(k, n)
	}
}

// voidNothing takes back the order between t, which found nothing in k, and the writers of k.
func (s *Causes) voidNothing(k, t uint32) {
	for id := s.Versions[s.Keys[k].Initial].Over; id != 0; id = s.Writes[id].NextOver {
		s.killEdgesFrom(t, s.Writes[id].Version, s.Writes[id].Txn, ledger.RW)
	}
}

// deletedSince hands out that n deleted k.
func (s *Causes) deletedSince(k, n uint32) {
	v := s.Keys[k].Initial
	d := ledger.Deletion{Version: v, Value: s.KeyOfValue(v), Began: math.MinInt64}
	if s.Txns[n].Flags&ledger.HasTimes != 0 {
		d.Began = s.Txns[n].Start - s.Opt.ClockDrift
	}
	s.Out.Deletions = append(s.Out.Deletions, d)
	s.KillEdges(v, 0, ledger.WR) // there are no such edges: the kill says that v names another version now
	s.Out.Anomalies = slices.DeleteFunc(s.Out.Anomalies, func(a ledger.Anomaly) bool { return a.Kind == ledger.Divergence && a.Version == v })
}

// AppendKept writes the reads that are kept.
func (s *Causes) AppendKept(dst *flat.Writer) *flat.Writer { return flat.Append(dst, "kept", s.Kept) }

// ReadKept reads what AppendKept wrote.
func (s *Causes) ReadKept(r *flat.Reader) { flat.Read(r, "kept", &s.Kept) }
