package isolation

import (
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// TestArcGraph: which cycles of labels are cycles of a level's encoding, that the last edge
// closes: a way that leads around elsewhere is none, and ends the search.
func TestArcGraph(t *testing.T) {
	const ww, wr, rw, process = finding.WW, finding.WR, finding.RW, finding.Process
	for _, c := range []struct {
		name                              string
		labels                            []finding.Label // T0 -> T1 -> ... -> T0
		serializable, si, prefix, session bool
	}{
		{"write skew", []finding.Label{rw, rw}, true, false, false, true},
		{"lost update", []finding.Label{ww, rw}, true, true, false, true},
		{"read skew", []finding.Label{wr, rw}, true, true, true, true},
		{"write cycle", []finding.Label{ww, ww}, true, true, true, true},
		{"information flow", []finding.Label{wr, wr}, true, true, true, true},
		{"long fork", []finding.Label{wr, rw, wr, rw}, true, true, true, true},
		{"two apart", []finding.Label{rw, wr, rw, ww}, true, true, false, true},
		{"in a session", []finding.Label{process, rw}, false, false, false, true},
	} {
		w := &witness{Witness: &finding.Witness{Txns: make([]event.Record, len(c.labels)+3)}}
		for i, l := range c.labels {
			w.Edges = append(w.Edges, finding.Dependency{From: i, To: (i + 1) % len(c.labels), Label: l})
		}
		closing := w.Edges[len(w.Edges)-1:]
		w.Edges = w.Edges[:len(w.Edges)-1]
		for level, want := range map[Level]bool{
			{Base: Serializable}: c.serializable, {Base: SnapshotIsolation}: c.si, {Base: Prefix}: c.prefix,
			{Base: Serializable, Family: StrongSession}: c.session,
		} {
			got := w.graphOf(level).cycle(closing)
			if (got != nil) != want {
				t.Errorf("%s is a cycle of %s: %v, want %v", c.name, level, got != nil, want)
			}
			if got != nil && len(got) != len(c.labels) {
				t.Errorf("%s has %d edges in %s, want %d", c.name, len(got), level, len(c.labels))
			}
		}
		// A way into a cycle of their own, which nothing leads out of.
		n := len(c.labels)
		w.Edges = append(w.Edges, finding.Dependency{From: n, To: n + 1, Label: wr},
			finding.Dependency{From: n + 1, To: n + 2, Label: wr}, finding.Dependency{From: n + 2, To: n + 1, Label: wr})
		if way, ok := w.graphOf(Level{Base: Serializable}).path(2*n, 0); ok {
			t.Errorf("%s: a way of %d edges out of a cycle", c.name, len(way))
		}
		if way, ok := w.graphOf(Level{Base: Serializable}).path(2*n, 2*n); !ok || len(way) != 0 {
			t.Errorf("%s: the way from a node to itself has %d edges, %v", c.name, len(way), ok)
		}
	}
}

// TestCovers: a range includes where it begins, and not where it ends; one that was cut off by its limit
// says nothing of what is behind its last row.
func TestCovers(t *testing.T) {
	row := func(keys ...string) (rows []event.RecordRow) {
		for _, k := range keys {
			rows = append(rows, event.RecordRow{Key: k})
		}
		return rows
	}
	for _, c := range []struct {
		name     string
		op       event.RecordOp
		yes, not []string
	}{
		{"both ends", event.RecordOp{HasFrom: true, From: "b", HasTo: true, To: "d"}, []string{"b", "c"}, []string{"a", "d", "e"}},
		{"from", event.RecordOp{HasFrom: true, From: "b"}, []string{"b", "z"}, []string{"a", ""}},
		{"to", event.RecordOp{HasTo: true, To: "b"}, []string{"", "a"}, []string{"b", "c"}},
		{"open", event.RecordOp{}, []string{"", "z"}, nil},
		{"cut off", event.RecordOp{Limit: 2, Rows: row("b", "d")}, []string{"a", "b", "c", "d"}, []string{"e"}},
		{"cut off, descending", event.RecordOp{Limit: 2, Desc: true, Rows: row("d", "b")}, []string{"b", "c", "d", "e"}, []string{"a"}},
		{"not cut off", event.RecordOp{Limit: 3, Rows: row("b", "d")}, []string{"a", "e"}, nil},
	} {
		for _, k := range c.yes {
			if !external.Covers(&c.op, k) {
				t.Errorf("%s: %q is not covered", c.name, k)
			}
		}
		for _, k := range c.not {
			if external.Covers(&c.op, k) {
				t.Errorf("%s: %q is covered", c.name, k)
			}
		}
	}
}
