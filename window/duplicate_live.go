package window

import (
	"cmp"
	"math"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/solve"
)

// In a window, a read of a value that several left is of a live one of them, or of the frozen
// part. The frozen order is run by values, so any transaction that left the value there may
// have been the writer. Nothing else has to be known of those that are gone. To find an order
// of the live part, the frozen part of a key is one more unit, before all others of the key.
// That is assumed, and a read that may be of it proves nothing.

// piece is a chain of live writers, as live orders them.
type piece struct {
	key       uint32
	hash      uint64 // of the key
	unit      solve.Unit
	at        int32 // number of the unit, -1 if it is none
	chain     infer.Chain
	closed    bool
	later     bool // its readers come behind these nodes
	duplicate bool // other transactions left its last version as well
}

// last is the version that the piece ends with.
func (x *piece) last() uint32 { return x.chain.Versions[len(x.chain.Versions)-1] }

// liveDuplicate is a live read of a value that several left.
type liveDuplicate struct {
	reader, version, key uint32
	hash                 uint64 // of the key
	node                 int32
	writers              int   // that are known
	sure                 bool  // there is no other
	left                 bool  // it stands for the version that the frozen order left in the key
	past                 int32 // unit of that, -1 for none
}

// maxNear bounds the writers that a read is tried with where an order is only looked for. They
// are next to it in the present order, which is about the order of time.
const maxNear = 8

// liveDuplicates are the reads of repeated values by the nodes.
func (o *choices) liveDuplicates(i int, c *constraints, pieces []piece, elements bool) (reads []liveDuplicate) {
	c.duplicates = c.duplicates || slices.ContainsFunc(pieces, func(x piece) bool { return x.duplicate })
	if o.infer.Counters.Repeated == 0 {
		return nil
	}
	for at, n := range c.nodes {
		t := uint32(o.graph.VertexOf(i, n))
		if o.graph.Split(i) && n&1 == 1 || o.askedUnder(t, o.views[i]) {
			continue
		}
		o.infer.EachOpenRead(t, o.clock.watermark, func(v uint32, writers int, sure bool) {
			if !elements && o.infer.OfElement(v) {
				return
			}
			k := o.infer.KeyOfVersion(v)
			reads = append(reads, liveDuplicate{
				reader: t, version: v, key: k, hash: o.infer.KeyHash(k), node: int32(at), writers: writers,
				sure: sure,
				left: o.leftThere(i, o.frozenLast(i, k), v), past: -1,
			})
		})
	}
	c.duplicates = c.duplicates || len(reads) > 0
	slices.SortStableFunc(reads, func(a, b liveDuplicate) int { // as live orders the pieces
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.key, b.key))
	})
	return reads
}

// ofKey are the reads of the key of x.
func ofKey(reads []liveDuplicate, x *piece) []liveDuplicate {
	from, _ := slices.BinarySearchFunc(reads, x, func(r liveDuplicate, x *piece) int {
		return cmp.Or(cmp.Compare(r.hash, x.hash), cmp.Compare(r.key, x.key))
	})
	to := from
	for to < len(reads) && reads[to].key == x.key {
		to++
	}
	return reads[from:to]
}

// leftBefore adds the frozen part of the pieces' key as a unit, if some read may be of it. It appends
// that the unit comes before these nodes.
func leftBefore(c *constraints, reads []liveDuplicate, pieces []piece, dst []solve.Edge) []solve.Edge {
	reads = ofKey(reads, &pieces[0])
	at := slices.IndexFunc(reads, func(r liveDuplicate) bool { return r.left })
	if at < 0 {
		return dst
	}
	p := &c.problem
	c.addPast()
	unit := int32(len(p.Units))
	p.Units = append(p.Units, solve.Unit{In: c.past, InAnti: c.past, Out: c.past})
	c.chains = append(c.chains, infer.Chain{Versions: []uint32{reads[at].version}})
	for j := range reads {
		if reads[j].left {
			reads[j].past = unit
		}
	}
	for j := range pieces {
		if pieces[j].at >= 0 {
			dst = append(dst, solve.Edge{From: c.past, To: pieces[j].unit.In})
		}
	}
	return dst
}

