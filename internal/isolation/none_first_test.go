package isolation

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// None of some who read from each other can come first. If one of them need not have read from them, or
// has no edge from them, there may be an order. The class is that of any cycle among them.
func TestNoneFirst(t *testing.T) {
	const n = 4 // readers of 0 and of 1 each: with fewer all ways are tried
	flips := func() *finding.Witness {
		w := &finding.Witness{}
		for i := range 2 * n {
			read, wrote := "0", "1"
			if i >= n {
				read, wrote = "1", "0"
			}
			w.Txns = append(w.Txns, event.Record{ID: "T", Status: event.Committed, Ops: []event.RecordOp{
				{Kind: event.Read, Key: "x", Value: read}, {Kind: event.Read, Key: "k", Flags: event.NotFound},
				{Kind: event.Write, Key: "x", Value: wrote}, {Kind: event.Write, Key: "k", Value: "5"},
			}})
			c := finding.Choice{Key: "x", A: i}
			for j := range n {
				c.Writers = append(c.Writers, (i/n^1)*n+j)
			}
			w.Choices = append(w.Choices, c)
			w.Repeated = append(w.Repeated, finding.DuplicateRead{Txn: i, Key: "x"})
		}
		return w
	}
	missed := func(from, to int) finding.Dependency {
		return finding.Dependency{From: from, To: to, Label: finding.RW, Key: "k", Value: "5", Shown: -1}
	}
	last := 2*n - 1
	for name, c := range map[string]struct {
		change func(w *finding.Witness)
		base   Base
		behind int // 0 if an order may be left
		class  class
	}{
		"all of them":           {func(*finding.Witness) {}, Serializable, 2 * n, classSingle},
		"begins and commits":    {func(*finding.Witness) {}, Prefix, 4 * n, classSingle},
		"one read nothing":      {func(w *finding.Witness) { w.Choices = w.Choices[:last] }, Serializable, 0, 0},
		"one is behind another": {func(w *finding.Witness) { w.Choices, w.Edges = w.Choices[:last], append(w.Edges, missed(0, last)) }, Serializable, 2 * n, classSingle},
		"one commits behind":    {func(w *finding.Witness) { w.Choices, w.Edges = w.Choices[:last], append(w.Edges, missed(0, last)) }, Prefix, 4*n - 1, classSingle},
		"one is before another": {func(w *finding.Witness) { w.Choices, w.Edges = w.Choices[:last], append(w.Edges, missed(last, 0)) }, Serializable, 0, 0},
		"two anti-dependencies": {func(w *finding.Witness) { w.Edges = append(w.Edges, missed(0, last), missed(1, last)) }, Serializable, 2 * n, classG2},
		"behind those of the cycle": {func(w *finding.Witness) {
			w.Txns = append(w.Txns, w.Txns[0])
			w.Edges = append(w.Edges, missed(0, 2*n))
		}, Serializable, 2*n + 1, classSingle},
	} {
		w := flips()
		c.change(w)
		x := &witness{Witness: w}
		var open []*finding.Choice
		for i := range w.Choices {
			open = append(open, &w.Choices[i])
		}
		g := x.graphOf(Level{Base: c.base})
		all := g.noneFirst(open)
		if len(all) != c.behind {
			t.Errorf("%s: %d nodes are behind others, want %d: %v", name, len(all), c.behind, all)
			continue
		}
		if len(all) == 0 {
			continue
		}
		if got := g.classBehind(all); got != c.class {
			t.Errorf("%s: class %v", name, got)
		}
		cycle := x.cycleBehind(all)
		for i, e := range cycle {
			if next := cycle[(i+1)%len(cycle)]; e.To != next.From {
				t.Errorf("%s: no cycle: %v", name, cycle)
			}
		}
		var b strings.Builder
		x.writeBehind(&b, all, "")
		if text := b.String(); strings.Count(text, " read x of T, T, T or T.\n") != len(open) || strings.Count(text, "T < T.\n") > len(w.Edges) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
