package app

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/isowatch/isowatch/window"
)

func TestMemory(t *testing.T) {
	limit, used, cycle := int64(1000), int64(0), uint64(0)
	m := newMemory(0)
	m.limit = func() int64 { return limit }
	m.used = func() (int64, uint64) { return used, cycle }
	for _, c := range []struct {
		name   string
		used   int64
		live   float64 // share of the cap in use
		want   float64
		change bool
	}{
		{"plenty", 500, 0.5, 1, false},
		{"nearly tight", 799, 0.5, 1, false},
		{"tight: no more than there are", 800, 0.5, 0.5, true},
		{"as before", 850, 0.5, 0.5, false},
		{"short: a tenth less", 930, 0.5, 0.45, true},
		{"and again", 930, 0.45, 0.405, true},
		{"tight again, with fewer", 810, 0.3, 0.3, true},
		{"between", 750, 0.3, 0.3, false},
		{"easy: back by a tenth", 600, 0.3, 0.34, true},
		{"easy", 0, 0.3, 0.384, true},
	} {
		used = c.used
		cycle++
		if changed := m.look(c.live); changed != c.change || math.Abs(m.share-c.want) > 1e-9 {
			t.Errorf("%s: share %v, changed %v; want %v, %v", c.name, m.share, changed, c.want, c.change)
		}
		if c.change && m.look(0.01) {
			t.Errorf("%s: changed twice for one collection", c.name)
		}
	}
	for range 50 {
		cycle++
		m.look(0)
	}
	if m.share != 1 {
		t.Errorf("share %v in the end", m.share)
	}
	used = 1000
	for range 200 {
		cycle++
		m.look(1)
	}
	if c := m.lower(window.Config{LiveCap: 1_000_000, KeyCap: 5000}, m.share); c.LiveCap < 9000 || c.LiveCap > 50_000 || c.KeyCap != 1000 {
		t.Errorf("caps %d and %d", c.LiveCap, c.KeyCap)
	}
	if c := m.lower(window.Config{LiveCap: 10}, 0.01); c.LiveCap != 10 || c.KeyCap != 0 {
		t.Errorf("small caps %d and %d", c.LiveCap, c.KeyCap)
	}
	limit = 0
	if cycle++; m.look(1) {
		t.Error("without a limit the caps change")
	}
}

// The limit of the process is seen, and so is what it uses.
func TestUsedMemory(t *testing.T) {
	bytes, cycles := usedMemory()
	if bytes < 1<<18 || bytes > 1<<40 || cycles > 1<<40 {
		t.Errorf("%d bytes, %d collections", bytes, cycles)
	}
}

// When memory is short the window shrinks, metrics say so, and it grows back.
func TestMemoryShort(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	s.Watch.LiveCap = 50_000
	a, err := New(Options{Config: s})
	if err != nil {
		t.Fatal(err)
	}
	var used, cycle atomic.Int64
	a.memory.limit = func() int64 { return 1000 }
	a.memory.used = func() (int64, uint64) { return used.Load(), uint64(cycle.Add(1)) }
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Stop(context.Background()) })
	send(t, a, skewOne)
	liveCap := func() int {
		if x := a.Status().Sources; len(x) > 0 {
			return x[0].LiveCap
		}
		return 0
	}
	eventually(t, "the configured cap", func() bool { return liveCap() == 50_000 })
	used.Store(990)
	eventually(t, "a lower cap", func() bool { return liveCap() < 10_000 && liveCap() >= 1000 })
	if !strings.Contains(get(t, a, "/metrics"), "isowatch_memory_short 1") {
		t.Error("the metrics do not say so")
	}
	used.Store(0)
	low := liveCap()
	eventually(t, "a higher cap", func() bool { return liveCap() > low })
}
