package incremental

import "encoding/binary"

// AppendRanks appends the ranks of v, which has retired in every view, to dst.
// They are final: all that an edge that names v is judged by.
func (g *Graph) AppendRanks(dst []byte, v Vertex) []byte {
	if g.timed {
		dst = binary.AppendVarint(dst, g.spans[v].from)
		dst = binary.AppendVarint(dst, g.spans[v].until)
	}
	for i := range g.views {
		o := &g.views[i]
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
// wrote out. It returns what follows in b; ok is false when b ends early, or when
// the vertex has not retired.
func (g *Graph) PutRanks(v Vertex, b []byte) (rest []byte, ok bool) {
	g.room(v)
	r := ranksReader{b: b, ok: true}
	if g.timed {
		g.timeVertex(v, &Place{NotBefore: r.varint(), NotAfter: r.varint()})
	}
	for i := range g.views {
		o := &g.views[i]
		for n := o.first(v); n <= o.last(v); n++ {
			*o.rank(n) = rank{at: r.varint(), seq: uint32(r.uvarint())}
			if o.Time != NoTime {
				o.low[n] = r.varint()
			}
			if !r.ok || !o.retired(n) {
				return nil, false
			}
		}
	}
	return r.b, true
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