// addPast adds the node of the frozen commits, and behind it the node of the frozen begins.
func (c *constraints) addPast() {
	if c.past > 0 {
		return
	}
	p := &c.problem
	c.past = int32(p.Nodes)
	p.Nodes += 2
	p.Place = make([]int64, p.Nodes)
	for n := range p.Place {
		p.Place[n] = 2 * int64(n)
	}
	p.Place[c.past], p.Place[c.past+1] = -2, -1
}

// begun is the node of begins that have frozen before their commits.
func (c *constraints) begun() int32 {
	c.addPast()
	return c.past + 1
}

// chooseWriters adds the reads to the problem, each with its possible writers. If everything has to be
// known, it adds only reads whose writers are all among the units.
func (c *constraints) chooseWriters(reads []liveDuplicate, pieces []piece, known bool) {
	if len(reads) == 0 {
		return
	}
	type owned struct{ key, txn uint32 }
	by, own := map[uint32][]int32{}, map[owned]int32{} // pieces by last version, units by first writer
	for j := range pieces {
		x := &pieces[j]
		if x.at < 0 {
			continue
		}
		if x.duplicate {
			by[x.last()] = append(by[x.last()], int32(j))
		}
		own[owned{x.key, x.chain.Txns[0]}] = x.at
	}
	for j := range reads {
		x := &reads[j]
		if known && !x.sure {
			continue
		}
		r := solve.Read{Node: x.node, Own: -1}
		if u, ok := own[owned{x.key, x.reader}]; ok {
			r.Own = u
		}
		near := by[x.version]
		if !known {
			near = nearest(near, pieces, x.node)
		}
		for _, b := range near {
			if txns := pieces[b].chain.Txns; txns[len(txns)-1] != x.reader {
				r.Candidates = append(r.Candidates, pieces[b].at)
			}
		}
		if known && (len(r.Candidates) != x.writers || len(r.Candidates) == 0 || c.candidates+len(r.Candidates) > maxCandidates) {
			continue
		}
		if x.past >= 0 && !known {
			r.Candidates = append(r.Candidates, x.past)
		}
		if len(r.Candidates) == 0 {
			c.unread = c.unread || !x.left
			continue
		}
		slices.Sort(r.Candidates)
		c.candidates += len(r.Candidates)
		c.problem.Reads = append(c.problem.Reads, r)
		c.reads = append(c.reads, duplicateRead{x.reader, x.version, false})
	}
}

// nearest are the pieces that end next to the node.
func nearest(at []int32, pieces []piece, node int32) []int32 {
	if len(at) <= maxNear {
		return at
	}
	near := slices.Clone(at)
	apart := func(b int32) int32 { return max(node-pieces[b].unit.Out, pieces[b].unit.Out-node) }
	slices.SortFunc(near, func(a, b int32) int { return cmp.Or(cmp.Compare(apart(a), apart(b)), cmp.Compare(a, b)) })
	return near[:maxNear]
}

// leftLater says whether another of the pieces leaves the same version as x, and stands
// behind it.
func leftLater(pieces []piece, x *piece) bool {
	return slices.ContainsFunc(pieces, func(y piece) bool {
		return y.duplicate && y.last() == x.last() && y.unit.Out > x.unit.Out
	})
}

// readFurtherBack says whether a live reader of v stands behind the nodes, and nobody between
// leaves v.
func (o *choices) readFurtherBack(i int, c *constraints, v uint32) (read bool) {
	behind := func(n uint32, l infer.Label) (node uint32, ok bool) {
		x := incremental.Vertex(n)
		if !o.graph.Known(x) || o.graph.Retired(i, x) {
			return 0, false
		}
		node, _, _ = o.graph.Ends(i, x, x, incremental.Labels(l))
		return node, c.nodeAt(node) < 0
	}
	first := uint32(math.MaxUint32) // of the writers behind the nodes
	o.infer.EachWriter(v, func(n uint32) {
		if node, ok := behind(n, infer.WW); ok && (first == math.MaxUint32 || o.graph.Before(i, node, first)) {
			first = node
		}
	})
	o.infer.EachReader(v, func(n uint32) {
		if node, ok := behind(n, infer.RW); ok && (first == math.MaxUint32 || o.graph.Before(i, node, first)) {
			read = true
		}
	})
	return read
}
