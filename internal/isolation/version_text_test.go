package isolation

import (
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// Versions are told in words. A plain word has no quotes.
func TestVersionText(t *testing.T) {
	for want, o := range map[string]event.RecordOp{
		"w x 1":                               {},
		"w x 1 (version 3604)":                {Version: `"3604"`},
		"w x 1 (version 3604 after 3600)":     {Version: `"3604"`, PrevVersion: `"3600"`},
		"w x 1 (version 9 after 7)":           {Version: "9", PrevVersion: "7"},
		"w x 1 (after version 7)":             {PrevVersion: "7"},
		`w x 1 (version "1) r y 2")`:          {Version: `"1) r y 2"`},
		"w x 1 (version 0/16B3748 after 0:1)": {Version: `"0/16B3748"`, PrevVersion: `"0:1"`},
	} {
		o.Kind, o.Key, o.Value = event.Write, "x", "1"
		if got := Operation(&o); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Two reads that differ in the version only have one answer, and a version is not told as a value.
func TestOnlyTheVersionDiffers(t *testing.T) {
	read := func(value, version string) event.RecordOp {
		return event.RecordOp{Kind: event.Read, Key: "x", Value: value, Version: version}
	}
	for _, c := range []struct {
		first, again    event.RecordOp
		headline, proof string
	}{
		{read("14", `"7"`), read("14", `"9"`), "A read x twice and got two versions.", "operation 2 of A read x again and got another version: r x 14 (version 9)"},
		{read("14", `"7"`), read("15", `"9"`), "A read x twice and got two answers.", "operation 2 of A read x again and got another answer: r x 15 (version 9)"},
	} {
		w := &witness{Witness: &finding.Witness{Anomaly: finding.Nonrepeatable, Key: "x", Op: 1, Txns: []event.Record{{ID: "A", Ops: []event.RecordOp{c.first, c.again}}}}}
		if got := plainSentence(w); got != c.headline {
			t.Errorf("%s, want %s", got, c.headline)
		}
		if got := sentence(w); got != c.proof {
			t.Errorf("%s, want %s", got, c.proof)
		}
	}
	nothing := read("", `"24537"`)
	nothing.Flags = event.NotFound
	for want, o := range map[string]event.RecordOp{
		"nothing (version 24537)": nothing,
		"14 (version 24537)":      read("14", `"24537"`),
		"version 24537":           {Kind: event.Write, Key: "x", PrevVersion: `"24537"`, Value: "1"},
		`"24537"`:                 read(`"24537"`, ""),
	} {
		w := &witness{Witness: &finding.Witness{Txns: []event.Record{{ID: "A", Ops: []event.RecordOp{o}}}}}
		if got := withVersion(w, 0, "x", `"24537"`); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// At the end of a chain too, a version is told as a version.
func TestChainTellsVersion(t *testing.T) {
	write := func(id, value, version, prev string) event.Record {
		return event.Record{ID: id, Ops: []event.RecordOp{{Kind: event.Write, Key: "x", Value: value, Version: version, PrevVersion: prev}}}
	}
	read := event.Record{ID: "R", Ops: []event.RecordOp{{Kind: event.Read, Key: "x", Value: "14", Version: `"7"`}}}
	w := &witness{Witness: &finding.Witness{ByVersion: true, Txns: []event.Record{read, write("A", "13", `"8"`, `"7"`), write("B", "12", `"9"`, `"8"`)}}}
	e := &finding.Dependency{From: 0, To: 2, Label: finding.RW, Key: "x", Value: `"9"`, Shown: -1, Past: []finding.Dependency{
		{From: 0, To: 1, Label: finding.RW, Key: "x", Value: `"8"`, Shown: -1}, {From: 1, To: 2, Label: finding.WW, Key: "x", Value: `"9"`, Shown: -1},
	}}
	if got, want := chainSentence(w, e), "R read x = 14 (version 7), which A overwrote with 13 (version 8), and right behind that B left 12 (version 9)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
