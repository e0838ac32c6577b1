package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// readingBack is a whole history of n transactions that read what any earlier one has written. With lists, one of them
// reads a list.
func readingBack(rng *rand.Rand, n int, lists bool) *Machine {
	var b event.Batch
	var d event.Decoder
	b.Partitions = append(b.Partitions, "stdin")
	var lines strings.Builder
	var wrote []string
	for i := range n {
		var ops []string
		for range rng.IntN(4) {
			if len(wrote) > 0 {
				ops = append(ops, fmt.Sprintf(`{"op":"r",%s}`, wrote[max(0, len(wrote)-1-rng.IntN(20))]))
			}
		}
		if rng.IntN(3) > 0 {
			w := fmt.Sprintf(`"key":"x%d","value":%d`, rng.IntN(30), i)
			ops, wrote = append(ops, fmt.Sprintf(`{"op":"w",%s}`, w)), append(wrote, w)
		}
		if lists {
			ops = append(ops, fmt.Sprintf(`{"op":"append","key":"list","value":%d}`, i))
			if i == n/2 {
				ops = append([]string{`{"op":"r","key":"list","value":[0,1,2]}`}, ops...)
			}
		}
		fmt.Fprintf(&lines, `{"txn":"T%d","session":"s%d","seq":%d,"status":"committed","ops":[%s]}`+"\n", i, i%7, i/7+1, strings.Join(ops, ","))
	}
	d.DecodeMessage(&b, event.Position{}, []byte(strings.TrimSpace(lines.String())))
	levels := []isolation.Level{{Base: isolation.Causal}, {Base: isolation.Causal, Family: isolation.StrongSession}}
	m := New(Config{Levels: levels, Contract: Contract{Complete: true}, Unbounded: true})
	var eff Effects
	for i := range b.Txns {
		m.Step(&b, []int32{int32(i)}, 0, &eff)
	}
	m.Close(&eff)
	return m
}

// TestPastFromBothEnds: the search from both ends finds the way that the search from the reader finds, or as that one no way.
func TestPastFromBothEnds(t *testing.T) {
	found, none, long := 0, 0, 0
	for seed := range 20 {
		const n = 300
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		m := readingBack(rng, n, false)
		for range 400 {
			from, by := 1+uint32(rng.IntN(n)), 1+uint32(rng.IntN(n))
			for _, labels := range []infer.Label{infer.WR, infer.WR | infer.Process} {
				if !m.saturated.allStored(labels) {
					t.Fatal("without lists and real time all steps are stored")
				}
				alone, both := m.saturated.pastAlone(from, by, labels), m.saturated.pastMeeting(from, by, labels)
				if !slices.Equal(alone, both) {
					t.Fatalf("seed %d: from both ends %v, alone %v", seed, both, alone)
				}
				if both == nil {
					none++
				} else {
					found, long = found+1, max(long, len(both))
				}
			}
		}
	}
	if found < 1000 || none < 1000 || long < 8 {
		t.Errorf("%d ways, %d times none, the longest of %d steps", found, none, long)
	}
}

// TestPastOfLists: the elements that a list shows before its last one are found from the reader alone.
func TestPastOfLists(t *testing.T) {
	m := readingBack(rand.New(rand.NewPCG(1, 5)), 100, true)
	if m.saturated.allStored(infer.WR) {
		t.Error("no stored edge leads from the first elements of a list to its reader")
	}
}
