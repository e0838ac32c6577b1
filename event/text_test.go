package event

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event/record"
)

var rewrite = flag.Bool("rewrite", false, "write what was found into testdata instead of comparing")

// TestText runs testdata/*.txt. A case is a comment (lines with #), records,
// a line of four dashes and what the batch holds afterwards; an empty line ends
// it. In files named assemble*.txt the records go through an assembler.
func TestText(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		run := decodeCase
		if strings.HasPrefix(filepath.Base(file), "assemble") {
			run = assembleCase
		}
		var found []string
		for i, c := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			input, want, _ := strings.Cut(c, "\n----\n")
			got := run(t, input)
			if got != strings.TrimSpace(want) && !*rewrite {
				t.Errorf("%s, case %d:\n%s\n---- found\n%s\n---- wanted\n%s", file, i+1, input, got, want)
			}
			found = append(found, input+"\n----\n"+got)
		}
		if *rewrite {
			if err := os.WriteFile(file, []byte(strings.Join(found, "\n\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// records are the lines of a case that are not comments.
func records(input string) []string {
	var lines []string
	for line := range strings.Lines(input) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func decodeCase(t *testing.T, input string) string {
	var d Decoder
	var b Batch
	d.DecodeMessage(&b, Position{Offset: 7}, []byte(strings.Join(records(input), "\n")))
	checkHashes(t, &b)
	checkRoundTrips(t, &b)
	return show(&b)
}

// show prints what a batch holds: transactions as JSON with the elements of
// their arrays, parts, dead letters with their positions.
func show(b *Batch) string {
	var out strings.Builder
	for i := range b.Txns {
		r := b.Record(&b.Txns[i])
		fmt.Fprintf(&out, "%s\n", AppendJSON(nil, &r))
		for j, o := range r.Ops {
			if o.Flags&IsArray != 0 {
				fmt.Fprintf(&out, "  ops[%d] elements: %s\n", j, strings.Join(o.Elems, " | "))
			}
		}
	}
	for _, p := range b.Parts {
		fmt.Fprintf(&out, "%s %s of %s", p.Kind, b.Text(p.ID), b.Text(p.Source))
		if p.Kind == OpPart {
			o := b.recordOp(&b.Ops[p.Op])
			fmt.Fprintf(&out, " [%d] %s", p.Index, record.AppendOp(nil, &o))
		}
		if p.HasStart {
			fmt.Fprintf(&out, " start %d", p.Start)
		}
		if p.HasEnd {
			fmt.Fprintf(&out, " end %d", p.End)
		}
		if p.Spread {
			fmt.Fprintf(&out, " spread, count %d", p.Count)
		}
		out.WriteByte('\n')
	}
	for i := range b.Marks {
		fmt.Fprintf(&out, "behind %d: %s\n", b.Marks[i].Before, AppendMark(nil, &b.Marks[i]))
	}
	for _, bad := range b.Bad {
		fmt.Fprintf(&out, "bad %d#%d %s\n", bad.Pos.Offset, bad.Pos.Sub, bad.Reason)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// checkHashes recomputes every hash of a batch from its text.
func checkHashes(t *testing.T, b *Batch) {
	t.Helper()
	check := func(what string, s Span, h Hash, present bool) {
		t.Helper()
		want := Hash{}
		if present {
			want = hashBytes(b.Bytes(s))
		}
		if h != want {
			t.Errorf("hash of %s %q is %x, want %x", what, b.Text(s), h, want)
		}
	}
	for i := range b.Txns {
		check("txn", b.Txns[i].ID, b.Txns[i].IDHash, true)
		check("session", b.Txns[i].Session, b.Txns[i].SessionHash, b.Txns[i].Session.Len > 0)
	}
	for i := range b.Ops {
		o := &b.Ops[i]
		check("key", o.Key, o.KeyHash, o.Kind != Range || o.Key.Len > 0)
		check("value", o.Value, o.ValueHash, o.Value.Len > 0)
		for _, e := range b.ElemsOf(o) {
			check("element", e.Value, e.Hash, true)
		}
	}
	for _, x := range b.Extras {
		check("expected", x.Expected, x.ExpectedHash, x.Expected.Len > 0)
		check("seen", x.Seen, x.SeenHash, x.Seen.Len > 0)
	}
	for _, r := range b.Rows {
		check("row key", r.Key, r.KeyHash, true)
		check("row value", r.Value, r.ValueHash, true)
	}
}
