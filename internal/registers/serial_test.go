package registers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomHistory is a few transactions, in sessions or with times, that mostly read what the
// latest one left.
func randomHistory(rng *rand.Rand, blind bool) []string {
	keys := []string{"x", "y", "z"}[:1+rng.IntN(3)]
	written := map[string][]int{}
	var records []string
	clock, value, seq := 0, 0, map[int]int{}
	for i := range 2 + rng.IntN(5) {
		var ops []string
		for _, k := range keys {
			kind := rng.IntN(4)
			if kind == 0 {
				continue
			}
			if kind < 3 || !blind {
				vs := written[k]
				read := fmt.Sprintf(`{"op":"r","key":"%s","found":false}`, k)
				if n := len(vs); n > 0 {
					at := n - 1
					if rng.IntN(4) == 0 {
						at = rng.IntN(n)
					}
					read = fmt.Sprintf(`{"op":"r","key":"%s","value":%d}`, k, vs[at])
				}
				ops = append(ops, read)
			}
			if kind > 1 {
				value++
				ops = append(ops, fmt.Sprintf(`{"op":"w","key":"%s","value":%d}`, k, value))
			}
		}
		for _, o := range ops {
			var k string
			var v int
			if _, err := fmt.Sscanf(o, `{"op":"w","key":"%1s","value":%d}`, &k, &v); err == nil {
				written[k] = append(written[k], v)
			}
		}
		s := rng.IntN(3)
		seq[s]++
		start := clock + rng.IntN(10)
		end := start + rng.IntN(20)
		clock += 8
		records = append(records, fmt.Sprintf(`"txn":"T%d","session":"s%d%d","seq":1,"start":%d,"end":%d,"ops":[%s]`, i, s, seq[s], start, end, strings.Join(ops, ",")))
	}
	rng.Shuffle(len(records), func(a, b int) { records[a], records[b] = records[b], records[a] })
	return records
}

// anyOrder says whether some order of all transactions replays.
func anyOrder(h *History, c constraints) bool {
	var try func(order []uint32) bool
	try = func(order []uint32) bool {
		if h.replays(order, c) {
			return true
		}
		for t := uint32(1); int(t) < len(h.numbers.Txns); t++ {
			if !slices.Contains(order, t) && try(append(order, t)) {
				return true
			}
		}
		return false
	}
	return try(make([]uint32, 0, len(h.numbers.Txns)))
}

// TestSerial: each order that is found replays. Where no writer is blind, one is found whenever there
// is one.
func TestSerial(t *testing.T) {
	found, missed, none := 0, 0, 0
	for seed := range 3000 {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		blind := rng.IntN(2) == 0
		h := of(t, randomHistory(rng, blind)...)
		h.Close()
		if h.Odd() != "" {
			continue
		}
		for _, c := range []constraints{{}, {time: true}} {
			order := h.serial(c)
			if order != nil && !h.replays(order, c) {
				t.Fatalf("seed %d, %+v: %v does not replay", seed, c, order)
			}
			switch exists := anyOrder(h, c); {
			case order != nil:
				found++
			case !exists:
				none++
			default:
				if missed++; !blind {
					t.Fatalf("seed %d, %+v: no order is found, and there is one", seed, c)
				}
			}
		}
	}
	t.Logf("%d orders found, %d missed behind blind writers, %d have none", found, missed, none)
	if found < 500 || none < 500 || missed > found/10 {
		t.Error("too few of one, or too many missed")
	}
}

// TestReplays: an order with one thing wrong does not replay.
func TestReplays(t *testing.T) {
	h := of(t,
		`"session":"a","seq":1,"start":1,"end":2,"ops":[{"op":"w","key":"x","value":1}]`,
		`"session":"a","seq":2,"start":3,"end":4,"ops":[{"op":"w","key":"y","value":1}]`,
		`"session":"b","seq":1,"start":5,"end":6,"ops":[{"op":"r","key":"x","value":1}]`,
	)
	h.Close()
	all := constraints{sessions: true, time: true}
	for _, c := range []struct {
		order []uint32
		under constraints
		want  bool
	}{
		{[]uint32{1, 2, 3}, all, true},
		{[]uint32{1, 2}, all, false},
		{[]uint32{1, 2, 2}, all, false},
		{[]uint32{0, 1, 2}, all, false},
		{[]uint32{2, 1, 3}, all, false},
		{[]uint32{2, 1, 3}, constraints{sessions: true}, false},
		{[]uint32{2, 1, 3}, constraints{time: true}, false},
		{[]uint32{2, 1, 3}, constraints{}, true},
		{[]uint32{3, 1, 2}, constraints{}, false}, // it reads what is not there yet
	} {
		if got := h.replays(c.order, c.under); got != c.want {
			t.Errorf("%v under %+v: %v", c.order, c.under, got)
		}
	}
}
