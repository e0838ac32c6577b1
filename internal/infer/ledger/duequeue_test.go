package ledger

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
		var q DueQueue
		var want []Due
		now := int64(rng.IntN(3)-1) * rng.Int64N(1<<40)
		spread := int64(1) << rng.IntN(34)
		for range 400 {
			switch k := rng.IntN(10); {
			case k < 5:
				d := Due{At: now + rng.Int64N(spread) - spread/8, Gen: rng.Uint32N(4), Op: rng.Uint32N(3), Version: rng.Uint32N(3)}
				if rng.IntN(50) == 0 {
					d.At = []int64{math.MinInt64, math.MaxInt64, 0, -1}[rng.IntN(4)]
				}
				q.Push(d.At, d.Txn, d.Gen, d.Version, d.Op, d.Kind)
				d.order = q.Asked
				want = append(want, d)
			case k < 7:
				now += rng.Int64N(spread)
				slices.SortFunc(want, compareDue)
				if got := q.Before(now); got != (len(want) > 0 && want[0].At < now) {
					t.Fatalf("seed %d: an entry before %d: %v, of %v", seed, now, got, want)
				}
			case len(want) > 0:
				slices.SortFunc(want, compareDue)
				if got := q.Pop(); got != want[0] {
					t.Fatalf("seed %d: popped %v, want %v", seed, got, want[0])
				}
				want = want[1:]
			}
		}
	}
}

func compareDue(d, e Due) int {
	if d.before(&e) {
		return -1
	}
	if e.before(&d) {
		return 1
	}
	return 0
}
