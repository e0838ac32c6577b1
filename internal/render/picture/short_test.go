package picture

import (
	"slices"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// arrows are dependencies from and to the transactions that a letter names each: "ab" leads from a to b.
func arrows(key string, all ...string) (edges []finding.Edge) {
	for _, x := range all {
		edges = append(edges, finding.Edge{From: x[:1], To: x[1:], Type: "rw", Key: key, Derived: true})
	}
	return edges
}

// A proof of which only a part is a cycle has its boxes in the order of the arrows, in whichever order the finding names them.
func TestArrowsOfABranchedProofAreShort(t *testing.T) {
	f := finding.Finding{ID: "1f", Anomaly: "G-single-item", Txns: []string{"i", "a", "d", "b", "c"}, Edges: arrows("k", "ia", "ab", "bc", "cd", "db")}
	d := newDrawing(scene.New(&f))
	var order []string
	for i := range d.nodes {
		order = append(order, d.nodes[i].id)
	}
	if want := []string{"i", "a", "b", "c", "d"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
	for i, a := range d.arrows {
		if d.nodes[a.from].id != f.Edges[i].From || d.nodes[a.to].id != f.Edges[i].To {
			t.Errorf("the arrow %d leads from %s to %s", i, d.nodes[a.from].id, d.nodes[a.to].id)
		}
	}
}

// A label lies on its own arrow only, and covers no box: also of arrows that lead to and fro.
func TestLabelsLieOnTheirArrows(t *testing.T) {
	for _, all := range [][]string{{"ab", "ba", "ca"}, {"ab", "bc", "ca", "ac"}, {"ab", "bc", "cd", "da", "bd"}, {"ab", "ba"}, {"ia", "ab", "bc", "cd", "db"}} {
		f := finding.Finding{ID: "1f", Anomaly: "G-single-item", Edges: arrows("warehouse", all...)}
		d := newDrawing(scene.New(&f))
		d.ring()
		if d.arrows[0].path != nil {
			t.Errorf("%q is a column", all)
			continue
		}
		for i := range d.arrows {
			label := d.arrows[i].labelRect()
			for j := range d.arrows {
				if j != i && (d.arrows[j].curve.meets(label) || d.arrows[j].labelRect().overlaps(label)) {
					t.Errorf("%q: the label of %s lies on the arrow %s", all, all[i], all[j])
				}
			}
			for j := range d.nodes {
				if d.nodes[j].rect().overlaps(label) {
					t.Errorf("%q: the label of %s lies on the box %s", all, all[i], d.nodes[j].id)
				}
			}
		}
	}
}
