package isolation

import (
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
)

// A search for the shortest way goes on from both ends, one distance at a time, from the end with fewer
// places at its rim. The places of both together are far fewer than those that a search from one end
// meets. When the two have met, the length is known. Then the search from the head is finished, with those
// places alone that are on a way of this length. So it finds the way that a search from the head alone
// finds. The order of places and edges stays the same, and with it the choice among several ways.

// ends is the search from the tail of the closing edge, against the edges.
type ends struct {
	seen  []distance
	queue []place
}

// distance is how far the tail is, if the stamp is the search's.
type distance struct{ stamp, far uint32 }

type place struct {
	v     incremental.Vertex
	state uint8
}

// joining is a search for one way.
type joining struct {
	*Searcher
	g       *incremental.Graph
	closing *incremental.Edge
	plan    plan
	within  func(incremental.Vertex) bool
	left    int // of the budget
}

// path is the shortest way from the head of the closing edge to its tail. With the edge it must
// make a cycle of the class or a worse one. It is nil when there is none within the budget. The
// second result says whether the budget was used up. It follows stored edges whether or not a
// view has set them aside.
func (s *Searcher) path(g *incremental.Graph, closing *incremental.Edge, p plan, b Bounds) (path []incremental.EdgeID, spent bool) {
	label := finding.Label(closing.Labels)
	if label&p.labels == 0 {
		return nil, false
	}
	j := joining{s, g, closing, p, b.Within, b.budget()}
	state, _ := p.next(0, s.counts(p, closing, label))
	s.begin(closing.To, state)
	s.ends.queue = s.ends.queue[:0]
	ahead, behind := 0, -1 // where the rims begin in the queues; the tail is not in them
	for far := uint32(0); ; {
		n, m := len(s.queue), len(s.ends.queue)
		met := false
		if behind < 0 || n-ahead > m-behind {
			if met = j.back(max(behind, 0), far); !met {
				behind, far = m, far+1
			}
		} else if met = j.forth(ahead, far); !met {
			ahead = n
		}
		switch {
		case met:
			s.queue = s.queue[:n]
			return j.finish(ahead, far), false
		case j.left < 0:
			return nil, true
		case ahead == len(s.queue) || behind == len(s.ends.queue):
			return nil, false
		}
	}
}

// follow says whether the plan may take the edge from this state, and the state behind it.
func (j *joining) follow(e *incremental.Edge, state uint8) (to uint8, ok bool) {
	l := finding.Label(e.Labels) & j.plan.labels
	if l == 0 || j.promisesLess(e, j.plan.floor) {
		return 0, false
	}
	if to, ok = j.plan.next(state, j.counts(j.plan, e, l)); !ok || j.within != nil && !j.within(e.To) {
		return 0, false
	}
	last := e.To == j.closing.From
	return to, !last || j.plan.class != classNonadjacent || (l&finding.Label(j.closing.Labels))&finding.RW == 0 // the closing edge would be adjacent to it
}

// forth takes the rim of the queue, which begins there, one edge on. It says whether it has met the
// search from the tail, which has come that far.
func (j *joining) forth(rim int, far uint32) (met bool) {
	for i, end := rim, len(j.queue); i < end; i++ {
		at := j.queue[i]
		for id := j.g.FirstOut(at.v); id != 0; id = j.g.NextOut(id) {
			if j.Looked++; j.look() {
				return false
			}
			e := j.g.Edge(id)
			to, ok := j.follow(e, at.state)
			if !ok {
				continue
			}
			if e.To == j.closing.From {
				return true
			}
			if j.distance(e.To, to) == far && far > 0 {
				return true
			}
			j.push(e.To, int32(i), id, to)
		}
	}
	return false
}

// look uses up a look, and says whether there was none.
func (j *joining) look() bool {
	j.left--
	return j.left < 0
}

// back takes the rim of the other queue one edge back.
func (j *joining) back(rim int, far uint32) (met bool) {
	if far == 0 {
		return j.arrive(j.closing.From, 0, true, 1)
	}
	for i, end := rim, len(j.ends.queue); i < end; i++ {
		if at := j.ends.queue[i]; j.arrive(at.v, at.state, false, far+1) {
			return true
		}
	}
	return false
}

// arrive takes in all from which an edge leads to the place. last: any state will do there.
func (j *joining) arrive(v incremental.Vertex, state uint8, last bool, far uint32) (met bool) {
	for id := j.g.FirstIn(v); id != 0; id = j.g.NextIn(id) {
		if j.Looked++; j.look() {
			return false
		}
		e := j.g.Edge(id)
		if !last && e.From == j.closing.From {
			continue // it ends there
		}
		for from := range j.plan.states() {
			if to, ok := j.follow(e, from); !ok || !last && to != state || !j.enter(e.From, from, far) {
				continue
			}
			if n := int(e.From)*maxState + int(from); n < len(j.seen) && j.seen[n] == j.stamp {
				return true
			}
		}
	}
	return false
}

// enter notes how far the tail is from a place. It says whether that was not known.
func (j *joining) enter(v incremental.Vertex, state uint8, far uint32) bool {
	n := int(v)*maxState + int(state)
	if n >= len(j.ends.seen) {
		j.ends.seen = append(j.ends.seen, make([]distance, n+1-len(j.ends.seen)+n/2)...)
	}
	if j.ends.seen[n].stamp == j.stamp {
		return false
	}
	j.ends.seen[n] = distance{j.stamp, far}
	j.ends.queue = append(j.ends.queue, place{v, state})
	return true
}

// distance is how far the tail is from the place; 0: it is not known.
func (j *joining) distance(v incremental.Vertex, state uint8) uint32 {
	if n := int(v)*maxState + int(state); n < len(j.ends.seen) && j.ends.seen[n].stamp == j.stamp {
		return j.ends.seen[n].far
	}
	return 0
}

// finish goes on from the rim to the tail, where that is so far from the next places.
func (j *joining) finish(rim int, far uint32) []incremental.EdgeID {
	for ; rim < len(j.queue); far-- {
		end := len(j.queue)
		for i := rim; i < end; i++ {
			at := j.queue[i]
			for id := j.g.FirstOut(at.v); id != 0; id = j.g.NextOut(id) {
				j.Looked++
				e := j.g.Edge(id)
				to, ok := j.follow(e, at.state)
				switch {
				case !ok:
				case far == 0 && e.To == j.closing.From:
					return j.trace(int32(i), id)
				case far > 0 && e.To != j.closing.From && j.distance(e.To, to) == far:
					j.ends.seen[int(e.To)*maxState+int(to)].stamp = 0 // once is enough
					j.queue = append(j.queue, step{e.To, int32(i), id, to})
				}
			}
		}
		rim = end
	}
	return nil
}
