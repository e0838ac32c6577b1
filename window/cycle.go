package window

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/verify"
)

// telling names the views whose refusal of an edge open findings tell.
type telling struct {
	views incremental.Views
	by    []*openFinding
}

// cycle reports the edge id, which the given views refused. One witness can speak for several views.
// The other views get a witness of their own.
func (h *finder) cycle(id incremental.EdgeID, refused incremental.Views) (t telling) {
	var spokenFor []isolation.Level
	if f := h.reports.knownDivergence(id); f != nil { // weaker levels allow it, and refuse the edge for another cycle
		spokenFor = slices.Clone(f.weakest)
	}
	for _, i := range h.weakFirst {
		level := h.views[i]
		if refused&(1<<i) == 0 || level.Refuted(spokenFor) {
			continue
		}
		if level.Underlying().Limits() {
			spokenFor = append(spokenFor, h.limitedCycle(i, id)...)
			continue
		}
		path := append([]incremental.EdgeID{}, h.graph.CyclePath(i)...)
		c, _ := h.worst(id, level, path)
		if slices.ContainsFunc(c.Edges, func(e incremental.EdgeID) bool { return h.saturatedElsewhere(e, i) }) {
			c.Edges = append([]incremental.EdgeID{id}, path...)
		}
		weakest, by := h.reportCycle(c, id, level, 1<<i)
		spokenFor = append(spokenFor, weakest...)
		if by != nil {
			t.views |= 1 << i
			t.by = append(t.by, by)
		}
	}
	return t
}

// saturatedElsewhere says whether the edge is forced in other views than the i-th. In those views,
// larger pasts force the edge. So a cycle with it does not refute this view's level.
func (h *finder) saturatedElsewhere(id incremental.EdgeID, i int) bool {
	e := h.graph.Edge(id)
	return infer.Label(e.Labels)&infer.Saturated != 0 && (e.In|e.SetAside)&(1<<i) == 0
}

// knownDivergence says whether the edge closes the cycle of two anti-dependencies
// that is a lost update already reported, and notes it there. nil: it does not.
func (s *reports) knownDivergence(id incremental.EdgeID) *openFinding {
	e := s.graph.Edge(id)
	if infer.Label(e.Labels) != infer.RW {
		return nil
	}
	from, to := uint32(e.From), uint32(e.To)
	pred := s.infer.Saw(from, e.Note[0])
	if pred == 0 || s.infer.Saw(to, e.Note[0]) != pred || !s.infer.Overwrote(from, pred) || !s.infer.Overwrote(to, pred) {
		return nil
	}
	for _, n := range []uint32{from, to} {
		for _, f := range s.open.by[n] {
			if !f.closed && slices.Contains(f.versions, pred) {
				f.setAside = append(f.setAside, setAsideOf(s.graph, id))
				return f
			}
		}
	}
	return nil
}

// reportCycle verifies the cycle and reports it. It returns the levels that the cycle refutes, and
// the open finding that tells it, nil if none does.
func (h *finder) reportCycle(c isolation.Cycle, id incremental.EdgeID, level isolation.Level, refusing incremental.Views) ([]isolation.Level, *openFinding) {
	k := h.witnessing(refusing)
	bad, err := k.unsupported(c.Edges)
	if bad != 0 {
		h.saturated.void = append(h.saturated.void, setAsideOf(h.graph, bad))
		if bad != id {
			h.retries = append(h.retries, setAsideOf(h.graph, id))
		}
		return nil, nil
	}
	var x *toldCycle
	if err == nil {
		x, err = k.told(h.steps(c.Edges))
	}
	if err != nil {
		h.Counters.Unverified++
		h.unverified = err
		return nil, nil
	}
	if n := h.unproven(x.all); n != 0 {
		h.reports.noteUnproven(n, true)
		return nil, nil
	}
	return x.name.Weakest, k.publish(c, x, id, level)
}

func (o *core) record(n uint32) event.Record {
	if o.decoded == nil {
		o.decoded = &decodedRecords{}
	}
	r, err := o.decoded.read(n, o.infer.Record(n))
	if err != nil {
		return event.Record{ID: fmt.Sprintf("transaction %d, no longer in memory", n)}
	}
	return r
}

// verify says why w is not a contradiction. Its code shares nothing with the code that found w.
func (o *core) verify(w *finding.Witness) error {
	if o.cfg.Verify != nil {
		return o.cfg.Verify(o.withKinds(w))
	}
	return verify.Verify(o.withKinds(w))
}

// withKinds is w. It tells which arrays that were read beside a range are values of registers: the records
// of others may show that. A range shows no list.
func (o *core) withKinds(w *finding.Witness) *finding.Witness {
	told := w
	for i := range w.Txns {
		t := &w.Txns[i]
		if !slices.ContainsFunc(t.Ops, func(x event.RecordOp) bool { return x.Kind == event.Range }) {
			continue
		}
		for j := range t.Ops {
			x := &t.Ops[j]
			if x.Kind != event.Read || x.Data != event.AnyKind || x.Flags&event.IsArray == 0 || !o.infer.IsRegister(x.Key, t.Epoch) {
				continue
			}
			if told == w {
				clone := *w
				told, clone.Txns = &clone, slices.Clone(w.Txns)
			}
			if &told.Txns[i].Ops[0] == &t.Ops[0] {
				told.Txns[i].Ops = slices.Clone(t.Ops)
			}
			told.Txns[i].Ops[j].Data = event.Register
		}
	}
	return told
}
