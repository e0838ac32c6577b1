package main

import (
	"slices"
	"testing"
	"time"
)

func TestCalm(t *testing.T) {
	var used time.Duration
	var waits uint64
	var changes []bool
	c := calm{used: func() time.Duration { return used }, waits: func() uint64 { return waits }, change: func(calm bool) { changes = append(changes, calm) }}
	now := time.Unix(1000, 0)
	look := func(percent, times int) {
		for range times {
			now, used = now.Add(time.Second), used+time.Duration(percent)*10*time.Millisecond
			c.look(now)
		}
	}
	expect := func(when string, want ...bool) {
		t.Helper()
		if !slices.Equal(changes, want) {
			t.Errorf("%s: %v, want %v", when, changes, want)
		}
	}
	used = time.Minute // of the start: before the first look
	look(0, 1)
	look(20, calmAfter-1)
	expect("quiet for a moment")
	look(40, 1)
	look(20, calmAfter-1)
	expect("quiet for two moments")
	look(20, 1)
	expect("quiet", true)
	look(40, 20)
	expect("less quiet", true)
	look(60, 1)
	expect("a load", true, false)
	look(60, 20)
	look(10, calmAfter)
	expect("quiet again", true, false, true)
	waits += calmWaits
	look(10, 1)
	expect("a busy machine", true, false, true, false)
	look(10, calmAfter-1)
	waits += calmWaits
	look(10, 1)
	expect("a busy machine still", true, false, true, false)
	look(10, calmAfter)
	expect("an idle machine", true, false, true, false, true)
}
