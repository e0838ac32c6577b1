package engine

import "slices"

// shareMemory divides the memory of the machines among them, before a step. Sources that need little leave the rest
// to the others. A machine's share is part of its configuration. So it is recorded with the step, and a replay
// has the same. The sizes of machines are part of their state: nothing here is measured of the process.
func (e *Engine) shareMemory() {
	if e.opt.State == 0 {
		return
	}
	sizes := make([]int64, len(e.sources.list))
	for i, x := range e.sources.list {
		_, sizes[i] = x.machine.Memory()
	}
	level := max(Level(e.opt.State, sizes), leastState)
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

// Level bounds each of several sizes, so that all of them fit into bytes. A size below the bound leaves its rest to the others.
func Level(bytes int64, sizes []int64) int64 {
	sizes = slices.Sorted(slices.Values(sizes))
	rest := bytes
	for i, n := range sizes {
		level := rest / int64(len(sizes)-i)
		if n >= level || i == len(sizes)-1 {
			return level
		}
		rest -= n
	}
	return bytes
}

// askBound asks for the bounds of the step to come. The step has the shares, and whatever the assembler gives up.
func (e *Engine) askBound() {
	if e.opt.Bound == nil {
		return
	}
	held := Held{Open: int64(e.assembler.Bytes())}
	for _, x := range e.sources.list {
		used, taken := x.machine.Memory()
		held.Used, held.Taken = held.Used+used, held.Taken+taken
	}
	state, open := e.opt.Bound(held)
	e.opt.State, e.assembler.MaxBytes = state, int(open)
}

// Held has the bytes that an engine takes before a step.
type Held struct {
	Used, Taken int64 // by the machines: see [window.Machine.Memory]
	Open        int64 // by open transactions
}

// leastState bounds the size of a machine where very many sources share the memory.
const leastState = 256 << 10
