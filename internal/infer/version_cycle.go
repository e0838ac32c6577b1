package infer

import (
	"slices"
)

// Step is one step of a cycle of versions. The transaction From found or left the version that
// To found (WR), or the initial version, which To replaced (RW). Or From comes before To
// (Process, Realtime).
type Step struct {
	From, To uint32
	Label    Label
	Version  uint32 // that To found or left
}

// closesVersionCycle reports that the versions of k make a cycle with the precedence id, and
// gives their order up.
func (s *orders) closesVersionCycle(k, id uint32, again *reordering) bool {
	p := &s.partial
	q := p.precedences[id]
	var path []hop
	if s.known(q.from) && s.known(q.to) {
		path = s.versionPath(k, q.to, q.from)
	}
	if path == nil {
		return false
	}
	from := len(s.out.Steps)
	at := q.b
	step := func(to uint32, label Label, v uint32) {
		if to != at {
			s.out.Steps = append(s.out.Steps, Step{at, to, label, v})
			at = to
		}
	}
	s.out.Steps = append(s.out.Steps, Step{q.a, q.b, q.label, q.to})
	for _, h := range path {
		if h.prec != 0 {
			r := p.precedences[h.prec]
			step(r.a, WR, r.from)
			step(r.b, r.label, r.to)
		} else {
			w := &s.writes[h.write]
			if w.blind {
				step(w.txn, RW, w.version)
			} else {
				step(w.txn, WR, w.pred)
			}
		}
	}
	step(q.a, WR, q.from)
	for _, x := range s.out.Steps[from:] {
		s.pin(x.From)
		s.held = append(s.held, x.From)
	}
	a := Anomaly{Kind: CyclicVersions, A: q.a, B: q.b, Version: q.to, OpA: uint32(from), Count: int64(len(s.out.Steps) - from), Certain: true}
	s.keys[k].loseOrder()
	s.uncheckable(k) // should the finding be withdrawn
	s.dropPrecedences(k, false, again)
	s.anomaly(a)
	return true
}

// versionCycleBy reports that the versions of a key make a cycle with the write record id,
// which has just replaced the version before.
func (s *orders) versionCycleBy(id uint32) {
	w := &s.writes[id]
	k := s.versions[w.version].key
	if w.pred == 0 || s.keys[k].hasNoOrder() || !s.known(w.version) || !s.known(w.pred) {
		return
	}
	for _, h := range s.versionPath(k, w.version, w.pred) {
		if h.prec != 0 {
			s.closesVersionCycle(k, h.prec, nil)
			return
		}
	}
}

// hop is a step between versions: by a precedence, or by the writer that replaced one.
type hop struct {
	to          uint32
	prec, write uint32
	parent      int
}

// maxVersionCycle bounds the search for a cycle.
const maxVersionCycle = 1 << 12

// versionPath is a way from one version of k on to another, nil if there is none.
func (s *orders) versionPath(k, from, to uint32) []hop {
	hops := []hop{{to: from, parent: -1}}
	seen := func(v uint32) bool {
		return slices.ContainsFunc(hops, func(h hop) bool { return h.to == v })
	}
	for i := 0; i < len(hops); i++ {
		v := hops[i].to
		if v == to {
			var path []hop
			for ; hops[i].parent >= 0; i = hops[i].parent {
				path = append(path, hops[i])
			}
			slices.Reverse(path)
			return path
		}
		if len(hops) > maxVersionCycle {
			s.uncheckable(k)
			return nil
		}
		for id := *at(&s.partial.out, v); id != 0; id = s.partial.precedences[id].nextOut {
			if q := s.partial.precedences[id].to; !seen(q) && s.known(q) {
				hops = append(hops, hop{to: q, prec: id, parent: i})
			}
		}
		if s.versions[v].flags&ambiguous != 0 {
			continue
		}
		for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
			if q := s.writes[id].version; !seen(q) && s.known(q) {
				hops = append(hops, hop{to: q, write: id, parent: i})
			}
		}
	}
	return nil
}

// OrderedBy are the transactions of the precedence which shows that e.Version comes behind the version
// that e.From left or read of its key. They are 0 if other evidence shows this order.
func (s *orders) OrderedBy(e Edge) (a, b uint32, label Label) {
	p := &s.partial
	if !s.opt.SequentialKeys && !s.opt.LinearizableKeys {
		return 0, 0, 0
	}
	for id := *at(&p.in, e.Version); id != 0; id = p.precedences[id].nextIn {
		q := &p.precedences[id]
		if e.Label&(WW|OtherRow) != 0 && s.versions[q.from].writer == e.From || e.Label&RW != 0 && s.ReadUpTo(e.From, q.from) {
			return q.a, q.b, q.label
		}
	}
	return 0, 0, 0
}
