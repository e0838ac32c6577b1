package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/saturation"
)

// pastStep is one step of a past, by numbers.
type pastStep struct {
	from, to uint32
	label    infer.Label
	version  uint32             // read
	id       incremental.EdgeID // 0 where no edge is stored: a session's members further apart
}

// maxPast bounds the search for a past, in edges.
const maxPast = 1 << 18

// past leads from the writer from to the reader by, for an edge that these views take:
// one read, the earliest, of what from left or of a list that shows it and ends with
// another one's element; session order; or else the shortest way by reads, and if there
// is none by both. nil when from is not in the past of by, or not any more.
//
// In the past of plain causal consistency only reads count, and in those of strong
// levels real time as well: there it is one step where direct pasts are asked for, and
// otherwise what is left where the others do not lead.
func (m *Machine) past(from, by uint32, in incremental.Views) []pastStep {
	bare, timed := in&m.forced.unclosed != 0, m.forced.inTime(in)
	f := &m.forced
	f.readsOf = m.infer.ExternalReads(f.readsOf[:0], by)
	for i := range f.readsOf {
		r := &f.readsOf[i]
		if r.Writer == from {
			return []pastStep{{from, by, infer.WR, r.Version, m.stored(from, by, infer.WR)}}
		}
		if v := m.infer.ShownOf(r.Version, from); v != 0 {
			return []pastStep{{from, by, infer.WR, v, m.stored(r.Writer, by, infer.WR)}}
		}
	}
	if !bare && m.infer.Follows(from, by) {
		return []pastStep{{from, by, infer.Process, 0, m.stored(from, by, infer.Process)}}
	}
	if timed && in != m.forced.timed.causal && m.wasOver(from, by) {
		return []pastStep{{from, by, infer.Realtime, 0, 0}}
	}
	if steps := m.pastBy(from, by, infer.WR); steps != nil || bare {
		return steps
	}
	if steps := m.pastBy(from, by, infer.WR|infer.Process); steps != nil || !timed {
		return m.joinPast(steps)
	}
	return m.joinPast(m.pastBy(from, by, infer.WR|infer.Process|infer.Realtime))
}

