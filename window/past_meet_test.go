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
	levels := []isolation.Level{{Base: isolation.Causal}, {Base: isolation.Causal, Family: isolation.StrongSession}}
	return checked(lines.String(), levels)
}

// checked is the machine of a whole history, which was told all its records.
func checked(records string, levels []isolation.Level) *Machine {
	var b event.Batch
	var d event.Decoder
	b.Partitions = append(b.Partitions, "stdin")
	d.DecodeMessage(&b, event.Position{}, []byte(strings.TrimSpace(records)))
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
				alone, one := m.saturated.pastAlone(from, by, labels)
				both, two := m.saturated.pastMeeting(from, by, labels)
				if !slices.Equal(alone, both) || one != nil || two != nil {
					t.Fatalf("seed %d: from both ends %v, %v, alone %v, %v", seed, both, two, alone, one)
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

// TestLongPast: where the search for what leads to a wrong read ends at its budget, the level does not hold as far as anybody knows.
func TestLongPast(t *testing.T) {
	defer func(most int) { maxPast = most }(maxPast)
	for _, known := range []bool{true, false} { // whether the order of the two values is known without the level
		for _, list := range []bool{true, false} { // whether a list makes the search one from the reader alone
			var lines strings.Builder
			txn := func(id int, ops ...string) {
				fmt.Fprintf(&lines, `{"txn":"T%d","session":"s%d","seq":1,"status":"committed","ops":[%s]}`+"\n", id, id, strings.Join(ops, ","))
			}
			const n = 40
			txn(0, `{"op":"w","key":"x","value":1}`, `{"op":"w","key":"y","value":0}`)
			second := []string{`{"op":"r","key":"y","value":0}`, `{"op":"w","key":"x","value":2}`, `{"op":"w","key":"y","value":1}`}
			if known {
				second = append([]string{`{"op":"r","key":"x","value":1}`}, second...)
			}
			txn(1, second...)
			for i := 2; i < n; i++ {
				txn(i, fmt.Sprintf(`{"op":"r","key":"y","value":%d}`, i-1), fmt.Sprintf(`{"op":"w","key":"y","value":%d}`, i))
			}
			txn(n, fmt.Sprintf(`{"op":"r","key":"y","value":%d}`, n-1), `{"op":"r","key":"x","value":1}`)
			if list {
				txn(n+1, `{"op":"append","key":"list","value":1}`)
				txn(n+2, `{"op":"r","key":"list","value":[1]}`)
			}
			for most, want := range map[int]string{1 << 18: Violated, 5: Unknown} {
				maxPast = most
				m := checked(lines.String(), []isolation.Level{{Base: isolation.Causal}})
				if got, why := m.Verdict(isolation.Level{Base: isolation.Causal}); got != want {
					t.Errorf("known %v, list %v, %d edges: %s %s, want %s", known, list, most, got, why, want)
				} else if want == Unknown {
					t.Logf("known %v, list %v: %s", known, list, why)
				}
			}
		}
	}
}
