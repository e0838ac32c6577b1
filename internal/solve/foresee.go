package solve

// foresight knows which sides of open pairs would close a cycle. When one side of a pair is
// out, the pair gets the other one. The reason is looked for only if a conflict rests on it. See
// Nieuwenhuis, Oliveras and Tinelli, Solving SAT and SAT Modulo Theories, J. ACM 53, 2006:
// theory propagation.
type foresight struct {
	reach *reachable
	// sides are, by the node that an edge of a literal leads to, the edges of open literals. from has their tails, side by
	// side: they are looked at far more often than the rest.
	sides [][]side
	from  [][]Node
	marks []mark // of reach before the literal, by place in trail
	out   []ruledOut
	way   []crumb
	next  []int32 // crumbs to go on from
	then  []int32 // and those that cost one literal more
	done  []int32 // by node: the stamp of the way that came there
	stamp int32
}

// side is where an edge of a literal comes from, with the derivation that it rests on, -1 for
// none.
type side struct {
	from Node
	lit  int32
	why  int32
}

// ruledOut is, for a variable with the reason foreseen, the edge that would close a cycle.
type ruledOut struct {
	to    Node
	side  int32
	links int32 // how many links of the order there were then
}

// crumb is a step of a way: a node, the link to it, and the crumb before it.
type crumb struct {
	node         Node
	link, parent int32
}

const (
	// foreseen is the reason of a literal if its negation would close a cycle.
	foreseen = -2
	// maxReach bounds the memory of foresight: pairs of nodes, a bit each.
	maxReach = 1 << 30
	// manyConflicts of a search without foresight, and stuckSteps for it, show that pairs do not
	// fall into place.
	manyConflicts = 64
	stuckSteps    = 500_000
	// restartAhead conflicts with foresight, the pairs are taken by activity.
	restartAhead = 20
)

// stuck says whether the search is to look ahead from now on.
func (s *search) stuck() bool {
	n := int64(len(s.ord.rank))
	return s.ahead == nil && s.conflicts >= manyConflicts && s.spent() > stuckSteps && n*n <= maxReach
}

// spent are the steps so far.
func (s *search) spent() int64 {
	n := s.steps + s.ord.steps + s.looks/8
	if s.ahead != nil {
		n += s.ahead.reach.steps
	}
	return n
}

// foresee makes the search look ahead. Nothing is decided.
func (s *search) foresee() {
	n := len(s.ord.rank)
	f := &foresight{reach: newReachable(n), sides: make([][]side, n), from: make([][]Node, n), out: make([]ruledOut, len(s.vars)), done: make([]int32, n)}
	nodes := make([]Node, n)
	for v, at := range s.ord.rank {
		nodes[at] = Node(v)
	}
	for i := n - 1; i >= 0; i-- {
		for id := s.ord.out[nodes[i]]; id >= 0; id = s.ord.links[id].nextOut {
			f.reach.add(nodes[i], s.ord.links[id].to)
		}
	}
	f.reach.keep()
	f.marks = make([]mark, s.queue)
	for i := range f.marks {
		f.marks[i] = f.reach.mark() // of level 0: they are not cut
	}
	s.ahead = f
	for v := range s.vars {
		s.lookAt(int32(v))
	}
	for x := range f.sides {
		s.ruleAll(Node(x))
	}
}

// lookAt puts the edges of a variable among the sides.
func (s *search) lookAt(v int32) {
	put := func(from, to Node, lit, why int32) {
		if x, y := s.local[from], s.local[to]; x >= 0 && y >= 0 {
			s.ahead.sides[y], s.ahead.from[y] = append(s.ahead.sides[y], side{x, lit, why}), append(s.ahead.from[y], x)
		}
	}
	if r := s.vars[v].read(); r >= 0 {
		put(s.units[s.vars[v].A].Out, s.mayRead.reads[r].Node, 2*v, -1)
		return
	}
	for lit := 2 * v; lit < 2*v+2; lit++ {
		first, then := s.sides(lit)
		a, b := &s.units[first], &s.units[then]
		put(a.Out, b.In, lit, -1)
		for j, r := range a.Readers {
			if why, ok := s.says(first, then, j); ok {
				put(r, b.InAnti, lit, why)
			}
		}
	}
}

