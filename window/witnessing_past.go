package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
)

// pastFor names a past: where it begins, whose it is, and the views.
type pastFor struct {
	from, by uint32
	in       incremental.Views
}

// searchedPast is the result of a search for a past.
type searchedPast struct {
	steps []pastStep
	err   error
}

// pastOf is the past that forces the stored edge e.
func (k *witnessing) pastOf(e *incremental.Edge) []pastStep { return k.searchPast(e).steps }

func (k *witnessing) searchPast(e *incremental.Edge) searchedPast {
	of := pastFor{uint32(e.From), e.Note[1], e.In | e.SetAside}
	found, ok := k.pasts[of]
	if !ok {
		found.steps, found.err = k.saturated.past(of.from, of.by, of.in)
		k.pasts[of] = found
	}
	return found
}

// evidence says in the witness what forces the edge. index numbers transactions in
// it.
func (k *witnessing) evidence(x *finding.Dependency, e *incremental.Edge, index func(uint32) int) {
	for _, s := range k.pastOf(e) {
		x.Past = append(x.Past, k.stepEdge(&s, index))
	}
}

// unsupported is an edge of the cycle that nothing forces any more, 0 if there is none. The error says that the past of an
// edge was not found, and that there may be one.
func (k *witnessing) unsupported(ids []incremental.EdgeID) (incremental.EdgeID, error) {
	var long error
	for _, id := range ids {
		e := *k.graph.Edge(id)
		if infer.Label(e.Labels)&infer.Saturated == 0 {
			continue
		}
		if !k.saturated.stillRead(&e) {
			return id, nil
		}
		if past := k.searchPast(&e); past.err != nil {
			long = past.err
		} else if past.steps == nil {
			return id, nil
		}
	}
	return 0, long
}

// restsOn are the stored edges of the reads, and of their pasts, that force edges of
// the cycle, and the versions that were read there.
func (k *witnessing) restsOn(ids []incremental.EdgeID) (all []incremental.EdgeID, versions []uint32) {
	for _, id := range ids {
		e := *k.graph.Edge(id)
		if infer.Label(e.Labels)&infer.Saturated == 0 {
			continue
		}
		if read := k.stored(uint32(e.To), e.Note[1], infer.WR|infer.Reread); read != 0 {
			all = append(all, read)
		}
		if !slices.Contains(versions, e.Note[0]) {
			versions = append(versions, e.Note[0])
		}
		for _, s := range k.pastOf(&e) {
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
func (k *witnessing) restsOnTime(ids []incremental.EdgeID) bool {
	return slices.ContainsFunc(ids, func(id incremental.EdgeID) bool {
		e := *k.graph.Edge(id)
		return infer.Label(e.Labels)&infer.Saturated != 0 && k.saturated.inTime(e.In|e.SetAside) &&
			slices.ContainsFunc(k.pastOf(&e), func(s pastStep) bool { return s.label == infer.Realtime })
	})
}

// shortened is a cycle that shows the same, with as few steps as can be found.
func (k *witnessing) shortened(steps []step) []step {
	if slices.ContainsFunc(steps, isSaturated) {
		if steps = k.seen(steps); slices.ContainsFunc(steps, isSaturated) {
			return k.joined(steps)
		}
	}
	s := k.chorded(k.joined(steps))
	return k.joined(k.chorded(k.chained(k.asking.tightened(s))))
}

// seen returns a cycle without forced edges, if operations show one of them. The reader behind that edge missed a
// write, and the known order of the key leads on from there. Otherwise it returns the steps.
func (k *witnessing) seen(steps []step) []step {
	for i := range steps {
		s := &steps[i]
		if !isSaturated(*s) || s.id == 0 || s.Version == 0 {
			continue
		}
		for id := k.graph.FirstOut(incremental.Vertex(s.Witness)); id != 0; id = k.graph.NextOut(id) {
			e := inferred(k.graph.Edge(id))
			if e.Label&infer.RW == 0 || !k.ofOneKey(e.Version, s.Version) {
				continue
			}
			if way := k.missedBy(step{Edge: *e, id: id}, s); way != nil {
				return way
			}
		}
	}
	return steps
}

// missedBy joins the anti-dependency rw, or one to a later writer of its key, with the past that forces s to a
// cycle. It returns nil if they do not lead to where s begins.
func (k *witnessing) missedBy(rw step, s *step) (way []step) {
	if rw.To != s.From {
		links := k.writesBehind(&rw)
		last := slices.IndexFunc(links, func(id incremental.EdgeID) bool { return uint32(k.graph.Edge(id).To) == s.From })
		if last < 0 {
			return nil
		}
		rw = k.chainStep(&rw, append([]incremental.EdgeID{rw.id}, links[:last+1]...))
	}
	for _, p := range k.pastOf(k.graph.Edge(s.id)) {
		way = append(way, step{Edge: infer.Edge{From: p.from, To: p.to, Label: p.label, Version: p.version}, id: p.id})
	}
	if way == nil {
		return nil
	}
	return append(way, rw)
}
