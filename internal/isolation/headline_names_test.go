package isolation

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

func TestKeyList(t *testing.T) {
	for keys, want := range map[string]string{
		"x": "x", "1": "key 1", "x y": "x, y", "1 2": "keys 1, 2", "x 2": "x, key 2",
		"a b c d": "a, b, c and 1 more key", "1 2 3 4 5": "keys 1, 2, 3 and 2 more keys",
	} {
		if got := keyList(strings.Fields(keys)); got != want {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
	}
}

func TestGroup(t *testing.T) {
	for _, x := range []struct {
		names string
		all   int
		want  string
	}{
		{"T1", 1, "T1"}, {"T1 T2", 2, "T1 and T2"}, {"T1 T2 T3", 0, "T1, T2 and T3"},
		{"T1 T2 T3", 4, "T1, T2 and 2 others"}, {"T1 T2 T3", 9, "T1, T2 and 7 others"},
	} {
		if got := group(strings.Fields(x.names), x.all); got != x.want {
			t.Errorf("%s of %d: %q, want %q", x.names, x.all, got, x.want)
		}
	}
}

// A headline stands without the list of short names: it has the beginning and the end of a long id,
// and the whole id where two of them would look the same.
func TestHeadlineIDs(t *testing.T) {
	of := func(ids ...string) *witness {
		w := &witness{Witness: &finding.Witness{}, byID: true}
		for _, id := range ids {
			w.Txns = append(w.Txns, event.Record{ID: id})
		}
		return w
	}
	const a, b, c = "4f2c1a90-1b2c-4d5e-8f90-a1b2c3d4e5f6", "4f2c1a90-1b2c-4d5e-9f90-a1b2c3d4e5f6", "77777777-1b2c-4d5e-8f90-a1b2c3d4e5f6"
	if got, want := of(a, c, "T3").short(0), "4f2c1a90-1b2...2c3d4e5f6"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := of(a, b).short(0); got != a {
		t.Errorf("%q, want %q: the other one looks the same", got, a)
	}
	if got := of(a, "T3").short(1); got != "T3" {
		t.Errorf("%q, want T3", got)
	}
}

// In the proof too, a key of digits does not read as a value.
func TestKeysInEvidence(t *testing.T) {
	w := &witness{Witness: &finding.Witness{Txns: []event.Record{
		{ID: "T1", Ops: []event.RecordOp{{Kind: event.Read, Key: "7", Value: "1"}}},
		{ID: "T2", Ops: []event.RecordOp{{Kind: event.Write, Key: "7", Value: "2"}}},
	}}}
	e := finding.Dependency{From: 0, To: 1, Label: finding.RW, Key: "7", Value: "2", Shown: -1}
	if got, want := because(w, &e), "T1 read key 7 = 1, which T2 overwrote with 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A key that looks like several words is quoted in sentences, ranges and rows, as in operations. Others stay as they are.
func TestKeysAreQuoted(t *testing.T) {
	for key, want := range map[string]string{
		"x": "x", "account:7/a.b": "account:7/a.b", "12": "key 12", "x, w y": `"x, w y"`, "a b": `"a b"`, `say "x"`: `"say \"x\""`, "a\nb": `"a\nb"`, "": `""`, "a=b": "a=b", "f(x)": "f(x)",
	} {
		if got := keyName(key); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
	if got := keyList([]string{"x, w y", "z"}); got != `"x, w y", z` {
		t.Error(got)
	}
	o := event.RecordOp{Kind: event.Range, HasFrom: true, From: "a", HasTo: true, To: "b", Rows: []event.RecordRow{{Key: "a", Value: "1"}}}
	if got := Operation(&o); got != "range [a, b) [a=1]" {
		t.Error(got)
	}
	o.From, o.To, o.Rows[0].Key = "a, b", "c)", "a=b"
	if got := Operation(&o); got != `range ["a, b", "c)") ["a=b"=1]` {
		t.Error(got)
	}
	w := finding.Witness{Txns: []event.Record{
		{ID: "T1", Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Read, Key: "x, w y", Value: "0"}, {Kind: event.Write, Key: "x, w y", Value: "1"}}},
		{ID: "T2", Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Read, Key: "x, w y", Value: "0"}, {Kind: event.Write, Key: "x, w y", Value: "2"}}},
	}, Edges: []finding.Dependency{
		{From: 0, To: 1, Label: finding.RW, Key: "x, w y", Value: "2", Shown: -1}, {From: 1, To: 0, Label: finding.RW, Key: "x, w y", Value: "1", Shown: -1},
	}}
	var f finding.Finding
	NameCycle(&w).Fill(&f, &w, Level{Base: Serializable})
	for _, text := range []string{f.Headline, f.Edges[0].Evidence, f.Edges[1].Evidence} {
		if !strings.Contains(text, `"x, w y"`) || strings.Contains(strings.ReplaceAll(text, `"x, w y"`, ""), "x, w y") {
			t.Errorf("%s", text)
		}
	}
}
