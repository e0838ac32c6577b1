package incremental

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/internal/flat"
)

// TestQueue pushes and pops at random, with many equal and negative times, in order
// and not, few ranks and hundreds, looks at the lowest in between, and compares
// with the lowest of a slice.
func TestQueue(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var q queue
		var want []rank
		low := int64(-1000)
		spread := int64(1) << rng.IntN(40)
		seq := uint32(0)
		for range 1000 {
			switch k := rng.IntN(10); {
			case k < 5 || k < 8 && seed%2 == 0 && len(want) < 500:
				seq++
				r := rank{at: low + rng.Int64N(spread), seq: seq, slot: seq}
				if k < 4 { // in order but for a little
					r.at = low + int64(seq)*10 + rng.Int64N(100)
				}
				q.push(r)
				want = append(want, r)
			case k < 7 && len(want) > 0:
				if top := slices.MinFunc(want, compareRanks); q.top() != top {
					t.Fatalf("seed %d: lowest %v, want %v", seed, q.top(), top)
				}
			case k < 8:
				r := flat.Reader{Bytes: q.appendState(flat.NewWriter(nil)).Bytes()}
				if q.readState(&r); r.Err != nil {
					t.Fatal(r.Err)
				}
			case len(want) > 0:
				i := slices.Index(want, slices.MinFunc(want, compareRanks))
				got := q.pop()
				if got != want[i] {
					t.Fatalf("seed %d: popped %v, want %v", seed, got, want[i])
				}
				low = got.at
				want = slices.Delete(want, i, i+1)
			}
			if q.n != len(want) {
				t.Fatalf("seed %d: %d queued, want %d", seed, q.n, len(want))
			}
		}
	}
}

func compareRanks(a, b rank) int {
	switch {
	case less(a, b):
		return -1
	case less(b, a):
		return 1
	}
	return 0
}
