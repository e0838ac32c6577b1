package page

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/words"
)

// A record is shown as it came in, where that is kept: control characters and marks cannot change the page, bytes are in
// hexadecimal, and what is left out is told. Otherwise the page tells why it is as decoded.
func TestRecordAsItCame(t *testing.T) {
	const one = "A"
	of := func(change func(f *finding.Finding)) string {
		f := finding.Finding{ID: "1f", Anomaly: "lost-update", Txns: []string{one, "B"}}
		for _, id := range f.Txns {
			f.History = append(f.History, json.RawMessage(`{"txn":"`+id+`","status":"committed","ops":[{"op":"w","key":"x","value":1}]}`))
		}
		change(&f)
		var b strings.Builder
		if err := WriteReport(&b, &Report{Parts: []Part{{Findings: []finding.Finding{f}}}}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const hostile = "{ \"txn\":\"<b>\u202e\",\r\t\"a\":1}"
	for name, c := range map[string]struct {
		change    func(f *finding.Finding)
		want, not []string
	}{
		"kept": {func(f *finding.Finding) {
			f.Raw = []finding.Raw{{Txn: one, Position: "p:1", Text: hostile}, {Txn: "another", Text: "of another"}}
		},
			[]string{"As it came in:", `{ &#34;txn&#34;:&#34;&lt;b&gt;\u202e&#34;,\x0d` + "\t", "<summary>As decoded</summary>", "What came in is not kept."}, []string{"more bytes", "\u202e", "\r", "of another"}},
		"several, one cut": {func(f *finding.Finding) {
			f.Raw = []finding.Raw{{Txn: one, Position: "p:1", Text: "x"}, {Txn: one, Position: "p:2", Text: "y", Cut: 7}}
		}, []string{"As it came in at <code>p:1</code>:", "As it came in at <code>p:2</code>:", "7 more bytes are not kept."}, nil},
		"binary": {func(f *finding.Finding) { f.Raw = []finding.Raw{{Txn: one, Bytes: []byte{0x0a, 1, 'A'}}} }, []string{"As it came in, in hexadecimal:", "0a 01 41"}, nil},
		"hidden": {func(f *finding.Finding) { f.Hidden, f.Raw = true, []finding.Raw{{Txn: one, Text: hostile}} }, []string{"What came in holds values, which are hidden here."}, []string{"As it came in", "&lt;b&gt;"}},
		"the same": {func(f *finding.Finding) {
			f.Raw = []finding.Raw{{Txn: one, Text: string(f.History[0])}, {Txn: "B", Text: string(f.History[1])}}
		}, []string{"As it came in:"}, []string{"As decoded"}},
		"none": {func(f *finding.Finding) {}, []string{"What came in is not kept."}, []string{"As it came in", "<summary>As decoded"}},
	} {
		text := of(c.change)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, text[strings.Index(text, "<main"):strings.Index(text, "<script")])
			}
		}
		for _, not := range c.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q is there", name, not)
			}
		}
	}
}

// A record that a finding does not name has the position of what came in.
func TestPositionOfRecordBeside(t *testing.T) {
	f := finding.Finding{
		ID: "1f", Anomaly: "duplicate-elements", Txns: []string{"T2"}, About: &finding.About{Txn: "T2", Key: "l", Value: "1"}, Positions: map[string]string{"T2": "p:2"},
		History: []json.RawMessage{
			json.RawMessage(`{"txn":"T1","status":"committed","ops":[{"op":"append","key":"l","value":1}]}`),
			json.RawMessage(`{"txn":"T2","status":"committed","ops":[{"op":"r","key":"l","value":[1,1]}]}`),
		},
		Raw: []finding.Raw{{Txn: "T1", Position: "p:1", Text: "{}"}, {Txn: "T2", Position: "p:7", Text: "{}"}},
	}
	full := NewFull(f, Options{}, nil)
	for i, want := range []string{"p:2", "p:1"} {
		if got := full.Members[i].Position; got != want {
			t.Errorf("%s is at %q, want %q", full.Members[i].ID, got, want)
		}
	}
	if ends := full.Steps[0].Ends; ends[0].Position != "p:1" || ends[1].Position != "p:2" {
		t.Errorf("the dependency is at %q and %q", ends[0].Position, ends[1].Position)
	}
}

// A page says what the numbers in positions count: of the service bytes, and of a report those of what was read.
func TestPositionsSayWhatTheyCount(t *testing.T) {
	const first, second = "file:a.jsonl:7", "file:a.jsonl:8"
	f := finding.Finding{
		ID: "1f", Anomaly: "G1a", Txns: []string{"T1"}, FirstPosition: first, LastPosition: second, Positions: map[string]string{"T1": first},
		History: []json.RawMessage{json.RawMessage(`{"txn":"T1","status":"committed","ops":[{"op":"w","key":"l","value":1}]}`)},
		Raw:     []finding.Raw{{Txn: "T1", Position: first, Text: "{}"}, {Txn: "T1", Position: second, Text: "{}"}},
	}
	for unit, of := range map[string]words.Numbers{"byte": words.OfService, "line": words.Lines} {
		var b bytes.Buffer
		if err := WriteReport(&b, &Report{Heading: "h", Parts: []Part{{Findings: []finding.Finding{f}, Numbers: of}}}); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, want := range []string{
			"<dt>Position</dt><dd><code>file:a.jsonl " + unit + " 7</code>", "As it came in at <code>file:a.jsonl " + unit + " 8</code>",
			"<dt>First position</dt><dd><code>file:a.jsonl " + unit + " 7</code>", "<dt>Last position</dt><dd><code>file:a.jsonl " + unit + " 8</code>",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text[strings.Index(text, "<main"):])
			}
		}
	}
}
