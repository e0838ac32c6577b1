package isolation

import (
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// TestPlainly: operations of other kinds, as reads and writes of registers.
func TestPlainly(t *testing.T) {
	read := func(key, value string) event.RecordOp {
		return event.RecordOp{Kind: event.Read, Key: key, Value: value}
	}
	write := func(key, value string) event.RecordOp {
		return event.RecordOp{Kind: event.Write, Key: key, Value: value}
	}
	nothing := func(o event.RecordOp) event.RecordOp {
		o.Value, o.Flags = "", event.NotFound
		return o
	}
	count := func(value, version string) event.RecordOp {
		return event.RecordOp{Kind: event.Read, Key: "c", Value: value, Version: version, Data: event.Counter}
	}
	set := func(elems ...string) event.RecordOp {
		return event.RecordOp{Kind: event.Read, Key: "s", Data: event.Set, Flags: event.IsArray, Elems: elems}
	}
	for _, c := range []struct {
		name      string
		ops, want []event.RecordOp
	}{
		{"elements are added and removed", []event.RecordOp{{Kind: event.Add, Key: "s", Value: "1"}, {Kind: event.Remove, Key: "s", Value: "1"}},
			[]event.RecordOp{write("s\xff1", "1"), nothing(write("s\xff1", ""))}},
		{"a set is read", []event.RecordOp{set("1"), set()}, []event.RecordOp{read("s\xff1", "1"), nothing(read("s\xff1", ""))}},
		{"a counter that is only read", []event.RecordOp{count("5", "v1"), count("7", "")}, []event.RecordOp{read("c", "v1")}},
		{"a cas", []event.RecordOp{{Kind: event.CAS, Key: "x", Value: "2", Expected: "1", Flags: event.Success}, {Kind: event.CAS, Key: "x", Value: "4", Seen: "3"}},
			[]event.RecordOp{read("x", "1"), write("x", "2"), read("x", "3")}},
	} {
		w := plainly(&witness{Witness: &finding.Witness{
			Txns: []event.Record{{Ops: c.ops}}, Edges: []finding.Dependency{{Key: "s", Value: "1", Label: finding.WR, Shown: -1}},
		}})
		if !slices.EqualFunc(w.Txns[0].Ops, c.want, sameOp) {
			t.Errorf("%s: %+v, want %+v", c.name, w.Txns[0].Ops, c.want)
		}
	}
}

func sameOp(a, b event.RecordOp) bool {
	return a.Kind == b.Kind && a.Key == b.Key && a.Value == b.Value && a.Flags == b.Flags
}

// TestReplacedUnread: a range in front of a write shows the version that the write says it replaced. Without one the
// write alone names it.
func TestReplacedUnread(t *testing.T) {
	write := event.RecordOp{Kind: event.Write, Key: "x", Value: "6", Version: "2", PrevVersion: "1"}
	rows := event.RecordOp{Kind: event.Range, Rows: []event.RecordRow{{Key: "x", Value: "5", Version: "1"}}}
	other := event.RecordOp{Kind: event.Read, Key: "y", Value: "1"}
	for _, c := range []struct {
		name   string
		ops    []event.RecordOp
		unread bool
	}{
		{"alone", []event.RecordOp{write}, true},
		{"behind a read of another key", []event.RecordOp{other, write}, true},
		{"behind a range", []event.RecordOp{other, rows, write}, false},
	} {
		w := &witness{Witness: &finding.Witness{Txns: []event.Record{{Ops: c.ops}}}}
		if before, unread := replacedUnread(w, plainly(w), 0, "x"); before != "1" || unread != c.unread {
			t.Errorf("%s: it replaced %q unread: %v, want %v", c.name, before, unread, c.unread)
		}
	}
}

// TestSideEdges: the edges of one side of a choice. A writer that read the earlier value itself has no edge to itself.
func TestSideEdges(t *testing.T) {
	read := func(value string) event.RecordOp { return event.RecordOp{Kind: event.Read, Key: "x", Value: value} }
	write := func(value string) event.RecordOp {
		return event.RecordOp{Kind: event.Write, Key: "x", Value: value}
	}
	w := &witness{Witness: &finding.Witness{Txns: []event.Record{
		{Ops: []event.RecordOp{write("1")}},
		{Ops: []event.RecordOp{read("1"), write("2")}},
		{Ops: []event.RecordOp{read("1")}},
	}}}
	var got [][3]int
	for _, e := range w.sideEdges("x", side{first: 0, then: 1}, false) {
		got = append(got, [3]int{e.From, e.To, int(e.Label)})
	}
	if want := [][3]int{{0, 1, int(finding.WW)}, {2, 1, int(finding.RW)}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestChoiceLevel: choices that refute a level without a graph over choices are argued at the weakest one with such
// a graph that is above.
func TestChoiceLevel(t *testing.T) {
	write := func(key string) event.RecordOp { return event.RecordOp{Kind: event.Write, Key: key, Value: "1"} }
	w := &finding.Witness{
		Txns: []event.Record{{Ops: []event.RecordOp{write("x"), write("y")}}, {Ops: []event.RecordOp{write("x"), write("z")}}},
		Edges: []finding.Dependency{
			{From: 0, To: 1, Label: finding.WR, Key: "y", Value: "1", Shown: -1}, {From: 1, To: 0, Label: finding.WR, Key: "z", Value: "1", Shown: -1},
		},
		Choices: []finding.Choice{{Key: "x", A: 0, B: 1}},
	}
	for refuted, want := range map[Level]Level{
		{Base: ReadAtomic}: {Base: Prefix}, {Base: CursorStability}: {Base: SnapshotIsolation}, {Base: Serializable}: {Base: Serializable},
		{Special: GeneralizedSI}: {Special: GeneralizedSI},
	} {
		if got := ChoiceLevel(w, []Level{refuted}); got != want {
			t.Errorf("%s is argued at %s, want %s", refuted, got, want)
		}
	}
}
