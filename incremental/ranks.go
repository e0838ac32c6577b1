package incremental

import "encoding/binary"

// AppendRanks appends the ranks of v, which has retired in every view, to dst.
// They are final: all that an edge that names v is judged by.
func (g *Graph) AppendRanks(dst []byte, v Vertex) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(g.past)))
	if g.timed {
		dst = binary.AppendVarint(dst, g.spans[v].from)
		dst = binary.AppendVarint(dst, g.spans[v].until)
	}
	for i := range g.orders {
		o := &g.orders[i]
		for n := o.first(v); n <= o.last(v); n++ {
			dst = binary.AppendVarint(dst, o.rank(n).at)
			dst = binary.AppendUvarint(dst, uint64(o.rank(n).seq))
			if o.Time != NoTime {
				dst = binary.AppendVarint(dst, o.low[n])
			}
		}
	}
	return dst
}

// PutRanks gives the number v, which is not known, to a vertex that AppendRanks
// wrote out, of this graph at any time before. notBefore and notAfter are its interval,
// for views that are timed since then. ok is false when b does not hold just that, or
// the vertex has not retired.
func (g *Graph) PutRanks(v Vertex, b []byte, notBefore, notAfter int64) (ok bool) {
	g.room(v)
	r := ranksReader{b: b, ok: true}
	since := r.uvarint()
	if !r.ok || since > uint64(len(g.past)) {
		return false
	}
	past := g.past[since:]
	views := make([]View, 0, 64)
	for i := range g.orders {
		views = append(views, g.orders[i].View)
	}
	if len(past) > 0 {
		views = past[0].Before
	}
	if anyTimed(views) {
		notBefore, notAfter = r.varint(), r.varint()
	}
	if g.timed {
		g.timeVertex(v, &Place{NotBefore: notBefore, NotAfter: notAfter})
	}
	ranks := make([]pair[rank], len(views), 64)
	lows := make([]pair[int64], len(views), 64)
	for i := range views {
		for n := range 1 + oneIf(views[i].Split) {
			ranks[i][n] = rank{at: r.varint(), seq: uint32(r.uvarint())}
			if views[i].Time != NoTime {
				lows[i][n] = r.varint()
			}
		}
	}
	bound := make([]bool, len(views), 64) // by order: it is as old as lows are
	for i := range bound {
		bound[i] = true
	}
	for i := range past {
		t := &past[i]
		x, y, z := make([]pair[rank], len(t.After)), make([]pair[int64], len(t.After)), make([]bool, len(t.After))
		for j, from := range t.From {
			before, after := &t.Before[from.View], &t.After[j]
			x[j], y[j] = ranks[from.View].as(before, after), lows[from.View].as(before, after)
			z[j] = bound[from.View] && (from.Start == Kept || from.Start == Divided)
		}
		ranks, lows, bound = x, y, z
	}
	for i := range g.orders {
		o := &g.orders[i]
		for n := o.first(v); n <= o.last(v); n++ {
			*o.rank(n) = ranks[i][n&o.split]
			if o.Time != NoTime {
				if o.low[n] = o.own(g, n); bound[i] {
					o.low[n] = lows[i][n&o.split]
				}
			}
			if !r.ok || !o.retired(n) {
				return false
			}
		}
	}
	return len(r.b) == 0
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ranksReader reads numbers from b; ok is false when it has ended early.
type ranksReader struct {
	b  []byte
	ok bool
}

func (r *ranksReader) varint() int64 {
	v, k := binary.Varint(r.b)
	r.skip(k)
	return v
}

func (r *ranksReader) uvarint() uint64 {
	v, k := binary.Uvarint(r.b)
	r.skip(k)
	return v
}

func (r *ranksReader) skip(k int) {
	if k <= 0 {
		r.ok = false
		return
	}
	r.b = r.b[k:]
}
