package isolation

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
)

// arrival is a state of a search in one direction: where it is, and what it can
// do from there.
type arrival struct {
	step  int // in the queue
	depth int
	at    int64 // forward: when it was over at the latest; backward: when it began
	state uint8
}

// timedPath is path with one step in real time. It leads from the head of the closing edge to a
// transaction that was over when another one began. From the other one it leads to the edge's
// tail. The shortest of all within the budget; steps in time are not stored, they are where one
// edge does not begin at the other's end.
func (s *Searcher) timedPath(g *incremental.Graph, closing *incremental.Edge, p plan, budget int) (path []incremental.EdgeID, spent bool) {
	label := finding.Label(closing.Labels)
	if label&p.labels == 0 {
		return nil, false
	}
	counted := s.counts(p, closing, label)
	first, _ := p.next(0, counted)
	forward, spentForward := s.reach(g, closing.To, first, p, budget, false)
	fwd := slices.Clone(s.queue)
	backward, spentBackward := s.reach(g, closing.From, first, p, budget, true)
	spent = spentForward || spentBackward

	// The nearest transaction of all that were over before a time, by what it may still meet.
	slices.SortStableFunc(forward, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	slices.SortStableFunc(backward, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	best, from, to := -1, arrival{}, arrival{}
	var nearest [maxState]arrival
	var known [maxState]bool
	i := 0
	for _, b := range backward {
		for ; i < len(forward) && forward[i].at < b.at; i++ {
			if f := forward[i]; !known[f.state] || f.depth < nearest[f.state].depth {
				nearest[f.state], known[f.state] = f, true
			}
		}
		for state := range nearest {
			f := nearest[state]
			if !known[state] || !p.meet(f.state, b.state, counted) {
				continue
			}
			if best < 0 || f.depth+b.depth < best {
				best, from, to = f.depth+b.depth, f, b
			}
		}
	}
	if best < 0 {
		return nil, spent
	}
	for k := int32(from.step); k >= 0 && fwd[k].edge != 0; k = fwd[k].parent {
		path = append(path, fwd[k].edge)
	}
	slices.Reverse(path)
	for k := int32(to.step); k >= 0 && s.queue[k].edge != 0; k = s.queue[k].parent {
		path = append(path, s.queue[k].edge)
	}
	if path == nil {
		path = []incremental.EdgeID{} // the closing edge and the step in time are all
	}
	return path, spent
}

// meet says whether a way on in one state and a way back in the other may be
// joined by a step in time. Both counted the closing edge.
func (p plan) meet(forward, backward uint8, counted bool) bool {
	if p.class != classSingle {
		return true // what lies between two anti-dependencies is a step in time
	}
	n := forward + backward
	if counted {
		n-- // counted on both sides
	}
	return n <= 1
}

// reach is all that v leads to, or that leads to v, in the plan's states.
func (s *Searcher) reach(g *incremental.Graph, v incremental.Vertex, state uint8, p plan, budget int, back bool) (all []arrival, spent bool) {
	s.begin(v, state)
	depth := []int{0}
	for i := 0; i < len(s.queue); i++ {
		at := s.queue[i]
		notBefore, notAfter := g.Span(at.v)
		when := notAfter
		if back {
			when = notBefore
		}
		all = append(all, arrival{i, depth[i], when, at.state})
		id := g.FirstOut(at.v)
		if back {
			id = g.FirstIn(at.v)
		}
		for id != 0 {
			s.Looked++
			if budget--; budget < 0 {
				return all, true
			}
			e := g.Edge(id)
			if l := finding.Label(e.Labels) & p.labels; l != 0 && !s.promisesLess(e, p.floor) {
				if next, ok := p.next(at.state, s.counts(p, e, l)); ok {
					to := e.To
					if back {
						to = e.From
					}
					s.push(to, int32(i), id, next)
					for len(depth) < len(s.queue) {
						depth = append(depth, depth[i]+1)
					}
				}
			}
			if back {
				id = g.NextIn(id)
			} else {
				id = g.NextOut(id)
			}
		}
	}
	return all, false
}
