package incremental

import (
	"encoding/binary"
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

// sharing is an order's part.
type sharing struct {
	lead  uint32
	views Views
}

// AppendState writes all that the graph holds to dst.
func (g *Graph) AppendState(dst []byte) []byte {
	dst = flat.AppendValue(dst, &graphCounts{seq: g.seq, serial: g.serial, numLive: int64(g.numLive)})
	dst = appendTurns(dst, g.past)
	var shared []sharing
	for i := range g.orders {
		shared = append(shared, sharing{uint32(g.orders[i].lead), g.orders[i].bit})
	}
	dst = flat.Append(dst, shared)
	dst = flat.Append(dst, g.cells)
	dst = flat.Append(dst, g.edges)
	dst = g.freeEdge.AppendState(dst)
	if g.timed {
		dst = flat.Append(dst, g.spans)
	}
	for i := range g.orders {
		o := &g.orders[i]
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
	g.past = readTurns(r)
	var shared []sharing
	flat.Read(r, &shared)
	if r.Err != nil {
		return
	}
	g.orders = make([]order, len(shared))
	for i, x := range shared {
		if int(x.lead) >= len(g.watched) || x.views&(1<<x.lead) == 0 || x.views>>len(g.watched) != 0 {
			r.Err = flat.ErrShort
			return
		}
		g.orders[i] = order{View: g.shape(part{int(x.lead), x.views}), lead: int(x.lead), bit: x.views}
	}
	g.layOrders()
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
	for i := range g.orders {
		o := &g.orders[i]
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
	for i := range g.orders {
		o := &g.orders[i]
		n += o.queue.bytes() + int64(cap(o.slots)+cap(o.free))*4 + int64(cap(o.low))*8
	}
	return n
}

// appendTurns writes the turns, views and origins as they are in memory.
func appendTurns(dst []byte, ts []Turn) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(ts)))
	for i := range ts {
		t := &ts[i]
		dst = flat.Append(flat.Append(dst, t.Before), t.After)
		for _, x := range t.From {
			dst = append(dst, byte(x.View), byte(x.Start))
		}
	}
	return dst
}

func readTurns(r *flat.Reader) []Turn {
	n, k := binary.Uvarint(r.Bytes)
	if r.Err != nil || k <= 0 || n > uint64(len(r.Bytes)) {
		r.Err = flat.ErrShort
		return nil
	}
	r.Bytes = r.Bytes[k:]
	var ts []Turn
	for range n {
		var t Turn
		flat.Read(r, &t.Before)
		flat.Read(r, &t.After)
		if r.Err != nil || len(r.Bytes) < 2*len(t.After) {
			r.Err = flat.ErrShort
			return nil
		}
		for range t.After {
			x := Origin{int(r.Bytes[0]), Start(r.Bytes[1])}
			if x.View >= len(t.Before) {
				r.Err = flat.ErrShort
				return nil
			}
			t.From, r.Bytes = append(t.From, x), r.Bytes[2:]
		}
		ts = append(ts, t)
	}
	return ts
}
