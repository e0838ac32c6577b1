package store

import (
	"testing"
	"time"
)

// TestNextLook: with little to shed, or nothing left that could go, the store looks seldom. It looks
// often while tables grow.
func TestNextLook(t *testing.T) {
	const most = 100 << 20
	for _, c := range []struct {
		name             string
		before, now      int64
		after1, after10x time.Duration
	}{
		{"idle", 20 << 20, 20 << 20, 2 * residentEvery, residentRest},
		{"growing", 80 << 20, 80 << 20, residentEvery, residentEvery},
		{"shed", 120 << 20, 60 << 20, residentEvery, residentEvery},
		{"nothing that can go", 120 << 20, 119 << 20, 2 * residentEvery, residentRest},
	} {
		if got := nextLook(residentEvery, c.before, c.now, most); got != c.after1 {
			t.Errorf("%s: the next look is after %v, want %v", c.name, got, c.after1)
		}
		pause := residentEvery
		for range 10 {
			pause = nextLook(pause, c.before, c.now, most)
		}
		if pause != c.after10x {
			t.Errorf("%s: the tenth look is after %v, want %v", c.name, pause, c.after10x)
		}
	}
	if got := nextLook(residentRest, 80<<20, 80<<20, most); got != residentEvery {
		t.Errorf("after a rest the next look is after %v, want %v", got, residentEvery)
	}
}

// TestStoresShareLooks: many stores of a process do not look at the same memory one by one.
func TestStoresShareLooks(t *testing.T) {
	reads := 0
	x := shared{read: func() (int64, error) { reads++; return int64(reads), nil }}
	began := time.Now()
	for range 100 {
		if _, err := x.files(); err != nil {
			t.Fatal(err)
		}
	}
	if most := 1 + int(time.Since(began)/residentEvery); reads > most {
		t.Errorf("%d looks, want at most %d", reads, most)
	}
	x.at = x.at.Add(-residentEvery)
	before := reads
	if n, _ := x.files(); reads != before+1 || n != int64(reads) {
		t.Errorf("an old look counts: %d", n)
	}
}
