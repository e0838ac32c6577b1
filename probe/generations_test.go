package probe

import "testing"

// A generation is deleted once, when nobody uses it or the next one, and again when that
// failed.
func TestGenerations(t *testing.T) {
	g := newGenerations(4)
	const each = 4 * generationLength
	waits := g.enter()
	for range 5 * each {
		if dead, is := g.leave(g.enter(), true); is {
			t.Fatalf("generation %d is deleted, and %d is in use", dead, waits)
		}
	}
	if _, is := g.leave(waits, false); is {
		t.Error("who cannot delete is asked to")
	}
	seen := map[int64]int{}
	for range 2 * each {
		n := g.enter()
		if dead, is := g.leave(n, true); is {
			if seen[dead]++; dead >= n {
				t.Errorf("generation %d is deleted, and %d is in use", dead, n)
			}
			if seen[2] == 1 && dead == 2 {
				g.fail(dead)
			}
		}
	}
	if len(seen) != 6 || seen[0] != 1 || seen[2] != 2 || seen[5] != 1 {
		t.Errorf("deleted %v", seen)
	}
}
