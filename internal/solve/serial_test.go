package solve

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestSerial: a serial order that is found is an order of the problem with two nodes a
// transaction, and there is none where that has no order.
func TestSerial(t *testing.T) {
	found, cores := 0, 0
	for i := range testrun.Count(brutes / 2) {
		rng := rand.New(rand.NewPCG(uint64(i), 13))
		p := random(rng, true, i%8 == 0)
		same := make([]Node, p.Nodes)
		for v := range same {
			same[v] = Node(v / 2)
		}
		r := Serial(p, same)
		if r.Verdict == Unsatisfiable {
			t.Fatalf("seed %d: a guess is no proof", i)
		}
		if r.Verdict == Satisfiable {
			found++
			if !p.fits(r.Order, nil) || !brute(p) {
				t.Fatalf("seed %d: the order does not fit\n%+v", i, p)
			}
			for v := 0; v < p.Nodes; v += 2 {
				if r.Order[v]+1 != r.Order[v+1] {
					t.Fatalf("seed %d: %v is not serial", i, r.Order)
				}
			}
			continue
		}
		if p.Guess = true; Solve(p).Verdict == Unsatisfiable {
			cores++
		}
	}
	if found < testrun.Least(2000) || cores < testrun.Least(2000) {
		t.Errorf("only %d orders, %d times none", found, cores)
	}
}
