package flat

import (
	"math/rand/v2"
	"testing"
)

// TestSlots plays an array that takes and frees places at random against a plain
// set of the taken ones.
func TestSlots(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s Slots
	taken := map[uint32]bool{}
	size := uint32(0)
	for step := range 100_000 {
		if rng.IntN(1000) < 500+step/500 && step < 50_000 || rng.IntN(2) == 0 && step >= 50_000 {
			i, ok := s.Take()
			if !ok {
				if n := int(size) - len(taken); n > (int(size)+63)/64 {
					t.Fatalf("step %d: %d of %d places are free, none given", step, n, size)
				}
				i = size
				size++
			}
			if taken[i] || i >= size {
				t.Fatalf("step %d: place %d given, taken %v of %d", step, i, taken[i], size)
			}
			taken[i] = true
			continue
		}
		for i := range taken {
			delete(taken, i)
			s.Give(i)
			break
		}
		if step%1000 == 0 {
			var back Slots
			r := Reader{Bytes: s.AppendState(NewWriter(nil), "slots").Bytes()}
			if back.ReadState(&r, "slots"); r.Err != nil {
				t.Fatal(r.Err)
			}
			s = back
		}
		for i := range size {
			if step%5000 == 0 && s.Free(i) == taken[i] {
				t.Fatalf("step %d: place %d is free %v, taken %v", step, i, s.Free(i), taken[i])
			}
		}
	}
}

// TestSlotsKeepOrder: what comes and goes in one order stays in it.
func TestSlotsKeepOrder(t *testing.T) {
	var s Slots
	var queue []uint32
	size, turns := uint32(0), 0
	last := uint32(0)
	for range 10_000 {
		i, ok := s.Take()
		if !ok {
			i = size
			size++
		}
		if i < last {
			turns++
		}
		last = i
		if queue = append(queue, i); len(queue) > 1000 {
			for _, old := range queue[:100] {
				s.Give(old)
			}
			queue = queue[100:]
		}
	}
	// A round goes back once at its end, and at most once more where the hand meets
	// places of its own word again.
	if limit := 2 * (10_000/1000 + 1); turns > limit || size > 1200 {
		t.Errorf("%d places, %d turns back, want at most %d", size, turns, limit)
	}
}
