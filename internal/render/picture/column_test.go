package picture

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// phone is the room of a page of 360 px, with the text at three quarters of its size at least.
const phone = 330 * 4 / 3

// In a column no boxes overlap, no label covers a box or another label, and each arrow ends at its target,
// for cycles and for arrows between any two.
func TestColumn(t *testing.T) {
	for n := 2; n <= maxNodes; n++ {
		f := ring(slices.Repeat([]string{"rw"}, n)...)
		f.Edges = append(f.Edges, finding.Edge{From: "T1", To: f.Txns[n-1], Type: "ww", Key: strings.Repeat("k", 60)},
			finding.Edge{From: "T2", To: "T1", Type: "wr", Key: "q"})
		d := newDrawing(scene.New(&f))
		d.column()
		box := d.bounds()
		if box.width() > phone {
			t.Errorf("%d boxes are %.0f wide, want at most %d", n, box.width(), phone)
		}
		for i := range d.nodes {
			r := d.nodes[i].rect()
			if r.union(box) != box {
				t.Errorf("%d boxes: box %d is outside the picture", n, i)
			}
			for j := range i {
				if overlap(r, d.nodes[j].rect()) {
					t.Errorf("%d boxes: %d and %d overlap", n, i, j)
				}
			}
		}
		for i := range d.arrows {
			a := &d.arrows[i]
			for j := range d.nodes {
				if overlap(a.pill, d.nodes[j].rect()) {
					t.Errorf("%d boxes: label %d covers box %d", n, i, j)
				}
			}
			for j := range i {
				if overlap(a.pill, d.arrows[j].pill) {
					t.Errorf("%d boxes: labels %d and %d overlap", n, i, j)
				}
			}
			if start, end := distance(a.path[0], d.nodes[a.from].rect()), distance(a.path[len(a.path)-1], d.nodes[a.to].rect()); start > 0 || end > 0 {
				t.Errorf("%d boxes: arrow %d starts %.1f and ends %.1f from its boxes", n, i, start, end)
			}
		}
		wellFormed(t, Narrow(scene.New(&f), nil))
	}
}

// More transactions than fit on a ring stand in a column on every page.
func TestLargeCyclesStandInAColumn(t *testing.T) {
	f := ring(slices.Repeat([]string{"rw"}, onRing+1)...)
	if s := scene.New(&f); string(Wide(s, nil)) != string(Narrow(s, nil)) {
		t.Error("a ring of seven")
	}
}

// A write stands above the read that saw it, whichever transaction the finding names first, and its arrow runs straight down.
func TestWriteStandsAboveItsRead(t *testing.T) {
	f := finding.Finding{
		ID: "1f", Anomaly: "G1a", Txns: []string{"T2", "T1"}, About: &finding.About{Txn: "T2", Key: "x", Value: "7"},
		History: []json.RawMessage{
			json.RawMessage(`{"txn":"T1","status":"aborted","ops":[{"op":"w","key":"x","value":7}]}`),
			json.RawMessage(`{"txn":"T2","status":"committed","ops":[{"op":"r","key":"x","value":7}]}`),
		},
	}
	for _, form := range []func(d *drawing){(*drawing).column, (*drawing).ring} {
		d := newDrawing(scene.New(&f))
		form(d)
		if len(d.arrows) != 1 || d.nodes[0].id != "T1" || d.nodes[d.arrows[0].from].id != "T1" || d.nodes[0].at.y >= d.nodes[1].at.y {
			t.Errorf("%d arrows, %s at %v above %s at %v", len(d.arrows), d.nodes[0].id, d.nodes[0].at, d.nodes[1].id, d.nodes[1].at)
		}
	}
	cycle := ring("rw", "wr", "ww")
	if d := newDrawing(scene.New(&cycle)); d.nodes[0].id != cycle.Txns[0] {
		t.Errorf("a cycle begins with %s", d.nodes[0].id)
	}
}

// The boxes of a cycle follow its arrows, whatever the order in which the finding names them: all arrows but one run straight down.
// What no arrow meets has no box.
func TestCycleStandsInItsOrder(t *testing.T) {
	f := ring(slices.Repeat([]string{"rw"}, onRing+2)...)
	f.Txns = []string{"init", "T3", "T7", "T1", "T5", "T2", "later", "T8", "T6", "T4"}
	d := newDrawing(scene.New(&f))
	d.column()
	var order []string
	for i := range d.nodes {
		order = append(order, d.nodes[i].id)
	}
	if want := []string{"T3", "T4", "T5", "T6", "T7", "T8", "T1", "T2"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
	if dot := string(DOT(f)); strings.Contains(dot, "init") || !strings.Contains(dot, "T8") {
		t.Errorf("DOT has other boxes: %s", dot)
	}
	straight := 0
	for _, a := range d.arrows {
		if d.nodes[a.from].id != d.finding.Edges[a.of].From || d.nodes[a.to].id != d.finding.Edges[a.of].To {
			t.Errorf("the arrow %d leads from %s to %s", a.of, d.nodes[a.from].id, d.nodes[a.to].id)
		}
		if a.to == a.from+1 {
			straight++
		}
	}
	if straight != onRing+1 {
		t.Errorf("%d arrows of %d run straight down", straight, len(d.arrows))
	}
	f.Edges = append(f.Edges, finding.Edge{From: "T1", To: "T5", Type: "ww", Key: "k"}) // no simple cycle
	if d := newDrawing(scene.New(&f)); d.nodes[1].id != "T4" {
		t.Errorf("%s is second", d.nodes[1].id)
	}
}

// A picture that leaves boxes out keeps a part of the cycle in the cycle's order, in whichever order the finding names them. So does one
// with a chord, or with two dependencies between neighbours.
func TestCutKeepsNeighbours(t *testing.T) {
	for name, more := range map[string][]finding.Edge{
		"plain": nil,
		"twice": {{From: "T3", To: "T4", Type: "ww", Key: "k"}},
		"chord": {{From: "T30", To: "T3", Type: "rw", Key: "k"}},
	} {
		f := ring(slices.Repeat([]string{"rw"}, 40)...)
		f.Edges = append(f.Edges, more...)
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(f.Txns), func(i, j int) { f.Txns[i], f.Txns[j] = f.Txns[j], f.Txns[i] })
		f.Txns = append([]string{"init"}, f.Txns...)
		d := newDrawing(scene.New(&f))
		if len(d.nodes) != maxNodes || d.nodes[maxNodes-1].name != "and 25 transactions more" {
			t.Fatalf("%s: %d boxes, the last %q", name, len(d.nodes), d.nodes[len(d.nodes)-1].name)
		}
		for i := range maxNodes {
			if to := (i + 1) % maxNodes; !slices.ContainsFunc(d.arrows, func(a arrow) bool { return a.from == i && a.to == to }) {
				t.Errorf("%s: no arrow from %q to %q", name, d.nodes[i].name, d.nodes[to].name)
			}
		}
		if strings.Contains(fmt.Sprint(d.nodes), "init") {
			t.Errorf("%s: a box without an arrow", name)
		}
	}
}
