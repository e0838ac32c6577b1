package main

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"
)

// At low rates most of the cost is waking up threads: the runtime wakes a second one for each goroutine
// that becomes ready. One thread for Go code takes a third less.
const (
	calmEvery  = time.Second
	calmBelow  = 0.25 // of one core
	calmAfter  = 5    // looks in a row
	calmNoMore = 0.5  // of one core: the service could want more than one
	calmWaits  = 20   // between two looks
	longWait   = 5 * time.Millisecond
)

// calm watches the processor time of the process, and changes the runtime's threads with it.
type calm struct {
	used   func() time.Duration
	waits  func() uint64 // of goroutines for a thread, longer than longWait: on a busy machine one thread gets too little
	change func(calm bool)

	at    time.Time // of the latest look
	taken time.Duration
	long  uint64 // waits at the latest look
	quiet int    // looks in a row
	now   bool
}

func (c *calm) look(now time.Time) {
	used, long := c.used(), c.waits()
	waited := long-c.long >= calmWaits
	share := float64(used-c.taken) / float64(max(now.Sub(c.at), time.Millisecond))
	first := c.at.IsZero()
	c.at, c.taken, c.long = now, used, long
	switch {
	case first:
	case c.now && (share > calmNoMore || waited):
		c.now, c.quiet = false, 0
		c.change(false)
	case share >= calmBelow || waited:
		c.quiet = 0
	case !c.now:
		if c.quiet++; c.quiet >= calmAfter {
			c.now = true
			c.change(true)
		}
	}
}

// keepCalm watches until ctx ends. A number of threads in the environment comes first.
func keepCalm(ctx context.Context, lookup func(string) (string, bool)) {
	_, set := lookup("GOMAXPROCS")
	if _, known := processorTime(); !known || set {
		return
	}
	change := func(calm bool) {
		if calm {
			runtime.GOMAXPROCS(1)
		} else {
			runtime.SetDefaultGOMAXPROCS()
		}
	}
	c := calm{used: func() time.Duration { d, _ := processorTime(); return d }, waits: longWaits, change: change}
	tick := time.NewTicker(calmEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if c.now {
				change(false) // there is a last snapshot to write
			}
			return
		case now := <-tick.C:
			c.look(now)
		}
	}
}

// longWaits counts how often a goroutine that was ready has waited for a thread for longWait or longer.
func longWaits() (n uint64) {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := sample[0].Value.Float64Histogram()
	for i, count := range h.Counts {
		if h.Buckets[i] >= longWait.Seconds() {
			n += count
		}
	}
	return n
}
