package saturation

import (
	"math/rand/v2"
	"testing"
)

// generated is a history that is serializable, as AWDIT's and PolySI's generators
// make it: blind writes and reads of keys chosen uniformly, in sessions that take
// turns.
func generated(n, ops, sessions, keys int) *History {
	r := rand.New(rand.NewPCG(7, 7))
	h := &History{Txns: make([]HistoryTxn, 1, n+1)}
	latest := make([]uint32, keys)
	for t := 1; t <= n; t++ {
		h.Txns = append(h.Txns, HistoryTxn{Session: uint32(r.IntN(sessions)) + 1, Reads: uint32(len(h.Reads)), Writes: uint32(len(h.Writes))})
		wrote := map[int]bool{}
		for i := range ops {
			k := r.IntN(keys)
			if r.IntN(2) == 0 {
				if !wrote[k] {
					h.Writes = append(h.Writes, uint32(k))
				}
				wrote[k] = true
			} else if !wrote[k] {
				h.Reads = append(h.Reads, Read{Key: uint32(k), Writer: latest[k], First: uint32(i), Last: uint32(i)})
			}
		}
		for k := range wrote {
			latest[k] = uint32(t)
		}
	}
	return h
}

// BenchmarkDecide is 100,000 transactions of 8 operations, half of them reads, by
// 25 sessions over 10,000 keys, written blindly.
func BenchmarkDecide(b *testing.B) {
	h := generated(100_000, 8, 25, 10_000)
	for _, c := range []struct {
		name string
		rule Rule
	}{{"monotonic-atomic-view", AtomicView}, {"read-atomic", Atomic}, {"causal", Causal}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := h.Decide(c.rule); !v.Session[c.rule] {
					b.Fatal("a serializable history was refuted")
				}
			}
		})
	}
}
