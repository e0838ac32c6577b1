package solve

import (
	"cmp"
	"slices"
)

// Serial looks for an order of p in which nodes with one number are neighbours. Let p have two
// nodes a transaction, with one number. Then it is a serial order. It has half as many nodes, and
// far fewer pairs to order. same are the numbers of the nodes, from 0. If nodes have one number,
// the lower node comes first. This is a guess: the answer is satisfiable, with an order of p, or
// unknown.
func Serial(p *Problem, same []Node) Result {
	q, ok := p.merged(same)
	if !ok {
		return Result{}
	}
	r := Solve(q)
	if r.Verdict != Satisfiable {
		return Result{Stats: r.Stats}
	}
	nodes := make([]Node, p.Nodes)
	for v := range nodes {
		nodes[v] = Node(v)
	}
	slices.SortFunc(nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(r.Order[same[a]], r.Order[same[b]]), cmp.Compare(a, b))
	})
	order := make([]int32, p.Nodes)
	for at, v := range nodes {
		order[v] = int32(at)
	}
	if !p.fits(order, nil) {
		return Result{Stats: r.Stats}
	}
	r.Order = order
	return r
}

// merged is the problem of Serial with one node a number. It is missing if a read has several
// candidates, or if a reader writes another unit of the key.
func (p *Problem) merged(same []Node) (*Problem, bool) {
	if len(p.Reads) > 0 {
		return nil, false
	}
	q := &Problem{Units: slices.Clone(p.Units), Keys: p.Keys, Budget: p.Budget, Guess: true, early: p.early}
	for _, v := range same {
		q.Nodes = max(q.Nodes, int(v)+1)
	}
	if p.Place != nil {
		q.Place = make([]int64, q.Nodes)
		for v, at := range p.Place {
			q.Place[same[v]] = at
		}
	}
	for i, e := range p.Edges {
		if from, to := same[e.From], same[e.To]; from != to {
			q.Edges = append(q.Edges, Edge{from, to})
			if i < p.Lines {
				q.Lines++
			}
		}
	}
	writes := make([]int32, q.Nodes) // 1 + the key that was looked at last which the node writes
	for k := range p.numKeys() {
		from, to := p.unitsOf(k)
		us := q.Units[from:to]
		for i := range us {
			u := &us[i]
			u.In, u.InAnti, u.Out = same[u.In], same[u.InAnti], same[u.Out]
			writes[u.In] = int32(k) + 1
		}
		for i := range us {
			us[i].Readers = slices.Clone(us[i].Readers)
			for j, r := range us[i].Readers {
				if us[i].Readers[j] = same[r]; writes[same[r]] == int32(k)+1 {
					return nil, false
				}
			}
		}
	}
	return q, true
}
