package window

import (
	"cmp"
	"math"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/solve"
)

// timePlace gives the place of transaction n its bounds in real time: all of it happened
// between its start and its end, on its client's clock. Another client's clock may be off by
// the drift. A transaction of unknown outcome may take effect at any later time. One that asked
// for old data is not bound. Nothing is known of one whose times are not its client's (none, or
// clamped).
func (s *reports) timePlace(n uint32, p *incremental.Place) {
	timeless := false
	if p.NotBefore, p.NotAfter, timeless = s.timesOf(n); timeless {
		s.Counters.Timeless++
	}
}

// timesOf bounds n in real time, and says whether its times are missing.
func (o *core) timesOf(n uint32) (notBefore, notAfter int64, timeless bool) {
	x := o.infer.Info(n)
	notBefore, notAfter = math.MinInt64, math.MaxInt64
	if x.Stale || !x.HasTimes {
		return notBefore, notAfter, !x.Stale
	}
	if !x.Unknown {
		notAfter = x.End + int64(o.cfg.Contract.ClockDrift)
	}
	return x.Start, notAfter, false
}

// backInTime reports an edge by which a path goes back in real time, where one end has left the
// orders. Most often it is a stale read of a version that a retired transaction overwrote. The
// edge is not stored, and so is not on other cycles.
func (h *finder) backInTime(e *infer.Edge, refused incremental.Views) {
	var spokenFor []isolation.Level
	for _, i := range h.weakFirst {
		if refused&(1<<i) == 0 || h.views[i].Refuted(spokenFor) {
			continue
		}
		var es []step
		path := h.graph.CyclePath(i)
		for _, id := range path {
			es = append(es, step{Edge: *inferred(h.graph.Edge(id)), id: id})
		}
		w, all := h.witnessing(1 << i).witnessOf(h.ofOneEpoch(inTime(append(es, step{Edge: *e}))))
		if err := h.verify(&w); err != nil {
			h.Counters.Unverified++
			h.unverified = err
			continue
		}
		if n := h.unproven(all); n != 0 {
			h.reports.noteUnproven(n, true)
			continue
		}
		name := h.reports.weigh(&w)
		f := &openFinding{members: all[:len(w.Edges)], level: h.views[i]}
		f.edges = append(f.edges, path...)
		f.Finding.Certain = true
		// By value: nothing keeps the version, whose number may be another's before the
		// finding is final.
		f.rests = h.infer.RestsOn(nil, *e)
		if v := h.infer.ValueKey(e.Version); v != 0 && !slices.Contains(f.rests, v) {
			f.rests = append(f.rests, v)
		}
		h.show(f, all[len(w.Edges):])
		h.publish(f, name, &w)
		spokenFor = append(spokenFor, name.Weakest...)
	}
}

// moments adds real time to the constraints of a timed view. It is a line of nodes for the
// starts and the ends, in the order of time. A transaction leads to the node of its end, and
// the node of its start leads to the transaction. At one time starts come first: a transaction
// that begins as another ends does not come after it.
func (o *choices) moments(i int, c *constraints, rest []solve.Edge) []solve.Edge {
	type moment struct {
		at   int64
		end  bool
		node int32
	}
	var all []moment
	p := &c.problem
	for at, n := range c.nodes {
		from, until := o.graph.Bounds(i, n)
		p.Place = append(p.Place, o.graph.Low(i, n))
		if from != math.MinInt64 {
			all = append(all, moment{from, false, int32(at)})
		}
		if until != math.MaxInt64 {
			all = append(all, moment{until, true, int32(at)})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		if a.at == b.at && a.end != b.end {
			if b.end {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	for k, x := range all {
		n := int32(p.Nodes)
		p.Nodes++
		p.Place = append(p.Place, x.at)
		if k > 0 {
			p.Edges = append(p.Edges, solve.Edge{From: n - 1, To: n})
		}
		if x.end {
			rest = append(rest, solve.Edge{From: x.node, To: n})
		} else {
			rest = append(rest, solve.Edge{From: n, To: x.node})
		}
	}
	return rest
}

// maxStepsInTime bounds the steps in real time that what cannot be ordered is told
// with.
const maxStepsInTime = 1000

// stepsInTime replaces the line of moments in the core by steps in real time, and returns them.
// A step leads from a transaction that was over to one that began later within its epoch (see
// [finder.ofOneEpoch]). ok is false when they are too many.
func (o *choices) stepsInTime(i int, c *constraints, core *solve.Core) (steps []solve.Edge, ok bool) {
	moments := int32(len(c.nodes))
	var over, begun []solve.Edge
	rest := core.Edges[:0:0]
	for _, e := range core.Edges {
		switch {
		case e.From >= moments && e.To >= moments:
		case e.To >= moments:
			over = append(over, e)
		case e.From >= moments:
			begun = append(begun, e)
		default:
			rest = append(rest, e)
		}
	}
	if len(rest) == len(core.Edges) {
		return nil, true
	}
	epochs := make([]uint64, len(begun))
	for k, b := range begun {
		epochs[k] = o.infer.Epoch(o.txnAt(i, c, b.To))
	}
	for _, a := range over {
		epoch := o.infer.Epoch(o.txnAt(i, c, a.From))
		for k, b := range begun {
			if a.To < b.From && epochs[k] == epoch { // moments are numbered in the order of time
				rest = append(rest, solve.Edge{From: a.From, To: b.To})
			}
		}
		if len(rest) > len(core.Edges)+maxStepsInTime {
			return nil, false
		}
	}
	core.Edges = rest
	core.Shrink(&c.problem)
	for _, e := range core.Edges {
		if slices.ContainsFunc(over, func(a solve.Edge) bool { return a.From == e.From }) &&
			slices.ContainsFunc(begun, func(b solve.Edge) bool { return b.To == e.To }) {
			steps = append(steps, e)
		}
	}
	return steps, true
}

// noteLate reports a transaction that comes late: a transaction that began after its end has retired.
// The late one may have overwritten a version that the retired one read.
func (s *reports) noteLate(n uint32) {
	late := incremental.Views(0)
	for i := range s.views {
		if s.views[i].RealTime() && s.graph.Late(i) {
			late |= 1 << i
		}
	}
	if late = s.saturated.toTell(late); late == 0 {
		return
	}
	if s.shownLate(n) {
		s.countOnly(late, s.clock.noted(n))
	} else {
		s.noteIn(late, edgeBasis{}, "real time", "late transaction in real time", s.clock.noted(n))
	}
}
