package picture

import (
	"encoding/json"
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
	"time"
	"unicode/utf8"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/*.svg anew")

// ring is a finding with a cycle of the given types, each on a key of its own.
func ring(types ...string) finding.Finding {
	f := finding.Finding{ID: "1f", Kind: finding.KindViolation, Anomaly: "G2-item"}
	for i, kind := range types {
		from, to, key := fmt.Sprintf("T%d", i+1), fmt.Sprintf("T%d", (i+1)%len(types)+1), string(rune('a'+i))
		f.Txns = append(f.Txns, from)
		e := finding.Edge{From: from, To: to, Type: kind, Key: key, Evidence: from + " comes before " + to}
		if kind == "process" || kind == "realtime" {
			e.Key = ""
		}
		f.Edges = append(f.Edges, e)
		before := string(rune('a' + (i+len(types)-1)%len(types)))
		f.History = append(f.History, record(from, fmt.Sprintf("s%d", i), i,
			does("r", key, 1), does("w", before, 2), does("w", "other", 3)))
	}
	return f
}

// does is an operation of a record.
func does(verb, key string, value any) map[string]any {
	return map[string]any{"op": verb, "key": key, "value": value}
}

// record is one of a session whose transactions take 2 ms and follow each other.
func record(id, session string, seq int, ops ...map[string]any) json.RawMessage {
	start := time.Date(2026, 3, 2, 9, 0, seq, 0, time.UTC)
	text, err := json.Marshal(map[string]any{
		"txn": id, "session": session, "seq": seq, "status": "committed", "ops": ops,
		"start": start.Format(time.RFC3339Nano), "end": start.Add(2 * time.Millisecond).Format(time.RFC3339Nano),
	})
	if err != nil {
		panic(err)
	}
	return text
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
	f.History[0] = record(strings.ToValidUTF8(attack, "?"), "session "+attack, 0, does("r", attack, attack))
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
			d := newDrawing(scene.New(&f))
			d.ring()
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

// Arrows across the ring, and against its direction, make it wider until no label lies over a box or another label, and no
// arrow runs below a box. Where none is wide enough, the boxes stand in a column.
func TestArrowsAcrossTheRing(t *testing.T) {
	columns := 0
	for n := 3; n <= onRing; n++ {
		for from := range n {
			for to := range n {
				if from == to {
					continue
				}
				f := ring(slices.Repeat([]string{"realtime"}, n)...)
				f.Edges = append(f.Edges, finding.Edge{From: f.Txns[from], To: f.Txns[to], Type: "rw", Key: "stock/17", Derived: true})
				d := newDrawing(scene.New(&f))
				d.ring()
				if d.arrows[0].path != nil {
					columns++
				}
				for i := range d.arrows {
					a := &d.arrows[i]
					for j := range d.nodes {
						box := d.nodes[j].rect()
						if overlap(a.labelRect(), box) {
							t.Errorf("%d boxes, %d to %d: label %d covers box %d", n, from, to, i, j)
						}
						for k := 0; k < 100 && a.path == nil && j != a.from && j != a.to; k++ {
							if box.contains(a.curve.at(float64(k) / 100)) {
								t.Fatalf("%d boxes, %d to %d: arrow %d runs below box %d", n, from, to, i, j)
							}
						}
					}
					for j := range i {
						if overlap(a.labelRect(), d.arrows[j].labelRect()) {
							t.Errorf("%d boxes, %d to %d: labels %d and %d overlap", n, from, to, i, j)
						}
					}
				}
			}
		}
	}
	if columns > 10 {
		t.Errorf("%d of 68 stand in a column", columns)
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
	d := newDrawing(scene.New(&f))
	if len(d.nodes) != maxNodes || d.nodes[maxNodes-1].name != "and 25 transactions more" {
		t.Errorf("%d nodes, the last %q", len(d.nodes), d.nodes[len(d.nodes)-1].name)
	}
	if len(d.arrows) != maxNodes {
		t.Errorf("%d arrows, want a closed ring of %d", len(d.arrows), maxNodes)
	}
	wellFormed(t, SVG(f))
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
