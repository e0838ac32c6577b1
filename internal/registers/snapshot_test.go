package registers

import (
	"math/rand/v2"
	"testing"
)

// TestSnapshots: each order that is found replays, and where there is a serial order, one is found. Some
// histories have such an order and no serial one.
func TestSnapshots(t *testing.T) {
	found, skewed, none := 0, 0, 0
	for seed := range 3000 {
		h := of(t, randomHistory(rand.New(rand.NewPCG(uint64(seed), 6)), false)...)
		h.Close()
		if h.Odd() != "" {
			continue
		}
		for _, c := range []constraints{{}, {sessions: true}, {time: true}} {
			order, serial := h.snapshots(c), h.serial(c)
			switch {
			case order != nil && !h.replaysSnapshots(order, c):
				t.Fatalf("seed %d, %+v: %v does not replay", seed, c, order)
			case order == nil && serial != nil:
				t.Fatalf("seed %d, %+v: %v is serial, and no order of snapshots is found", seed, c, serial)
			case order == nil:
				none++
			case serial == nil:
				skewed++
			default:
				found++
			}
		}
	}
	t.Logf("%d are serial too, %d are not, %d have no order that is found", found, skewed, none)
	if found < 500 || skewed < 20 || none < 100 {
		t.Error("too few of one")
	}
}

// TestReplaysSnapshots: an order with one thing wrong does not replay.
func TestReplaysSnapshots(t *testing.T) {
	skew := of(t,
		`"session":"a","seq":1,"start":1,"end":5,"ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"y","value":1}]`,
		`"session":"b","seq":1,"start":2,"end":6,"ops":[{"op":"r","key":"y","found":false},{"op":"w","key":"x","value":1}]`,
		`"session":"b","seq":2,"start":9,"end":10,"ops":[{"op":"r","key":"y","value":1},{"op":"w","key":"y","value":2}]`,
	)
	blind := of(t, `"ops":[{"op":"w","key":"x","value":1}]`, `"ops":[{"op":"w","key":"x","value":2}]`)
	begin := func(t uint32) moment { return moment{txn: t} }
	commit := func(t uint32) moment { return moment{t, true} }
	all := constraints{sessions: true, time: true}
	for _, c := range []struct {
		name  string
		of    *History
		order []moment
		under constraints
		want  bool
	}{
		{"write skew", skew, []moment{begin(1), begin(2), commit(1), commit(2), begin(3), commit(3)}, all, true},
		{"one is left out", skew, []moment{begin(1), begin(2), commit(1), commit(2)}, all, false},
		{"a commit before its begin", skew, []moment{begin(1), commit(2), commit(1), begin(2), begin(3), commit(3)}, all, false},
		{"two begins", skew, []moment{begin(1), begin(1), begin(2), commit(1), commit(2), begin(3)}, all, false},
		{"two commits", skew, []moment{begin(1), begin(2), commit(1), commit(1), commit(2), begin(3)}, all, false},
		{"one after the other", skew, []moment{begin(1), commit(1), begin(2), commit(2), begin(3), commit(3)}, all, false},
		{"against the session", skew, []moment{begin(1), begin(2), commit(1), begin(3), commit(3), commit(2)}, constraints{sessions: true}, false},
		{"the same without sessions", skew, []moment{begin(1), begin(2), commit(1), begin(3), commit(3), commit(2)}, constraints{}, true},
		{"against time", skew, []moment{begin(1), begin(2), commit(1), begin(3), commit(3), commit(2)}, constraints{time: true}, false},
		{"two writers of a key", blind, []moment{begin(1), begin(2), commit(1), commit(2)}, constraints{}, false},
		{"one behind the other", blind, []moment{begin(1), commit(1), begin(2), commit(2)}, constraints{}, true},
		{"transaction 0", blind, []moment{begin(1), commit(1), begin(0), commit(0)}, constraints{}, false},
	} {
		c.of.Close()
		if got := c.of.replaysSnapshots(c.order, c.under); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
