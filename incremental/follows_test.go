package incremental

import "testing"

// TestFollows: an edge has ends in a view exactly if its label is one that the view
// follows; the others may be left out before they are offered.
func TestFollows(t *testing.T) {
	const chain Labels = 4
	for _, v := range []View{
		{Dep: dep, Anti: anti},
		{Split: true, Dep: dep, Anti: anti},
		{Split: true, Dep: dep, Anti: anti, Chain: chain},
		{Split: true, Dep: dep, Chain: chain},
		{Dep: dep},
	} {
		g := New(v)
		for l := Labels(1); l < 16; l <<= 1 {
			_, _, ok := g.orders[0].ends(&Edge{From: 1, To: 2, Labels: l})
			if follows := v.Follows()&l != 0; ok != follows {
				t.Errorf("%+v: an edge of label %b has ends: %v, followed: %v", v, l, ok, follows)
			}
		}
	}
}
