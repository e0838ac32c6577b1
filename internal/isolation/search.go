package isolation

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
)

// Searcher finds the shortest cycles of a class through a given edge. It keeps
// scratch memory only.
type Searcher struct {
	// Looked is how many edges all searches have looked at.
	Looked int64
	// Asked is the level that a transaction asked for, 0 if it named none; nil while none did.
	// A level's encoding leaves out the anti-dependencies of a transaction that asked for less.
	Asked func(incremental.Vertex) Base
	// Follows says whether a base that selects readers follows the anti-dependency; nil: each does.
	Follows func(*incremental.Edge, Base) bool
	// Untracked says of an anti-dependency that it does not bind serializable transactions; nil: every one does.
	Untracked func(*incremental.Edge) bool

	// Limited says whether a base with a limit limits the anti-dependency; nil: it limits each.
	Limited func(*incremental.Edge, Base) bool

	seen  []uint32
	stamp uint32
	queue []step
	ends  ends
}

// Bounds limit one search.
type Bounds struct {
	// Budget is how many edges the search may look at; 0 is 20,000.
	Budget int
	// Within says whether a path may lead through the vertex; nil: through any. In real time it is not asked.
	Within func(incremental.Vertex) bool
}

type step struct {
	v      incremental.Vertex
	parent int32
	edge   incremental.EdgeID
	state  uint8
}

// States of the walk: how many anti-dependencies it may still take. For the
// classes with a count the state is the count so far; for the nonadjacent class
// it is whether the last edge was one.
const maxState = 2

// plan says which edges a class allows.
type plan struct {
	class  class
	labels finding.Label
	// limit is a base, where a cycle of one anti-dependency may hold more that the base does not limit.
	limit Base
	// floor is a base: anti-dependencies of transactions that asked for less are passed over.
	floor Base
}

func planOf(c class, f Family) plan {
	p := plan{class: c}
	switch c {
	case classG0:
		p.labels = finding.WW | finding.OtherRow
	case classG1c:
		p.labels = finding.WW | finding.OtherRow | finding.WR
	default:
		p.labels = finding.WW | finding.OtherRow | finding.WR | finding.RW
	}
	if f != Plain {
		p.labels |= finding.Process
	}
	return p
}

// plans are the searches for cycles of the family that refute the level, the worst class first. They
// end with the last class.
func plans(level Level, f Family, last class) []plan {
	var ps []plan
	for c := classG0; c <= last; c++ {
		ps = append(ps, planOf(c, f))
	}
	if b := level.Underlying(); bases[b].limit == oneOfReaders {
		p := planOf(classSingle, f)
		p.limit = b
		ps = append(ps, p)
	}
	if level.Special == GeneralizedSI {
		for i := range ps {
			ps[i].labels &^= finding.Process
		}
	}
	return ps
}

// counts says whether e, with these labels, is an anti-dependency that the plan counts.
func (s *Searcher) counts(p plan, e *incremental.Edge, l finding.Label) bool {
	return l&finding.RW != 0 && (p.limit == 0 || s.Limited == nil || s.Limited(e, p.limit))
}

// next is the state behind an edge, ok false when the class does not allow it there. rw: it is an
// anti-dependency that counts.
func (p plan) next(state uint8, rw bool) (uint8, bool) {
	switch p.class {
	case classSingle:
		if rw {
			return state + 1, state == 0
		}
		return state, true
	case classNonadjacent:
		if rw {
			return 1, state == 0
		}
		return 0, true
	}
	return 0, true
}

// states is how many states the walk may be in.
func (p plan) states() uint8 {
	if p.class == classSingle || p.class == classNonadjacent {
		return maxState
	}
	return 1
}

// DefaultBudget is how many edges a search looks at where no budget is set.
const DefaultBudget = 20_000

func (b Bounds) budget() int { return cmp.Or(b.Budget, DefaultBudget) }

func (s *Searcher) begin(v incremental.Vertex, state uint8) {
	s.stamp++
	if s.stamp == 0 {
		clear(s.seen)
		clear(s.ends.seen)
		s.stamp = 1
	}
	s.queue = s.queue[:0]
	s.push(v, -1, 0, state)
}

func (s *Searcher) push(v incremental.Vertex, parent int32, id incremental.EdgeID, state uint8) {
	n := int(v)*maxState + int(state)
	if n >= len(s.seen) {
		s.seen = append(s.seen, make([]uint32, n+1-len(s.seen)+n/2)...)
	}
	if s.seen[n] == s.stamp {
		return
	}
	s.seen[n] = s.stamp
	s.queue = append(s.queue, step{v, parent, id, state})
}

func (s *Searcher) trace(i int32, last incremental.EdgeID) []incremental.EdgeID {
	path := []incremental.EdgeID{last}
	for ; i >= 0 && s.queue[i].edge != 0; i = s.queue[i].parent {
		path = append(path, s.queue[i].edge)
	}
	for a, b := 0, len(path)-1; a < b; a, b = a+1, b-1 {
		path[a], path[b] = path[b], path[a]
	}
	return path
}

