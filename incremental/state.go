package incremental

import (
	"unsafe"

	"github.com/isowatch/isowatch/internal/flat"
)

type graphCounts struct {
	seq, serial uint32
	numLive     int64
}

type orderCounts struct {
	frontier rank
	live     int64
}

// AppendState writes all that the graph holds to dst.
func (g *Graph) AppendState(dst []byte) []byte {
	dst = flat.AppendValue(dst, &graphCounts{seq: g.seq, serial: g.serial, numLive: int64(g.numLive)})
	dst = flat.Append(dst, g.cells)
	dst = flat.Append(dst, g.edges)
	dst = g.freeEdge.AppendState(dst)
	if g.timed {
		dst = flat.Append(dst, g.spans)
	}
	for i := range g.views {
		o := &g.views[i]
		dst = flat.AppendValue(dst, &orderCounts{o.frontier, int64(o.live)})
		dst = flat.Append(dst, o.slots)
		dst = flat.Append(dst, o.free)
		dst = o.queue.appendState(dst)
		if o.Time != NoTime {
			dst = flat.Append(dst, o.low)
			dst = flat.AppendValue(flat.AppendValue(dst, &o.stale), &o.gone)
		}
	}
	return dst
}

// ReadState replaces what the graph holds by what AppendState wrote for a graph
// with the same views.
func (g *Graph) ReadState(r *flat.Reader) {
	var c graphCounts
	flat.ReadValue(r, &c)
	g.serial = c.serial
	g.seq, g.numLive = c.seq, int(c.numLive)
	flat.Read(r, &g.cells)
	if n := uint64(len(g.cells)); r.Err == nil && (n == 0 || n%uint64(g.stride) != 0) {
		r.Err = flat.ErrShort
		return
	}
	g.shareCells()
	flat.Read(r, &g.edges)
	g.freeEdge.ReadState(r)
	if g.timed {
		flat.Read(r, &g.spans)
	}
	for i := range g.views {
		o := &g.views[i]
		var oc orderCounts
		flat.ReadValue(r, &oc)
		o.frontier, o.live = oc.frontier, int(oc.live)
		flat.Read(r, &o.slots)
		flat.Read(r, &o.free)
		o.queue.readState(r)
		if o.Time != NoTime {
			flat.Read(r, &o.low)
			flat.ReadValue(r, &o.stale)
			flat.ReadValue(r, &o.gone)
		}
	}
	g.seen = make([]uint32, 2*g.numVertices)
	g.stamp = 0
}

// Bytes is the memory of the graph's arrays, as allocated.
func (g *Graph) Bytes() int64 {
	n := int64(cap(g.cells))*int64(unsafe.Sizeof(rank{})) + int64(cap(g.edges))*int64(unsafe.Sizeof(Edge{})) + g.freeEdge.Bytes() + int64(cap(g.spans))*16
	for i := range g.views {
		o := &g.views[i]
		n += o.queue.bytes() + int64(cap(o.slots)+cap(o.free))*4 + int64(cap(o.low))*8
	}
	return n
}