// ruleAll decides the open literals that would lead to x from a node that it reaches.
func (s *search) ruleAll(x Node) {
	for i := range s.ahead.sides[x] {
		if e := &s.ahead.sides[x][i]; s.value[e.lit/2] == 0 && s.ahead.reach.has(x, e.from) {
			s.ruleOut(x, i)
		}
	}
}

// rule decides the open literals that would lead to x from a node that it reaches by the latest edge.
func (s *search) rule(x Node) {
	from, fresh := s.ahead.from[x], s.ahead.reach.fresh
	s.steps += int64(len(from)) / 16
	for i, y := range from {
		if fresh[uint32(y)/64]>>(uint32(y)%64)&1 != 0 && s.value[s.ahead.sides[x][i].lit/2] == 0 {
			s.ruleOut(x, i)
		}
	}
}

// ruleOut assigns the negation of the literal of a side.
func (s *search) ruleOut(x Node, side int) {
	lit := s.ahead.sides[x][side].lit
	s.ahead.out[lit/2] = ruledOut{x, int32(side), int32(len(s.ord.links))}
	s.assign(lit^1, foreseen)
}

// linkAhead adds an edge within the component.
func (s *search) linkAhead(x, y Node, lit, other, why int32) bool {
	reach := s.ahead.reach
	if reach.has(y, x) {
		s.findWay(y, x, int32(len(s.ord.links)))
		return false
	}
	if !s.ord.add(x, y, lit, other, why) {
		panic("solve: a cycle without a way")
	}
	reach.add(x, y)
	for _, v := range reach.changed {
		s.rule(v)
	}
	return true
}

// because is the clause that a variable has its value by, -1 for a decision.
func (s *search) because(v int32) int32 {
	if s.reason[v] == foreseen {
		o := &s.ahead.out[v]
		e := &s.ahead.sides[o.to][o.side]
		s.findWay(o.to, e.from, o.links)
		s.reason[v] = s.cycle(e.lit, -1, e.why)
	}
	return s.reason[v]
}

// findWay finds a way by the first links from u to v, which u reaches, for cycle. No
// other one has fewer links with literals above level 0.
func (s *search) findWay(u, v Node, links int32) {
	f := s.ahead
	f.stamp++
	f.way, f.next, f.then = append(f.way[:0], crumb{u, -1, -1}), append(f.next[:0], 0), f.then[:0]
	for len(f.next) > 0 {
		at := f.next[len(f.next)-1]
		f.next = f.next[:len(f.next)-1]
		x := f.way[at].node
		if x == v {
			s.ord.path = s.ord.path[:0]
			for ; f.way[at].link >= 0; at = f.way[at].parent {
				s.ord.path = append(s.ord.path, f.way[at].link)
			}
			return
		}
		if f.done[x] != f.stamp {
			f.done[x] = f.stamp
			s.goOn(at, v, links)
		}
		if len(f.next) == 0 {
			f.next, f.then = f.then, f.next
		}
	}
	panic("solve: a way was reached that is not there")
}

// goOn puts down where the first links lead to from a crumb, as far as v is reached from there.
func (s *search) goOn(at int32, v Node, links int32) {
	f := s.ahead
	for id := s.ord.out[f.way[at].node]; id >= 0; id = s.ord.links[id].nextOut {
		l := &s.ord.links[id]
		s.looks++
		if id >= links || f.done[l.to] == f.stamp || !f.reach.has(l.to, v) {
			continue
		}
		to := int32(len(f.way))
		f.way = append(f.way, crumb{l.to, id, at})
		if l.lit < 0 || s.level[l.lit/2] == 0 && (l.other < 0 || s.level[l.other/2] == 0) {
			f.next = append(f.next, to)
		} else {
			f.then = append(f.then, to)
		}
	}
}
