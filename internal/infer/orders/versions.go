package orders

import (
	"slices"

	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Kill takes back the edges with this version and one of these labels at the writer, also edges of the
// step in work. It also takes back the anomalies that rest on the version.
func (s *Orders) Kill(v, writer uint32, labels ledger.Label) {
	k := ledger.Kill{Version: v, Writer: writer, Labels: labels}
	s.Out.Kills = append(s.Out.Kills, k)
	s.Out.Edges = slices.DeleteFunc(s.Out.Edges, func(e ledger.Edge) bool { return k.Kills(&e) })
	s.Out.Anomalies = slices.DeleteFunc(s.Out.Anomalies, func(a ledger.Anomaly) bool {
		return a.Version == v && (a.Kind == ledger.G1b || a.Kind == ledger.Divergence || a.Kind == ledger.IncompatibleOrder || a.Kind == ledger.Nonlinearizable) ||
			a.Other == v && v != 0 ||
			s.cycleThrough(&a, v)
	})
}

// cycleThrough says whether the anomaly is a cycle of versions, and v is one of them.
func (s *Orders) cycleThrough(a *ledger.Anomaly, v uint32) bool {
	return a.Kind == ledger.CyclicVersions && slices.ContainsFunc(s.Out.Steps[a.OpA:int64(a.OpA)+a.Count], func(x ledger.Step) bool { return x.Version == v })
}

// KillOrder takes back the edges that lead to the writer of v as the one of a later
// version. Other conclusions from v stay.
func (s *Orders) KillOrder(v, writer uint32) {
	s.KillEdges(v, writer, ledger.WW|ledger.RW|ledger.OtherRow)
}

// NamedOnly says whether t, which replaced v, names it by prev_version only, and read another
// version of the key.
func (s *Orders) NamedOnly(v, t uint32) bool {
	k := s.Versions[v].Key
	if s.Keys[k].Flags&ledger.Versioned == 0 {
		return false
	}
	for id := s.Txns[t].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if r := &s.Readers[id]; r.Version == v && r.How == ledger.Named {
			return true
		}
	}
	return false
}

// WithdrawOverwrite takes a write record out of its predecessor's list.
func (s *Orders) WithdrawOverwrite(id uint32) {
	w := &s.Writes[id]
	if w.Pred == 0 {
		return
	}
	if w.PrevOver == 0 {
		s.Versions[w.Pred].Over = w.NextOver
	} else {
		s.Writes[w.PrevOver].NextOver = w.NextOver
	}
	if w.NextOver != 0 {
		s.Writes[w.NextOver].PrevOver = w.PrevOver
	}
	w.Pred, w.NextOver, w.PrevOver = 0, 0, 0
}

// left says whether n, whose writes are not settled so far, left v in its key.
func (s *Orders) left(n, v uint32) bool {
	id := s.WriteOf(n, v)
	return id != 0 && !s.Writes[id].Intermediate
}

// Installed says whether the writer of v left it in the key. A version that the writer
// overwrote itself gives no order of versions. A transaction that read it and wrote the key may
// have come before the last one.
func (s *Orders) Installed(v uint32) bool {
	if s.Versions[v].Flags&ledger.OverwrittenByWriter == 0 {
		return true
	}
	id := s.WriteOf(s.Versions[v].Writer, v)
	return id != 0 && !s.Writes[id].Intermediate
}
