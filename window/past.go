package window

import (
	"errors"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/saturation"
)

// pastStep is one step of a past, by numbers.
type pastStep struct {
	from, to uint32
	label    infer.Label
	version  uint32             // read
	id       incremental.EdgeID // 0 where no edge is stored: a session's members further apart
}

// maxPast bounds the search for a past, in edges. Tests lower it.
var maxPast = 1 << 18

// errLongPast says that a search has looked at maxPast edges. A finding that rests on this past is not told, and no verdict is ok.
var errLongPast = errors.New("the reads that lead from one transaction to another were not found within the budget")

// past leads from the writer from to the reader by, for an edge that these views take. It may be one
// read, the earliest. The read is of a value that from left. Or it is of a list that shows from's
// element and ends with an element of another transaction. It may be session order. Or it is the
// shortest way by reads, and if there is none by both. It is nil when from is not in the past of by, or
// not any more. The error is errLongPast: there may be one.
//
// In the past of plain causal consistency only reads count. In the pasts of strong levels real time
// counts as well. For direct pasts, it is one step in real time. Otherwise real time is tried when the
// other ways lead nowhere.
func (f *saturated) past(from, by uint32, in incremental.Views) ([]pastStep, error) {
	bare, timed := in&f.unclosed != 0, f.inTime(in)
	f.readsOf = f.infer.ExternalReads(f.readsOf[:0], by)
	for i := range f.readsOf {
		r := &f.readsOf[i]
		if r.Writer == from {
			return []pastStep{{from, by, infer.WR, r.Version, f.stored(from, by, infer.WR)}}, nil
		}
		if v := f.infer.ShownOf(r.Version, from); v != 0 {
			return []pastStep{{from, by, infer.WR, v, f.stored(r.Writer, by, infer.WR)}}, nil
		}
	}
	if !bare && f.infer.Follows(from, by) {
		return []pastStep{{from, by, infer.Process, 0, f.stored(from, by, infer.Process)}}, nil
	}
	if timed && in != f.timed.causal && f.wasOver(from, by) {
		return []pastStep{{from, by, infer.Realtime, 0, 0}}, nil
	}
	steps, err := f.pastBy(from, by, infer.WR)
	if steps != nil || bare {
		return steps, err
	}
	steps, err = f.pastBy(from, by, infer.WR|infer.Process)
	if steps == nil && timed {
		steps, err = f.pastBy(from, by, infer.WR|infer.Process|infer.Realtime)
	}
	return f.joinPast(steps), err
}

