package orders

import (
	"slices"

	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// closesVersionCycle reports that the versions of k make a cycle with the precedence id, and
// gives their order up.
func (s *Orders) closesVersionCycle(k, id uint32, again *reordering) bool {
	p := &s.Partial
	q := p.Precedences[id]
	var path []causes.Hop
	if s.known(q.From) && s.known(q.To) {
		path = s.versionPath(k, q.To, q.From)
	}
	if path == nil {
		return false
	}
	from := len(s.Out.Steps)
	at := q.b
	step := func(to uint32, label ledger.Label, v uint32) {
		if to != at {
			s.Out.Steps = append(s.Out.Steps, ledger.Step{From: at, To: to, Label: label, Version: v})
			at = to
		}
	}
	s.Out.Steps = append(s.Out.Steps, ledger.Step{From: q.a, To: q.b, Label: q.label, Version: q.To})
	for _, h := range path {
		if h.Prec != 0 {
			r := p.Precedences[h.Prec]
			step(r.a, ledger.WR, r.From)
			step(r.b, r.label, r.To)
		} else {
			w := &s.Writes[h.Write]
			if w.Blind {
				step(w.Txn, ledger.RW, w.Version)
			} else {
				step(w.Txn, ledger.WR, w.Pred)
			}
		}
	}
	step(q.a, ledger.WR, q.From)
	for _, x := range s.Out.Steps[from:] {
		s.Pin(x.From)
		s.Held = append(s.Held, x.From)
	}
	a := ledger.Anomaly{Kind: ledger.CyclicVersions, A: q.a, B: q.b, Version: q.To, OpA: uint32(from), Count: int64(len(s.Out.Steps) - from), Certain: true}
	s.Keys[k].LoseOrder()
	s.Uncheckable(k) // should the finding be withdrawn
	s.dropPrecedences(k, false, again)
	s.Report(a)
	return true
}

// VersionCycleBy reports that the versions of a key make a cycle with the write record id,
// which has just replaced the version before.
func (s *Orders) VersionCycleBy(id uint32) {
	w := &s.Writes[id]
	k := s.Versions[w.Version].Key
	if w.Pred == 0 || s.Keys[k].HasNoOrder() || !s.known(w.Version) || !s.known(w.Pred) {
		return
	}
	for _, h := range s.versionPath(k, w.Version, w.Pred) {
		if h.Prec != 0 {
			s.closesVersionCycle(k, h.Prec, nil)
			return
		}
	}
}

// versionPath is a way from one version of k on to another, nil if there is none.
func (s *Orders) versionPath(k, from, to uint32) []causes.Hop {
	hops := []causes.Hop{{To: from, Parent: -1}}
	seen := func(v uint32) bool {
		return slices.ContainsFunc(hops, func(h causes.Hop) bool { return h.To == v })
	}
	for i := 0; i < len(hops); i++ {
		v := hops[i].To
		if v == to {
			var path []causes.Hop
			for ; hops[i].Parent >= 0; i = hops[i].Parent {
				path = append(path, hops[i])
			}
			slices.Reverse(path)
			return path
		}
		if len(hops) > causes.MaxVersionCycle {
			s.Uncheckable(k)
			return nil
		}
		for id := *At(&s.Partial.out, v); id != 0; id = s.Partial.Precedences[id].nextOut {
			if q := s.Partial.Precedences[id].To; !seen(q) && s.known(q) {
				hops = append(hops, causes.Hop{To: q, Prec: id, Parent: i})
			}
		}
		if s.Versions[v].Flags&ledger.Ambiguous != 0 {
			continue
		}
		for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
			if q := s.Writes[id].Version; !seen(q) && s.known(q) {
				hops = append(hops, causes.Hop{To: q, Write: id, Parent: i})
			}
		}
	}
	return nil
}

// OrderedBy are the transactions of the precedence which shows that e.Version comes behind the version
// that e.From left or read of its key. They are 0 if other evidence shows this order.
func (s *Orders) OrderedBy(e ledger.Edge) (a, b uint32, label ledger.Label) {
	p := &s.Partial
	if !s.Opt.SequentialKeys && !s.Opt.LinearizableKeys {
		return 0, 0, 0
	}
	for id := *At(&p.in, e.Version); id != 0; id = p.Precedences[id].nextIn {
		q := &p.Precedences[id]
		if e.Label&(ledger.WW|ledger.OtherRow) != 0 && s.Versions[q.From].Writer == e.From || e.Label&ledger.RW != 0 && s.ReadUpTo(e.From, q.From) {
			return q.a, q.b, q.label
		}
	}
	return 0, 0, 0
}
