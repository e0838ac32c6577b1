package isolation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

func TestCut(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", 1024)} {
		if got := Cut(text, 1024); got != text {
			t.Errorf("%.20q is cut to %.20q", text, got)
		}
	}
	long := strings.Repeat("é", 3000)
	for most := 60; most < 400; most++ {
		got := Cut(long, most)
		if len(got) > most || !utf8.ValidString(got) || !strings.Contains(got, "(6000 bytes, ") || !strings.HasPrefix(got, "éé") {
			t.Fatalf("cut to %d: %d bytes, %q", most, len(got), got)
		}
	}
	if Cut(long+"a"+long, 100) == Cut(long+"b"+long, 100) {
		t.Error("two texts of one length become one")
	}
	if again := Cut(Cut(long, 100), 100); again != Cut(long, 100) {
		t.Errorf("cut twice: %q", again)
	}
}

// Whatever is long in a finding, it fits; what is short stays, and the lists of the
// unbounded one are left alone.
func TestBound(t *testing.T) {
	short := finding.Finding{
		ID: "0123456789abcdef", Source: "s", Epoch: "e", Explanation: "because", Txns: []string{"a", "b"},
		Levels: map[string]string{"a": "serializable"}, Names: map[string]string{"b": "transfer"}, Endpoints: map[string]string{"a": "db-1"},
		Edges: []finding.Edge{{From: "a", To: "b", Type: "ww", Key: "x", Value: "1", Evidence: "so"}},
	}
	same := short
	if Bound(&same); !reflect.DeepEqual(same, short) {
		t.Errorf("a short finding becomes %+v", same)
	}
	if n := testing.AllocsPerRun(10, func() { Bound(&same) }); n != 0 {
		t.Errorf("%v allocations for a short finding", n)
	}

	huge := strings.Repeat("\x01", 5<<20) // six bytes each as JSON
	id := func(i int) string { return fmt.Sprintf("%d %s %d", i, huge, i) }
	long := finding.Finding{
		ID: "0123456789abcdef", Source: huge, Epoch: huge, Explanation: huge, Command: huge, FirstPosition: huge, LastPosition: huge,
		Txns: []string{id(1), id(2)}, Levels: map[string]string{id(1): "serializable"}, Names: map[string]string{id(2): huge}, Endpoints: map[string]string{id(1): "db-1"},
		Edges: []finding.Edge{{From: id(1), To: id(2), Type: "ww", Key: huge, Value: huge, Evidence: huge}, {From: id(2), To: id(1), Type: "rw", Key: "k"}},
	}
	cut := long
	Bound(&cut)
	if cut.Cut || cut.ID != long.ID || len(cut.Edges) != 2 || cut.Edges[0].From != cut.Txns[0] || cut.Edges[0].To != cut.Txns[1] ||
		cut.Txns[0] == cut.Txns[1] || cut.Levels[cut.Txns[0]] != "serializable" || cut.Endpoints[cut.Txns[0]] != "db-1" || len(cut.Names[cut.Txns[1]]) != maxName {
		t.Errorf("the parts of the finding do not agree: %d edges, cut %v", len(cut.Edges), cut.Cut)
	}
	if len(long.Txns[0]) < len(huge) || long.Edges[0].Value != huge || long.Levels[id(1)] == "" {
		t.Error("the finding that was copied is cut too")
	}
	fits(t, &cut)

	many := finding.Finding{Levels: map[string]string{}}
	for i := range 100_000 {
		a, b := fmt.Sprintf("T%d", i), fmt.Sprintf("T%d", i+1)
		many.Txns, many.Levels[a] = append(many.Txns, a), "serializable"
		many.Edges = append(many.Edges, finding.Edge{From: a, To: b, Type: "ww", Key: "x", Value: "1", Evidence: a + " wrote before " + b})
	}
	Bound(&many)
	if !many.Cut || len(many.Txns) < 5000 || len(many.Edges) < 1000 || many.Txns[0] != "T0" || many.Edges[0].From != "T0" {
		t.Errorf("%d transactions, %d edges, cut %v", len(many.Txns), len(many.Edges), many.Cut)
	}
	fits(t, &many)
}

// fits wants the finding to fit a commit of the store twice: as it is stored, and as
// it is delivered.
func fits(t *testing.T, f *finding.Finding) {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil || len(text) > 2_200_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// The explanation tells the names of the transactions, long ones without their middle.
func TestExplainNames(t *testing.T) {
	ops := []event.RecordOp{{Kind: event.Read, Key: "x", Value: "1"}}
	w := finding.Witness{Key: "x", Value: "1", Txns: []event.Record{
		{ID: "R", Name: "transfer", Session: "app-1", Status: event.Committed, Ops: ops},
		{ID: "W", Name: strings.Repeat("n", 300), Status: event.Aborted, Ops: ops},
	}}
	var f finding.Finding
	NameOf(finding.G1a).Fill(&f, &w, Level{})
	for _, want := range []string{"  R = named transfer, session app-1: r x 1\n", "  W = named " + strings.Repeat("n", 40) + "...", "nnn, aborted: r x 1\n"} {
		if !strings.Contains(f.Explanation, want) {
			t.Errorf("%q is not in %q", want, f.Explanation)
		}
	}
}

// The explanation keeps its sentences when a key or a value in them is large.
func TestExplainHugeNames(t *testing.T) {
	key, value := strings.Repeat("k", 1<<20), `"`+strings.Repeat("v", 1<<20)+`"`
	w := finding.Witness{
		Txns: []event.Record{
			{ID: "W", Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Write, Key: key, Value: value}}},
			{ID: "R", Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Read, Key: key, Value: value}}},
		},
		Edges: []finding.Dependency{
			{From: 0, To: 1, Label: finding.WR, Key: key, Value: value, Shown: -1},
			{From: 1, To: 0, Label: finding.Process, Key: key, Shown: -1},
		},
	}
	var f finding.Finding
	NameOf(finding.G1a).Fill(&f, &w, Level{})
	Bound(&f)
	for _, want := range []string{"Let:", "W = w kkk", "Then:", "R read ", ", which W wrote", "a contradiction!"} {
		if !strings.Contains(f.Explanation, want) {
			t.Errorf("%q is not in %q", want, f.Explanation)
		}
	}
	if len(f.Explanation) > 20<<10 || len(f.Edges) != 2 || !strings.HasSuffix(f.Edges[0].Evidence, ", which W wrote") {
		t.Errorf("explanation of %d bytes, edges %+v", len(f.Explanation), f.Edges)
	}
}

// Long values and names of transactions stay text where they are cut.
func TestClipKeepsCharacters(t *testing.T) {
	for begin := range 4 {
		long := strings.Repeat("a", begin) + strings.Repeat("имя🔑", 30)
		got := clip(long)
		if !utf8.ValidString(got) || len(got) > 80 || len(got) < 70 || !strings.Contains(got, "...") {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
	if got := clip(strings.Repeat("a", 81)); len(got) != 80 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
