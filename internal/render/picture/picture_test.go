package picture

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/isowatch/isowatch/finding"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/*.svg anew")

// ring is a finding with a cycle of the given types, each on a key of its own.
func ring(types ...string) finding.Finding {
	f := finding.Finding{ID: "1f", Kind: finding.KindViolation, Anomaly: "G2-item"}
	var let, then strings.Builder
	for i, kind := range types {
		from, to, key := fmt.Sprintf("T%d", i+1), fmt.Sprintf("T%d", (i+1)%len(types)+1), string(rune('a'+i))
		f.Txns = append(f.Txns, from)
		e := finding.Edge{From: from, To: to, Type: kind, Key: key, Evidence: from + " comes before " + to}
		if kind == "process" || kind == "realtime" {
			e.Key = ""
		}
		f.Edges = append(f.Edges, e)
		before := string(rune('a' + (i+len(types)-1)%len(types)))
		fmt.Fprintf(&let, "  %s = session s%d #%d: r %s 1, w %s 2, w other 3\n", from, i, i, key, before)
		fmt.Fprintf(&then, "  - %s < %s\n", from, to)
	}
	f.Explanation = "headline\n\nLet:\n" + let.String() + "\nThen:\n" + then.String()
	return f
}

func writeSkew() finding.Finding {
	f := ring("rw", "rw")
	f.Title = "write skew"
	return f
}

func longFork() finding.Finding {
	f := ring("wr", "rw", "wr", "rw")
	f.Anomaly, f.Title = "G-nonadjacent-item", "long fork"
	return f
}

func TestGolden(t *testing.T) {
	for name, f := range map[string]finding.Finding{"write-skew": writeSkew(), "long-fork": longFork()} {
		path := "testdata/" + name + ".svg"
		got := SVG(f)
		if *rewrite {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs; run with -rewrite and look at the picture", path)
		}
	}
}

// wellFormed reads all of an SVG and is the text in it.
func wellFormed(t *testing.T, svg []byte) (text string, elements map[string]int) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	elements = map[string]int{}
	var b strings.Builder
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return b.String(), elements
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
		case xml.CharData:
			b.Write(token)
			b.WriteByte('\n')
		}
	}
}

func TestHostileTextStaysText(t *testing.T) {
	attack := `"/><script>alert(1)</script><!-- ]]> & ' ` + "\x00\x1b\u202e\xff"
	f := writeSkew()
	f.ID, f.Title, f.Anomaly = attack, attack, attack
	f.Txns[0] = attack
	f.Edges[0].From, f.Edges[1].To = attack, attack
	f.Edges[0].Type, f.Edges[0].Key, f.Edges[1].Key, f.Edges[0].Evidence = attack, attack, attack, attack
	f.Levels = map[string]string{attack: attack}
	f.Explanation = strings.ReplaceAll(f.Explanation, "session s0", "session "+attack)
	svg := SVG(f)
	text, elements := wellFormed(t, svg)
	if elements["script"] != 0 || elements["path"] == 0 {
		t.Errorf("elements %v", elements)
	}
	if !strings.Contains(text, "<script>") {
		t.Error("the text is not shown")
	}
	if i := strings.IndexAny(string(svg), "\x00\x1b\u202e"); i >= 0 || !utf8.Valid(svg) {
		t.Errorf("byte %d is a control character, or the text is not UTF-8", i)
	}
}

// Boxes do not overlap, arrows touch the right boxes and no label covers a box,
// whatever the number of transactions and the length of their texts.
func TestNothingOverlaps(t *testing.T) {
	for n := 2; n <= 12; n++ {
		for _, length := range []int{1, 12, 60} {
			f := ring(slices.Repeat([]string{"rw"}, n)...)
			for i := range f.Edges {
				f.Edges[i].Key = strings.Repeat("k", length)
			}
			d := newDrawing(&f)
			box := d.bounds()
			for i := range d.nodes {
				r := d.nodes[i].rect()
				if r.union(box) != box {
					t.Errorf("%d nodes, keys of %d: node %d is outside the picture", n, length, i)
				}
				for j := range i {
					if overlap(r, d.nodes[j].rect()) {
						t.Errorf("%d nodes, keys of %d: nodes %d and %d overlap", n, length, i, j)
					}
				}
			}
			for i, a := range d.arrows {
				at, w := a.curve.at(0.5), labelWidth(a.label)
				l := rect{at.x - w/2, at.y - labelHeight/2, at.x + w/2, at.y + labelHeight/2}
				for j := range d.nodes {
					if overlap(l, d.nodes[j].rect()) {
						t.Errorf("%d nodes, keys of %d: label %d covers node %d", n, length, i, j)
					}
				}
				if start, end := distance(a.curve[0], d.nodes[a.from].rect()), distance(a.curve[2], d.nodes[a.to].rect()); start > 8 || end > 8 {
					t.Errorf("%d nodes, keys of %d: arrow %d starts %.1f and ends %.1f from its boxes", n, length, i, start, end)
				}
			}
		}
	}
}

