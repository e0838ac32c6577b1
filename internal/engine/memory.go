package engine

import "slices"

// shareMemory divides the memory of the machines among them, before a step. Sources that need little leave the rest
// to the others. A machine's share is part of its configuration. So it is recorded with the step, and a replay
// has the same. The sizes of machines are part of their state: nothing here is measured of the process.
func (e *Engine) shareMemory() {
	if e.opt.State == 0 {
		return
	}
	level := e.memoryLevel()
	for _, x := range e.sources.list {
		cfg := x.machine.Config()
		if x.next != nil {
			cfg = *x.next
		}
		if off := cfg.Memory - level; cfg.Memory != 0 && off < level/8 && off > -level/8 {
			continue // a share is written at most every eighth
		}
		cfg.Memory = level
		x.next = &cfg
	}
}

// memoryLevel bounds the size of each machine, so that all of them fit. A machine below the bound
// leaves its rest to the others.
func (e *Engine) memoryLevel() int64 {
	var sizes []int64
	for _, x := range e.sources.list {
		_, taken := x.machine.Memory()
		sizes = append(sizes, taken)
	}
	slices.Sort(sizes)
	rest := e.opt.State
	for i, n := range sizes {
		level := rest / int64(len(sizes)-i)
		if n >= level || i == len(sizes)-1 {
			return max(level, leastState)
		}
		rest -= n
	}
	return e.opt.State
}

// leastState bounds the size of a machine where very many sources share the memory.
const leastState = 256 << 10
