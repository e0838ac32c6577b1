package app

import (
	"context"
	"errors"
	"math"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/pulse"
	"github.com/isowatch/isowatch/window"
)

// Shares of the runtime's limit that live objects and the runtime's own take.
// Garbage is not counted: the collector lets it grow up to the limit by design.
const (
	memoryTight  = 0.80 // the window grows no more
	memoryShort  = 0.92 // it shrinks by a tenth with each collection
	memoryEasy   = 0.70 // caps grow back
	memoryEvery  = time.Second
	capsWait     = 5 * time.Second // for the next step, which may wait for room on the disk
	leastLiveCap = 1000
)

// memory lowers the caps of the machines while memory is short: transactions freeze
// earlier, and keys go to disk earlier. That is flagged as any horizon is.
type memory struct {
	most  int64        // of the process; 0: any amount
	limit func() int64 // of the heap; 0: none
	used  func() (bytes int64, collections uint64)

	collections uint64 // at the last change
	unapplied   bool   // the machines do not have the share yet
	full        bool   // the state of a source has reached its bound, and that was logged

	mu    sync.Mutex
	share float64 // of the configured caps that is in effect, 1: all
}

func (m *memory) current() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.share
}

// newMemory watches the heap of a process that may take so many bytes; 0: nothing is watched.
func newMemory(most int64) *memory {
	return &memory{most: most, share: 1, limit: func() int64 { return HeapLimit(most) }, used: usedMemory}
}

// usedMemory returns the heap that was live at the last collection plus the runtime's memory beside
// the heap, bytes. It also returns how many collections there were.
func usedMemory() (int64, uint64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"}, {Name: "/memory/classes/os-stacks:bytes"}, {Name: "/memory/classes/other:bytes"},
	}
	metrics.Read(samples)
	var n [7]uint64
	for i, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			n[i] = s.Value.Uint64()
		}
	}
	return int64(n[0] + n[2] + n[3] + n[4] + n[5] + n[6]), n[1]
}

// look says whether the caps are to change. live is the share of the configured cap that
// is in use.
func (m *memory) look(live float64) bool {
	limit := m.limit()
	if limit <= 0 {
		return false
	}
	used, collections := m.used()
	if collections == m.collections {
		return false // nothing new is known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.share
	switch part := float64(used) / float64(limit); {
	case part >= memoryShort:
		next = min(m.share, max(live, 0.05)) * 0.9
	case part >= memoryTight:
		next = min(m.share, max(live, 0.05)) // it keeps its size
	case part < memoryEasy:
		next = min(1, m.share*1.1+0.01)
	}
	if next = max(next, 0.01); math.Abs(next-m.share) < 0.02*m.share && (next != 1 || m.share == 1) {
		return false
	}
	m.share, m.collections = next, collections
	return true
}

// lower is c with the caps in effect.
func (m *memory) lower(c window.Config, share float64) window.Config {
	if share >= 1 {
		return c
	}
	c = c.WithDefaults()
	c.LiveCap = max(int(float64(c.LiveCap)*share), min(leastLiveCap, c.LiveCap))
	if c.KeyCap > 0 {
		c.KeyCap = max(int(float64(c.KeyCap)*share), min(leastLiveCap, c.KeyCap))
	}
	return c
}

// inUse is the share of its cap that the fullest source uses.
func inUse(s *engine.Status, configured func(source string) int) float64 {
	var most float64
	for i := range s.Sources {
		x := s.Sources[i]
		if n := configured(x.Source); n > 0 {
			most = max(most, float64(x.Live)/float64(n))
		}
	}
	return most
}

// watchMemory lowers and raises the caps until the app stops.
func (a *App) watchMemory(context.Context) error {
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTimer(pulse.Next(memoryEvery))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-a.flow.done:
				return
			case <-tick.C:
				tick.Reset(pulse.Next(memoryEvery))
				a.fitMemory(ctx)
			}
		}
	})
	a.cleanups.push("memory", func(context.Context) error { stop(); done.Wait(); return nil })
	return nil
}

func (a *App) fitMemory(ctx context.Context) {
	select {
	case a.reloading <- struct{}{}:
		defer func() { <-a.reloading }()
	default:
		return // what it is to lower is just being changed: at the next look
	}
	a.tellFull()
	was := a.memory.current()
	changed := a.memory.look(inUse(a.engine.Status(), func(source string) int { return a.watchOf(source).LiveCap }))
	if !changed && !a.memory.unapplied {
		return
	}
	now := a.memory.current()
	switch {
	case !changed: // and told already
	case was >= 1:
		a.log.Warn("memory is short: transactions leave the window early, and keys go to disk early", "limit", a.memory.limit(), "share of the caps", now)
	case now >= 1:
		a.log.Info("memory is no longer short: the limits of the window are as configured")
	}
	wait, cancel := context.WithTimeoutCause(ctx, capsWait, errNoStep)
	defer cancel()
	err := a.reconfigure(wait, a.current.Load(), false)
	if a.memory.unapplied = err != nil; err != nil && changed && ctx.Err() == nil {
		a.log.Error("the limits of the window cannot be changed yet", "err", errors.Join(err, context.Cause(wait)))
	}
}
