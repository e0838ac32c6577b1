package infer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRangesStayInOrder: the keys of an epoch are met in any order, more than one block of them. Each range
// gives those between its bounds, in the order of their names.
func TestRangesStayInOrder(t *testing.T) {
	r := newRoom("as written")
	if _, err := r.block([]string{"txn T0: range .. []"}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 3 * maxBlock {
		names = append(names, fmt.Sprintf("k%04d", i))
	}
	rng := rand.New(rand.NewPCG(1, 24))
	for n, i := range rng.Perm(len(names)) {
		record, err := r.record(fmt.Sprintf("T%d: insert %s 1", n+1, names[i]))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.add(record); err != nil {
			t.Fatal(err)
		}
	}
	ordered := &r.s.ordered[0]
	if len(ordered.blocks) < 3 {
		t.Fatalf("%d keys are in %d blocks", len(names), len(ordered.blocks))
	}
	for range 200 {
		from := rng.IntN(len(names))
		to := from + rng.IntN(len(names)-from)
		var got []string
		ordered.each(&r.s.sets, []byte(names[from]), []byte(names[to]), func(k uint32) { got = append(got, r.s.KeyName(k)) })
		if !slices.Equal(got, names[from:to]) {
			t.Fatalf("from %s to %s: %v", names[from], names[to], got)
		}
	}
}
