package app

import (
	"runtime/metrics"

	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/store"
)

// memoryFull is the share of its memory from which on a source counts as full. Machines squeeze from 14/16 on.
const memoryFull = 0.85

// fullest is the greatest share of its memory that a source uses.
func fullest(s *engine.Status) (most float64) {
	for i := range s.Sources {
		if x := s.Sources[i]; x.MemoryCap > 0 {
			most = max(most, float64(x.Memory)/float64(x.MemoryCap))
		}
	}
	return most
}

// tellFull logs once that a source's memory is full, and once that none is any more.
func (a *App) tellFull() {
	share := fullest(a.engine.Status())
	switch m := a.memory; {
	case !m.full && share >= memoryFull:
		m.full = true
		a.log.Warn("the memory is full: transactions leave the window early, and keys go to disk early", "memory", m.most, "of it for the state", a.stateMemory())
	case m.full && share < memoryFull*0.9:
		m.full = false
		a.log.Info("the memory is no longer full")
	}
}

// stateMemory bounds the tables of all sources together.
func (a *App) stateMemory() int64 {
	if u := a.options.unit; u != nil {
		return u.g.pools.state.bytes
	}
	return a.budget.state
}

type memoryPart struct {
	name  string
	bytes int64
}

// memoryParts divides the resident memory. The counted parts come first, then those that samples of the heap tell. The
// last two are measured: files, and what the Go runtime takes beyond the parts: garbage, room to grow, and whatever is small.
func (c *collector) memoryParts(s *engine.Status) []memoryPart {
	parts := []memoryPart{{"state", 0}, {"steps", s.Memory.Steps}, {"open", s.Memory.Open}, {"ahead", 0}, {"store", 0}, {"catalog", 0}, {"tape", s.Memory.Tape}}
	for i := range s.Sources {
		parts[0].bytes += s.Sources[i].Memory
	}
	parts[3].bytes = c.readAhead.bytes()
	if c.storeMemory != nil {
		parts[4].bytes = c.storeMemory()
	}
	if c.catalogMemory != nil {
		parts[5].bytes = c.catalogMemory()
	}
	for i, n := range heapMemory(heapParts) {
		parts = append(parts, memoryPart{heapParts[i].name, n})
	}
	heap := runtimeMemory()
	for _, p := range parts {
		heap -= p.bytes
	}
	return append(parts, memoryPart{"go", max(heap, 0)}, memoryPart{"files", store.Resident()})
}

// runtimeMemory is the memory of the Go runtime that was not given back to the system.
func runtimeMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()) - int64(samples[1].Value.Uint64())
}
