package engine

import (
	"slices"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// A finding that a step writes twice, and one that falls in it, are told once.
func TestChangedIDs(t *testing.T) {
	w := work{
		effects:   []effect{{ids: []string{"c", "a", "c"}, fallen: []string{"b"}}, {ids: []string{"d"}}},
		resolving: []*resolving{{Resolution: Resolution{Finding: finding.Finding{ID: "e"}}}, {Resolution: Resolution{Finding: finding.Finding{ID: "d"}}}},
	}
	if got, want := w.changed(), []string{"a", "b", "c", "d", "e"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := new(work).changed(); len(got) > 0 {
		t.Errorf("%q of nothing", got)
	}
}
