package incremental

import (
	"math"
	"slices"
	"testing"
)

// TestDividedOrderAgreesWithTime: ranks need not agree with real time where no edge asks for it. An order
// that is begun as the copy of a timed one puts bounds before ranks.
func TestDividedOrderAgreesWithTime(t *testing.T) {
	timed, plain := View{Dep: dep, Anti: anti, Time: FromBegin}, View{Dep: dep, Anti: anti}
	g := NewFollowing([]Views{1<<0 | 1<<1, 1 << 1}, timed, plain)
	g.AddVertex(1, Place{Begin: 20, Commit: 20, Settle: 20, NotBefore: 10, NotAfter: math.MaxInt64}, nil)
	g.AddVertex(2, Place{Begin: 10, Commit: 10, Settle: 20, NotBefore: 15, NotAfter: math.MaxInt64}, nil)
	if g.CompareCommits(0, 1, 2) >= 0 {
		t.Fatal("2 comes before 1 in time")
	}
	g.Alone(^Views(0))
	if nodes, want := g.Order(1), []uint32{1, 2}; !slices.Equal(nodes, want) {
		t.Errorf("the divided order is %v, want %v", nodes, want)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}

// TestAddWithStopsAtOtherLabels: arcs with a label that the only view does not follow are left to the caller.
func TestAddWithStopsAtOtherLabels(t *testing.T) {
	g := New(View{Dep: dep, Anti: anti})
	g.AddVertex(1, Place{Begin: 0, Commit: 10, Settle: 10}, nil)
	other := ^(dep | anti)
	arcs := []Arc{{From: 1, To: 2, Labels: dep}, {From: 1, To: 2, Labels: other & -other}, {From: 1, To: 2, Labels: anti}}
	if n := g.AddWith(2, Place{Begin: 20, Commit: 30, Settle: 30}, arcs); n != 1 {
		t.Errorf("%d arcs became edges, want 1", n)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}