// Cycle is a closed walk over stored edges, the closing edge first. An edge may not begin at
// the end of the edge before it. Then that end was over, in real time, before the edge's
// beginning began.
type Cycle struct {
	Edges   []incremental.EdgeID
	AtLeast bool // a worse one was not excluded within the budget
}

// Worst finds the clearest cycle through the stored edge id that refutes the level. It tries
// the classes that contradict the level, worst first, and data before session order before real
// time. fallback is a path that closes a cycle of the level's encoding.
func (s *Searcher) Worst(g *incremental.Graph, id incremental.EdgeID, level Level, fallback []incremental.EdgeID, b Bounds) Cycle {
	return s.worst(g, id, level, fallback, lastClass(level), b)
}

// Worse is Worst for a finding of this severity, which refutes these levels already. It looks for no
// cycle that would say no more: one of the last class refutes plain serializability, and nothing else.
func (s *Searcher) Worse(g *incremental.Graph, id incremental.EdgeID, level Level, than int, refuted []Level, b Bounds) Cycle {
	last := lastClass(level)
	if last == classG2 && level.Family == Plain && than <= severity(classG2, Plain) && (Level{Base: Serializable}).Refuted(refuted) {
		last = classNonadjacent
	}
	return s.worst(g, id, level, nil, last, b)
}

func (s *Searcher) worst(g *incremental.Graph, id incremental.EdgeID, level Level, fallback []incremental.EdgeID, last class, b Bounds) Cycle {
	closing := *g.Edge(id)
	atLeast := false
	for _, f := range []Family{Plain, StrongSession, Strong} {
		if f == StrongSession && level.Family == Plain || f == Strong && !level.RealTime() {
			continue
		}
		for _, p := range plans(level, f, last) {
			for _, floor := range s.floors(level) {
				p.floor = floor
				path, spent := s.search(g, &closing, p, f, b)
				atLeast = atLeast || spent
				if path == nil {
					break
				}
				cycle := append([]incremental.EdgeID{id}, path...)
				w := weakest(labelsOf(g, cycle))
				if level.Underlying().Selects() && !level.Underlying().Limits() || p.limit != 0 {
					w = []Level{level} // no other edges were followed
				}
				if level.Refuted(w) && s.promised(g, cycle, w) {
					return Cycle{cycle, atLeast}
				}
			}
		}
	}
	if fallback == nil {
		return Cycle{AtLeast: atLeast}
	}
	return Cycle{append([]incremental.EdgeID{id}, fallback...), atLeast}
}

// floors are least levels. A search follows the anti-dependencies of transactions that asked
// for at least that: anything, then the level itself.
func (s *Searcher) floors(level Level) []Base {
	if s.Follows != nil && level.Underlying().Selects() {
		return []Base{level.Underlying()}
	}
	if s.Asked == nil && s.Untracked == nil {
		return []Base{0}
	}
	return []Base{0, level.Underlying()}
}

func (s *Searcher) search(g *incremental.Graph, closing *incremental.Edge, p plan, f Family, b Bounds) (path []incremental.EdgeID, spent bool) {
	if s.promisesLess(closing, p.floor) {
		return nil, false
	}
	if f == Strong {
		return s.timedPath(g, closing, p, b.budget())
	}
	return s.path(g, closing, p, b)
}

// promisesLess says whether e is an anti-dependency that does not count at the base. Its
// reader asked for less, the base does not follow it, or nobody tracks it.
func (s *Searcher) promisesLess(e *incremental.Edge, base Base) bool {
	if finding.Label(e.Labels)&finding.RW == 0 {
		return false
	}
	if s.Asked != nil && s.Asked(e.From).Lacks(base) || base.Selects() && s.Follows != nil && !s.Follows(e, base) {
		return true
	}
	return base.Tracks() && s.Untracked != nil && s.Untracked(e)
}

// promised says whether what the cycle refutes was promised to all whose reads it
// rests on.
func (s *Searcher) promised(g *incremental.Graph, cycle []incremental.EdgeID, refuted []Level) bool {
	if plain := slices.DeleteFunc(slices.Clone(refuted), func(l Level) bool { return l.Underlying().Limits() }); len(plain) > 0 {
		refuted = plain // the others are not said where transactions asked for levels of their own
	}
	return !slices.ContainsFunc(cycle, func(id incremental.EdgeID) bool {
		return slices.ContainsFunc(refuted, func(l Level) bool { return s.promisesLess(g.Edge(id), l.Underlying()) })
	})
}

// lastClass is the least serious class that can refute the level.
func lastClass(l Level) class {
	switch l.Underlying() {
	case ReadUncommitted:
		return classG0
	case ReadCommitted:
		return classG1c
	case ConsistentView, UpdateSerializable:
		return classSingle // see plans
	case Serializable, RepeatableRead, CursorStability:
		return classG2
	}
	return classNonadjacent
}

// labelsOf are the labels of the cycle's steps, those in real time among them.
func labelsOf(g *incremental.Graph, cycle []incremental.EdgeID) []finding.Label {
	var ls []finding.Label
	for i, id := range cycle {
		e := g.Edge(id)
		ls = append(ls, finding.Label(e.Labels))
		if g.Edge(cycle[(i+1)%len(cycle)]).From != e.To {
			ls = append(ls, finding.Realtime)
		}
	}
	return ls
}
