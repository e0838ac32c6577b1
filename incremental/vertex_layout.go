package incremental

import (
	"unsafe"

	"github.com/isowatch/isowatch/internal/flat"
)

// The vertex and its ranks in all orders lie together, in cells of the size of a rank. There
// are two for the vertex, then one for each node, order by order. The rest is empty, up to a
// multiple of a cache line. So an edge's end is one line where there is one order, and two
// where there are four.
const (
	vertexCells = 2
	lineCells   = 4
)

// The vertex must fit its cells, and hold no pointer.
var _ [vertexCells*unsafe.Sizeof(rank{}) - unsafe.Sizeof(vertex{})]byte

// lone is a vertex's cells where there is one view, and it is not split: a cache
// line, which is found by a shift.
type lone struct {
	vertex
	_    [vertexCells*unsafe.Sizeof(rank{}) - unsafe.Sizeof(vertex{})]byte
	rank rank
	_    rank
}

// A lone vertex takes lineCells cells, the vertex the first two of them.
var (
	_ [lineCells * unsafe.Sizeof(rank{})]byte   = [unsafe.Sizeof(lone{})]byte{}
	_ [vertexCells * unsafe.Sizeof(rank{})]byte = [unsafe.Offsetof(lone{}.rank)]byte{}
)

// lone are the vertices of a plain graph.
func (g *adjacency) lone() []lone {
	return unsafe.Slice((*lone)(unsafe.Pointer(unsafe.SliceData(g.cells))), g.numVertices)
}

// layVertices gives every order its places in a vertex's cells.
func (g *Graph) layVertices() {
	at := uint32(vertexCells)
	for i := range g.orders {
		o := &g.orders[i]
		o.base = at
		at++
		if o.Split {
			o.split = 1
			at++
		}
	}
	g.nodes = uint16(at - vertexCells)
	g.stride = (at + lineCells - 1) / lineCells * lineCells
	for i := range g.orders {
		g.orders[i].stride = g.stride
	}
	g.room(0)
}

// room makes the number v usable.
func (g *Graph) room(v Vertex) {
	if int(v) < g.numVertices {
		return
	}
	for len(g.cells) < (int(v)+1)*int(g.stride) {
		g.cells = flat.Push(g.cells, rank{})
	}
	g.shareVertices()
	if n := 2 * g.numVertices; len(g.seen) < n {
		g.seen = append(g.seen, make([]uint32, n-len(g.seen)+n/4)...)
	}
}

// shareVertices tells the orders where the cells are now.
func (g *Graph) shareVertices() {
	g.numVertices = len(g.cells) / int(g.stride)
	for i := range g.orders {
		g.orders[i].cells = g.cells
	}
}

func (g *adjacency) vertex(v Vertex) *vertex {
	return vertexIn(&g.cells[uint32(v)*g.stride])
}

// vertexIn is the vertex whose first cell is c.
func vertexIn(c *rank) *vertex { return (*vertex)(unsafe.Pointer(c)) }

// rank is the rank of node n: a vertex, or 2*vertex (B) and 2*vertex+1 (C) when the view is
// split.
func (o *order) rank(n uint32) *rank {
	return &o.cells[(n>>(o.split&1))*o.stride+o.base+n&o.split]
}
