package incremental

import (
	"slices"
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
func (g *Graph) AppendState(dst *flat.Writer) *flat.Writer {
	dst = flat.AppendValue(dst, "graph", &graphCounts{seq: g.seq, serial: g.serial, numLive: int64(g.numLive)})
	dst = appendChanges(dst, g.past)
	var shared []sharing
	for i := range g.orders {
		shared = append(shared, sharing{uint32(g.orders[i].lead), g.orders[i].bit})
	}
	dst = flat.Append(dst, "shared", shared)
	dst = flat.Append(dst, "cells", g.cells)
	dst = flat.Append(dst, "edges", g.edges)
	dst = g.freeEdge.AppendState(dst, "freeEdge")
	if g.timed {
		dst = flat.Append(dst, "spans", g.spans)
	}
	for i := range g.orders {
		o := &g.orders[i]
		dst = flat.AppendValue(dst, "order", &orderCounts{o.frontier, int64(o.live)})
		dst = flat.Append(dst, "slots", o.slots)
		dst = flat.Append(dst, "free", o.free)
		dst = o.queue.appendState(dst)
		if o.Time != NoTime {
			dst = flat.Append(dst, "low", o.low)
			dst = flat.AppendValue(dst, "stale", &o.stale)
			dst = flat.AppendValue(dst, "gone", &o.gone)
		}
	}
	return dst
}

// ReadState replaces what the graph holds by what AppendState wrote for a graph
// with the same views.
func (g *Graph) ReadState(r *flat.Reader) {
	var c graphCounts
	flat.ReadValue(r, "graph", &c)
	g.serial = c.serial
	g.seq, g.numLive = c.seq, int(c.numLive)
	g.past = readChanges(r)
	var shared []sharing
	flat.Read(r, "shared", &shared)
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
	flat.Read(r, "cells", &g.cells)
	if n := uint64(len(g.cells)); r.Err == nil && (n == 0 || n%uint64(g.stride) != 0) {
		r.Err = flat.ErrShort
		return
	}
	g.shareVertices()
	flat.Read(r, "edges", &g.edges)
	g.freeEdge.ReadState(r, "freeEdge")
	if g.timed {
		flat.Read(r, "spans", &g.spans)
	}
	for i := range g.orders {
		o := &g.orders[i]
		var oc orderCounts
		flat.ReadValue(r, "order", &oc)
		o.frontier, o.live = oc.frontier, int(oc.live)
		flat.Read(r, "slots", &o.slots)
		flat.Read(r, "free", &o.free)
		o.queue.readState(r)
		if o.Time != NoTime {
			flat.Read(r, "low", &o.low)
			flat.ReadValue(r, "stale", &o.stale)
			flat.ReadValue(r, "gone", &o.gone)
		}
	}
	g.seen = make([]uint32, 2*g.numVertices)
	g.stamp = 0
}

func appendChanges(dst *flat.Writer, ts []LevelChange) *flat.Writer {
	n := int64(len(ts))
	dst = flat.AppendValue(dst, "turns", &n)
	for i := range ts {
		dst = flat.Append(dst, "before", ts[i].Before)
		dst = flat.Append(dst, "after", ts[i].After)
		dst = flat.Append(dst, "from", ts[i].From)
	}
	return dst
}

func readChanges(r *flat.Reader) (ts []LevelChange) {
	var n int64
	for flat.ReadValue(r, "turns", &n); n > 0 && r.Err == nil; n-- {
		var t LevelChange
		flat.Read(r, "before", &t.Before)
		flat.Read(r, "after", &t.After)
		flat.Read(r, "from", &t.From)
		outside := func(x Origin) bool { return x.View >= len(t.Before) }
		if r.Err == nil && (len(t.From) != len(t.After) || slices.ContainsFunc(t.From, outside)) {
			r.Err = flat.ErrShort
		}
		ts = append(ts, t)
	}
	return ts
}

// Memory is the size of the graph, bytes: used without the free places of its arrays, taken with them. Room to grow
// into is not counted.
func (g *Graph) Memory() (used, taken int64) {
	vertex := int64(g.stride)*int64(unsafe.Sizeof(rank{})) + 2*4 // and what searches have seen
	edges := int64(len(g.edges)) * int64(unsafe.Sizeof(Edge{}))
	orders := flat.Size(g.spans)
	for i := range g.orders {
		o := &g.orders[i]
		orders += int64(o.queue.n)*int64(unsafe.Sizeof(rank{})) + flat.Size(o.slots) + flat.Size(o.free) + flat.Size(o.low)
	}
	taken = int64(g.numVertices)*vertex + edges + orders
	used = int64(g.numLive)*vertex + edges - int64(g.freeEdge.Len())*int64(unsafe.Sizeof(Edge{})) + orders
	return used, taken
}