// joinPast joins neighbouring steps in real time, or of one session, into one step.
func (f *saturated) joinPast(steps []pastStep) []pastStep {
	joined := steps[:0]
	for _, s := range steps {
		if k := len(joined); k > 0 && s.label != infer.WR && s.label == joined[k-1].label && (s.label == infer.Realtime || f.infer.Follows(joined[k-1].from, s.to)) {
			joined[k-1].to, joined[k-1].id = s.to, 0
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// stored is the id of the stored edge with this label between the two transactions, 0 if there is none.
func (o *core) stored(from, to uint32, label infer.Label) incremental.EdgeID {
	for id := o.graph.FirstIn(incremental.Vertex(to)); id != 0; id = o.graph.NextIn(id) {
		if e := o.graph.Edge(id); uint32(e.From) == from && infer.Label(e.Labels)&label != 0 {
			return id
		}
	}
	return 0
}

// pastBy is the shortest way back from by over the edges with one of the labels. From a list read it leads
// to all appends that the list shows.
func (f *saturated) pastBy(from, by uint32, labels infer.Label) ([]pastStep, error) {
	if f.allStored(labels) {
		return f.pastMeeting(from, by, labels)
	}
	return f.pastAlone(from, by, labels)
}

// pastAlone is a search from by alone.
func (f *saturated) pastAlone(from, by uint32, labels infer.Label) (steps []pastStep, err error) {
	seen := &f.seenPast
	seen.begin()
	seen.enter(by)
	queue := []pastVisit{{pastStep{from: by}, -1}}
	reach := func(s pastStep, at int) {
		if !seen.enter(s.from) {
			return
		}
		queue = append(queue, pastVisit{s, at})
		if s.from == from {
			steps = wayFrom(queue)
		}
	}
	budget := maxPast
	for i := 0; i < len(queue); i++ {
		n := queue[i].from
		if !f.graph.Known(incremental.Vertex(n)) {
			continue // it has left memory, or is being taken in
		}
		if labels&infer.Realtime != 0 {
			for _, p := range f.overNear(from, n) {
				budget--
				if reach(pastStep{from: p, to: n, label: infer.Realtime}, i); steps != nil {
					return steps, nil
				}
			}
		}
		for id := f.graph.FirstIn(incremental.Vertex(n)); id != 0; id = f.graph.NextIn(id) {
			if budget--; budget < 0 {
				return nil, errLongPast
			}
			e := f.graph.Edge(id)
			s := pastStep{uint32(e.From), n, infer.Label(e.Labels) & labels, e.Note[0], id}
			if s.label == 0 {
				continue
			}
			if s.label&infer.WR != 0 {
				s.label = infer.WR
			}
			if reach(s, i); steps != nil {
				return steps, nil
			}
			if s.label != infer.WR || !f.infer.OfList(s.version) || !f.infer.ReadUpTo(n, s.version) {
				continue
			}
			f.infer.Shown(s.version, func(w uint32) {
				if steps == nil && !seen.has(w) {
					reach(pastStep{w, n, infer.WR, f.infer.ShownOf(s.version, w), id}, i)
				}
			})
			if steps != nil {
				return steps, nil
			}
		}
	}
	return nil, nil
}

// seenTxns is a set of transactions that is emptied at once.
type seenTxns struct {
	by    []uint32 // by transaction: the round that entered it last
	round uint32
}

func (s *seenTxns) begin() {
	if s.round++; s.round == 0 {
		clear(s.by)
		s.round = 1
	}
}

func (s *seenTxns) has(n uint32) bool { return int(n) < len(s.by) && s.by[n] == s.round }

// enter says whether n was not there.
func (s *seenTxns) enter(n uint32) bool {
	if int(n) >= len(s.by) {
		s.by = append(s.by, make([]uint32, int(n)+1-len(s.by)+int(n)/2)...)
	}
	was := s.by[n] == s.round
	s.by[n] = s.round
	return !was
}

// stillRead says whether the reader that forces the edge is still known to have read from its
// end. The version can have got another writer, and the reader another record.
func (f *saturated) stillRead(e *incremental.Edge) bool {
	f.readsOf = f.infer.ExternalReads(f.readsOf[:0], e.Note[1])
	return slices.ContainsFunc(f.readsOf, func(r infer.ExternalRead) bool { return r.Version == e.Note[0] && r.Writer == uint32(e.To) })
}

// appendShown appends the read of the step. The stored edge belongs to the last element of a
// list, and tells nothing of those before it.
func (s *pastStep) appendShown(versions []uint32) []uint32 {
	if s.label == infer.WR && !slices.Contains(versions, s.version) {
		return append(versions, s.version)
	}
	return versions
}

// missed reports that e.By had e.From in its past, and yet read a version that e.From is known
// to have overwritten. That is an anti-dependency, and the way back. The edge id, 0 if there is
// none, is the edge that the views refused. missed returns false when the order of the two
// versions is not known by itself.
func (h *finder) missed(e *saturation.Edge, version uint32, id incremental.EdgeID, refused incremental.Views) bool {
	written := h.infer.Missed(e.From, version)
	if written == 0 {
		return false
	}
	steps, err := h.saturated.past(e.From, e.By, refused)
	if steps == nil {
		if id == 0 && err != nil { // else the cycle is told
			h.Counters.Unverified++
			h.unverified = err
		}
		return id == 0
	}
	var w finding.Witness
	h.given(&w)
	var members []uint32
	index := func(n uint32) int {
		if i := slices.Index(members, n); i >= 0 {
			return i
		}
		members = append(members, n)
		return len(members) - 1
	}
	f := &openFinding{versions: []uint32{version, written}}
	for i := range steps {
		w.Edges = append(w.Edges, h.stepEdge(&steps[i], index))
		if steps[i].id != 0 {
			f.edges = append(f.edges, steps[i].id)
		}
		f.versions = steps[i].appendShown(f.versions)
	}
	w.Edges = append(w.Edges, finding.Dependency{
		From: index(e.By), To: index(e.From), Label: infer.RW, Shown: -1,
		Key: h.infer.Key(written), Value: h.infer.Value(written, &h.scratch),
	})
	for _, n := range members {
		w.Txns = append(w.Txns, h.record(n))
	}
	if err := h.verify(&w); err != nil {
		h.Counters.Unverified++
		h.unverified = err
		return true
	}
	if n := h.unproven(members); n != 0 {
		h.reports.noteUnproven(n, true)
		return true
	}
	f.members = members
	if h.cfg.Untold {
		f.untold = members
	}
	f.Finding.Certain = true
	if id != 0 {
		f.setAside = []setAsideEdge{setAsideOf(h.graph, id)}
	}
	for _, i := range h.weakFirst {
		if refused&(1<<i) != 0 {
			f.level = h.views[i]
			break
		}
	}
	h.publish(f, h.reports.weigh(&w), &w)
	return true
}

func (h *finder) stepEdge(s *pastStep, index func(uint32) int) finding.Dependency {
	x := finding.Dependency{From: index(s.from), To: index(s.to), Label: s.label, Shown: -1}
	if s.version != 0 {
		x.Key = h.infer.Key(s.version)
		x.Value = h.infer.Value(s.version, &h.scratch)
	}
	return x
}
