package window

import (
	"math"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
)

// timePlace gives the place of transaction n its bounds in real time: all of it
// happened between its start and its end, on its client's clock. What another
// client's clock shows may be off by the drift. A transaction of unknown outcome
// may take effect at any later time, one that asked for old data is not bound, and
// of one whose times are not its client's (none, or clamped) nothing is known.
func (m *Machine) timePlace(n uint32, p *incremental.Place) {
	x := m.infer.Info(n)
	p.NotBefore, p.NotAfter = math.MinInt64, math.MaxInt64
	if x.Stale {
		return
	}
	if !x.HasTimes {
		m.Counters.Timeless++
		return
	}
	p.NotBefore = x.Start
	if !x.Unknown {
		p.NotAfter = x.End + int64(m.cfg.Contract.ClockDrift)
	}
}

// past reports an edge by which a path goes back in real time, and one end of which
// has left the orders: a stale read of what a retired transaction overwrote, most
// often. The edge is not stored, so that it is no part of other cycles.
func (m *Machine) past(e *infer.Edge, refused incremental.Views) {
	var spokenFor []isolation.Level
	for _, i := range m.weakFirst {
		if refused&(1<<i) == 0 || m.views[i].Refuted(spokenFor) {
			continue
		}
		var es []infer.Edge
		path := m.graph.CyclePath(i)
		for _, id := range path {
			x := m.graph.Edge(id)
			es = append(es, infer.Edge{From: uint32(x.From), To: uint32(x.To), Label: infer.Label(x.Labels), Version: x.Note[0], Witness: x.Note[1]})
		}
		w, all := m.witnessOf(append(es, *e))
		if err := isolation.Verify(&w); err != nil {
			m.Counters.Unverified++
			m.Unverified = err
			continue
		}
		if n := m.unproven(all); n != 0 {
			m.note("outcome", doubt, m.noted(n))
			continue
		}
		name := m.weigh(&w)
		f := &openFinding{members: all[:len(w.Edges)], level: m.views[i]}
		f.edges = append(f.edges, path...)
		f.Finding.Certain = true
		f.rests = m.infer.RestsOn(nil, *e)
		if e.Version != 0 {
			f.versions = []uint32{e.Version}
		}
		m.show(f, all[len(w.Edges):])
		m.publish(f, name, &w)
		spokenFor = append(spokenFor, name.Weakest...)
	}
}
