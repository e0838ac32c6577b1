package incremental

import "encoding/binary"

// AppendRanks appends the ranks of v, which has retired in every view, to dst.
// They are final: all that an edge that names v is judged by.
func (g *Graph) AppendRanks(dst []byte, v Vertex) []byte {
	for i := range g.views {
		o := &g.views[i]
		for n := o.first(v); n <= o.last(v); n++ {
			dst = binary.AppendVarint(dst, o.rank(n).at)
			dst = binary.AppendUvarint(dst, uint64(o.rank(n).seq))
		}
	}
	return dst
}

// PutRanks gives the number v, which is not known, to a vertex that AppendRanks
// wrote out. It returns what follows in b; ok is false when b ends early, or when
// the vertex has not retired.
func (g *Graph) PutRanks(v Vertex, b []byte) (rest []byte, ok bool) {
	g.room(v)
	for i := range g.views {
		o := &g.views[i]
		for n := o.first(v); n <= o.last(v); n++ {
			at, k := binary.Varint(b)
			if k <= 0 {
				return nil, false
			}
			b = b[k:]
			seq, k := binary.Uvarint(b)
			if k <= 0 {
				return nil, false
			}
			b = b[k:]
			*o.rank(n) = rank{at: at, seq: uint32(seq)}
			if !o.retired(n) {
				return nil, false
			}
		}
	}
	return b, true
}