// joinPast makes one of steps in real time, or of one session, that follow one another.
func (m *Machine) joinPast(steps []pastStep) []pastStep {
	joined := steps[:0]
	for _, s := range steps {
		if k := len(joined); k > 0 && s.label != infer.WR && s.label == joined[k-1].label && (s.label == infer.Realtime || m.infer.Follows(joined[k-1].from, s.to)) {
			joined[k-1].to, joined[k-1].id = s.to, 0
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// stored is the edge from one to the other with the label, 0 if there is none.
func (m *Machine) stored(from, to uint32, label infer.Label) incremental.EdgeID {
	for id := m.graph.FirstIn(incremental.Vertex(to)); id != 0; id = m.graph.NextIn(id) {
		if e := m.graph.Edge(id); uint32(e.From) == from && infer.Label(e.Labels)&label != 0 {
			return id
		}
	}
	return 0
}

// pastBy searches back from by over the edges with one of the labels, and from a list
// read over all appends that it shows.
func (m *Machine) pastBy(from, by uint32, labels infer.Label) (steps []pastStep) {
	type visit struct {
		pastStep
		at int // of the one that it was reached from
	}
	seen := map[uint32]bool{by: true}
	queue := []visit{{pastStep{from: by}, -1}}
	reach := func(s pastStep, at int) {
		if seen[s.from] {
			return
		}
		seen[s.from] = true
		queue = append(queue, visit{s, at})
		if s.from != from {
			return
		}
		for v := queue[len(queue)-1]; v.at >= 0; v = queue[v.at] {
			steps = append(steps, v.pastStep)
		}
	}
	budget := maxPast
	for i := 0; i < len(queue); i++ {
		n := queue[i].from
		if !m.graph.Known(incremental.Vertex(n)) {
			continue // it has left memory, or is being taken in
		}
		if labels&infer.Realtime != 0 {
			for _, p := range m.overNear(from, n) {
				budget--
				if reach(pastStep{from: p, to: n, label: infer.Realtime}, i); steps != nil {
					return steps
				}
			}
		}
		for id := m.graph.FirstIn(incremental.Vertex(n)); id != 0; id = m.graph.NextIn(id) {
			if budget--; budget < 0 {
				return nil
			}
			e := m.graph.Edge(id)
			s := pastStep{uint32(e.From), n, infer.Label(e.Labels) & labels, e.Note[0], id}
			if s.label == 0 {
				continue
			}
			if s.label&infer.WR != 0 {
				s.label = infer.WR
			}
			if reach(s, i); steps != nil {
				return steps
			}
			if s.label != infer.WR || !m.infer.ReadUpTo(n, s.version) {
				continue
			}
			m.infer.Shown(s.version, func(w uint32) {
				if steps == nil && !seen[w] {
					reach(pastStep{w, n, infer.WR, m.infer.ShownOf(s.version, w), id}, i)
				}
			})
			if steps != nil {
				return steps
			}
		}
	}
	return nil
}

// pastOf is the past that forces the stored edge e.
func (m *Machine) pastOf(e *incremental.Edge) []pastStep {
	return m.past(uint32(e.From), e.Note[1], e.In|e.Aside)
}

// evidence says in the witness what forces the edge. index numbers transactions in
// it.
func (m *Machine) evidence(x *finding.Dependency, e *incremental.Edge, index func(uint32) int) {
	for _, s := range m.pastOf(e) {
		x.Past = append(x.Past, m.stepEdge(&s, index))
	}
}

func (m *Machine) stepEdge(s *pastStep, index func(uint32) int) finding.Dependency {
	x := finding.Dependency{From: index(s.from), To: index(s.to), Label: s.label, Shown: -1}
	if s.version != 0 {
		x.Key = m.infer.Key(s.version)
		x.Value = m.infer.Value(s.version, &m.scratch)
	}
	return x
}

// unforced is an edge of the cycle that nothing forces any more, 0 if there is none.
func (m *Machine) unforced(ids []incremental.EdgeID) incremental.EdgeID {
	for _, id := range ids {
		e := *m.graph.Edge(id)
		if infer.Label(e.Labels)&infer.Forced != 0 && (!m.stillRead(&e) || m.pastOf(&e) == nil) {
			return id
		}
	}
	return 0
}

// stillRead says whether the reader that forces the edge is known to have read from its
// end: the version can have got another writer, and the reader another record.
func (m *Machine) stillRead(e *incremental.Edge) bool {
	f := &m.forced
	f.readsOf = m.infer.ExternalReads(f.readsOf[:0], e.Note[1])
	return slices.ContainsFunc(f.readsOf, func(r infer.ExternalRead) bool { return r.Version == e.Note[0] && r.Writer == uint32(e.To) })
}

// restsOn are the stored edges of the reads, and of their pasts, that force edges of
// the cycle, and the versions that were read there.
func (m *Machine) restsOn(ids []incremental.EdgeID) (all []incremental.EdgeID, versions []uint32) {
	for _, id := range ids {
		e := *m.graph.Edge(id)
		if infer.Label(e.Labels)&infer.Forced == 0 {
			continue
		}
		if read := m.stored(uint32(e.To), e.Note[1], infer.WR|infer.Reread); read != 0 {
			all = append(all, read)
		}
		if !slices.Contains(versions, e.Note[0]) {
			versions = append(versions, e.Note[0])
		}
		for _, s := range m.pastOf(&e) {
			if s.id != 0 {
				all = append(all, s.id)
			}
			versions = s.appendShown(versions)
		}
	}
	return all, versions
}

// restsOnTime says whether real time takes part in a past that forces an edge of the
// cycle.
func (m *Machine) restsOnTime(ids []incremental.EdgeID) bool {
	return slices.ContainsFunc(ids, func(id incremental.EdgeID) bool {
		e := *m.graph.Edge(id)
		return infer.Label(e.Labels)&infer.Forced != 0 && m.forced.inTime(e.In|e.Aside) &&
			slices.ContainsFunc(m.pastOf(&e), func(s pastStep) bool { return s.label == infer.Realtime })
	})
}

// appendShown appends what the step read: the stored edge is that of the last element
// of a list, and says nothing of those before it.
func (s *pastStep) appendShown(versions []uint32) []uint32 {
	if s.label == infer.WR && !slices.Contains(versions, s.version) {
		return append(versions, s.version)
	}
	return versions
}

// missed reports that e.By read a version that e.From is known to have overwritten
// although it had e.From in its past: an anti-dependency, and the way back. The
// edge id, 0 if there is none, is what the views refused. false when the order of
// the two versions is not known by itself.
func (m *Machine) missed(e *saturation.Edge, version uint32, id incremental.EdgeID, refused incremental.Views) bool {
	written := m.infer.Missed(e.From, version)
	if written == 0 {
		return false
	}
	steps := m.past(e.From, e.By, refused)
	if steps == nil {
		return id == 0
	}
	var w finding.Witness
	m.given(&w)
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
		w.Edges = append(w.Edges, m.stepEdge(&steps[i], index))
		if steps[i].id != 0 {
			f.edges = append(f.edges, steps[i].id)
		}
		f.versions = steps[i].appendShown(f.versions)
	}
	w.Edges = append(w.Edges, finding.Dependency{
		From: index(e.By), To: index(e.From), Label: infer.RW, Shown: -1,
		Key: m.infer.Key(written), Value: m.infer.Value(written, &m.scratch),
	})
	for _, n := range members {
		w.Txns = append(w.Txns, m.record(n))
	}
	if err := m.verify(&w); err != nil {
		m.Counters.Unverified++
		m.Unverified = err
		return true
	}
	if n := m.unproven(members); n != 0 {
		m.note("outcome", doubt, m.noted(n))
		return true
	}
	f.members = members
	f.Finding.Certain = true
	if id != 0 {
		f.asides = []aside{asideOf(m.graph, id)}
	}
	for _, i := range m.weakFirst {
		if refused&(1<<i) != 0 {
			f.level = m.views[i]
			break
		}
	}
	m.publish(f, m.weigh(&w), &w)
	return true
}
