package workload

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestScheduleSorts mixes pushes and pops and compares with a stable sort.
func TestScheduleSorts(t *testing.T) {
	type item struct{ at, n int64 }
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var s schedule[int64]
		var waiting []item
		for n := range int64(100) {
			at := rng.Int64N(20) // many equal instants
			s.push(at, n)
			waiting = append(waiting, item{at, n})
			for len(waiting) > 0 && rng.IntN(3) == 0 {
				least := slices.MinFunc(waiting, func(a, b item) int { return int(1000*(a.at-b.at) + a.n - b.n) })
				at, n := s.pop()
				if (item{at, n}) != least {
					t.Fatalf("popped %d at %d, want %v", n, at, least)
				}
				waiting = slices.DeleteFunc(waiting, func(i item) bool { return i == least })
			}
		}
		if len(s.entries) != len(waiting) {
			t.Fatalf("%d left, want %d", len(s.entries), len(waiting))
		}
	}
}
