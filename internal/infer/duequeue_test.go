package infer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDueQueue pushes and pops at random, with equal times, times long past and
// times at the ends of the range, and compares with a sorted slice.
func TestDueQueue(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var q dueQueue
		var want []due
		now := int64(rng.IntN(3)-1) * rng.Int64N(1<<40)
		spread := int64(1) << rng.IntN(34)
		for range 400 {
			switch k := rng.IntN(10); {
			case k < 5:
				d := due{at: now + rng.Int64N(spread) - spread/8, gen: rng.Uint32N(4), op: rng.Uint32N(3), version: rng.Uint32N(3)}
				if rng.IntN(50) == 0 {
					d.at = []int64{math.MinInt64, math.MaxInt64, 0, -1}[rng.IntN(4)]
				}
				q.push(d.at, d.txn, d.gen, d.version, d.op, d.kind)
				d.order = q.asked
				want = append(want, d)
			case k < 7:
				now += rng.Int64N(spread)
				slices.SortFunc(want, compareDue)
				if got := q.before(now); got != (len(want) > 0 && want[0].at < now) {
					t.Fatalf("seed %d: an entry before %d: %v, of %v", seed, now, got, want)
				}
			case len(want) > 0:
				slices.SortFunc(want, compareDue)
				if got := q.pop(); got != want[0] {
					t.Fatalf("seed %d: popped %v, want %v", seed, got, want[0])
				}
				want = want[1:]
			}
		}
	}
}

func compareDue(d, e due) int {
	if d.before(&e) {
		return -1
	}
	if e.before(&d) {
		return 1
	}
	return 0
}
