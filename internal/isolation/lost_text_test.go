package isolation

import (
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// A lost update tells what each read and what was overwritten. "Both" is for one version that both read and replaced.
func TestLostUpdateIsTrue(t *testing.T) {
	update := func(id, value, read, replaced, version string) event.Record {
		return event.Record{ID: id, Status: event.Committed, Ops: []event.RecordOp{
			{Kind: event.Read, Key: "x", Value: value, Version: read},
			{Kind: event.Write, Key: "x", Value: value, Version: version, PrevVersion: replaced},
		}}
	}
	const hash = `"7mrzFcdMVIsP7FYVtk3PBA"`
	rw := finding.Dependency{From: 0, To: 1, Label: finding.RW, Key: "x", Value: "60", Shown: -1}
	ww := func(from, to int, value string) finding.Dependency {
		return finding.Dependency{From: from, To: to, Label: finding.WW, Key: "x", Value: value, Shown: -1}
	}
	for _, c := range []struct {
		txns  []event.Record
		edges []finding.Dependency
		want  string
	}{
		{[]event.Record{update("A", "9", "59", "62", "63"), update("B", "9", "57", "59", "60"), update("C", "8", "58", "60", "62")},
			[]finding.Dependency{rw, ww(1, 2, "62"), ww(2, 0, "63")},
			"A updated x from 9 (version 59), and overwrote 8 (version 62), which C had written since; that update was lost."},
		{[]event.Record{update("A", "9", "59", "60", "63"), update("B", "9", "57", "59", "60")},
			[]finding.Dependency{rw, ww(1, 0, "63")},
			"A updated x from 9 (version 59), and overwrote 9 (version 60), which B had written since; that update was lost."},
		{[]event.Record{update("A", "9", "59", "60", "63"), update("B", "9", "59", "59", "60")},
			[]finding.Dependency{rw, ww(1, 0, "63")},
			"A updated x from 9 (version 59), and overwrote 9 (version 60), which B had written since; that update was lost."},
		{[]event.Record{update("A", hash, "59", "60", "63"), update("B", hash, "57", "59", "60")},
			[]finding.Dependency{rw, ww(1, 0, "63")},
			"A updated x from version 59, and overwrote version 60, which B had written since; that update was lost."},
	} {
		w := finding.Witness{Txns: c.txns, Edges: c.edges, ByVersion: true}
		var f finding.Finding
		if NameCycle(&w).Fill(&f, &w, Level{Base: Serializable}); f.Headline != c.want {
			t.Errorf("%s\nwant %s", f.Headline, c.want)
		}
	}
}