func overlap(a, b rect) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

func distance(p point, r rect) float64 {
	dx := max(r.left-p.x, 0, p.x-r.right)
	dy := max(r.top-p.y, 0, p.y-r.bottom)
	return math.Hypot(dx, dy)
}

func TestEveryKindOfArrow(t *testing.T) {
	f := ring("ww", "wr", "rw", "process", "realtime", "new")
	svg := string(SVG(f))
	text, _ := wellFormed(t, []byte(svg))
	for _, kind := range []string{"ww", "wr", "rw", "process", "realtime", "other"} {
		if !strings.Contains(svg, `class="edge `+kind+`"`) || !strings.Contains(svg, `class="head `+kind+`"`) {
			t.Errorf("no arrow of class %s", kind)
		}
	}
	for _, want := range []string{"\nww a\n", "\nprocess\n", "\nnew f\n", "rw: what it read was overwritten by", "another dependency"} {
		if !strings.Contains(text, want) {
			t.Errorf("text %q is missing", want)
		}
	}
	ids := regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(svg, -1)
	other := f
	other.ID = "2f"
	for _, id := range ids {
		if strings.Contains(string(SVG(other)), `id="`+id[1]+`"`) {
			t.Errorf("id %s is in two pictures of one page", id[1])
		}
	}
}

func TestDescription(t *testing.T) {
	text, _ := wellFormed(t, SVG(writeSkew()))
	for _, want := range []string{
		"write skew (G2-item)",
		"Dependencies that contradict each other. T1 before T2 (rw a): T1 comes before T2. T2 before T1 (rw b): T2 comes before T1.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestWithoutEdges(t *testing.T) {
	for n := range 4 {
		f := ring(slices.Repeat([]string{"rw"}, n)...)
		f.Edges = nil
		text, elements := wellFormed(t, SVG(f))
		if elements["g"] != n || strings.Contains(text, "overwritten") {
			t.Errorf("%d transactions: %v", n, elements)
		}
	}
}

func TestManyTransactionsAreCounted(t *testing.T) {
	f := ring(slices.Repeat([]string{"ww"}, 40)...)
	d := newDrawing(&f)
	if len(d.nodes) != maxNodes || d.nodes[maxNodes-1].name != "and 25 transactions more" {
		t.Errorf("%d nodes, the last %q", len(d.nodes), d.nodes[len(d.nodes)-1].name)
	}
	if len(d.arrows) != maxNodes {
		t.Errorf("%d arrows, want a closed ring of %d", len(d.arrows), maxNodes)
	}
	wellFormed(t, SVG(f))
}

func TestMembers(t *testing.T) {
	long := "6f1c2a9e-77aa-4c0e-9d1e-000000000001"
	for _, c := range []struct {
		line  string
		keys  []string
		name  string
		about string
		ops   string // involved ones with *
	}{
		{"  T1 = session a #1: r x 1, w y 2", []string{"x"}, "T1", "session a #1", "r x 1*|w y 2"},
		{"  T1 = r x 1", nil, "T1", "", "r x 1"},
		{"  T1 = " + long + ", session a, aborted: w x 1", []string{"x"}, "T1", "6f1c2a9e-77aa-4…e-000000000001|session a|aborted", "w x 1*"},
		{"  T1 = r x [1,2], append x 3, cas y 1", []string{"y"}, "T1", "", "r x [1,2]|append x 3|cas y 1*"},
		{`  T1 = r x "a: b, c"`, nil, "T1", "", `r x "a: b, c"`},
		{"  T1 = r a 1, r b 1, r c 1, r d 1, r e 1, r f 1, r g 1, r h 1, r i 1", []string{"i"}, "T1", "", "r a 1|r b 1|r c 1|r d 1|r e 1|r i 1*|… 3 operations more"},
		{"  T1 = r a 1, r b 1 and 9 more operations", nil, "T1", "", "r a 1|r b 1|… 9 more operations"},
		{"no definition", nil, "id", "", ""},
	} {
		n := node{name: "id"}
		n.describe(c.line, c.keys)
		var ops []string
		for _, op := range n.ops {
			if op.involved {
				op.text += "*"
			}
			ops = append(ops, op.text)
		}
		if n.name != c.name || strings.Join(n.about, "|") != c.about || strings.Join(ops, "|") != c.ops {
			t.Errorf("%q: %q, %q, %q", c.line, n.name, n.about, ops)
		}
	}
}

func TestStyleHashIsOfTheStyleInside(t *testing.T) {
	svg := string(SVG(writeSkew()))
	_, rest, _ := strings.Cut(svg, "<style>")
	inside, _, _ := strings.Cut(rest, "</style>")
	if inside != style || !strings.HasPrefix(StyleHash(), "'sha256-") {
		t.Error("a Content-Security-Policy with the hash would not admit the picture's style")
	}
	if strings.ContainsAny(style, "<&") {
		t.Error("the style sheet needs escaping in XML, and its hash would differ")
	}
}
