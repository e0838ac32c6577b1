package infer

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/counters"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/linear"
	"github.com/isowatch/isowatch/internal/infer/lists"
	"github.com/isowatch/isowatch/internal/infer/registers"
	"github.com/isowatch/isowatch/internal/infer/sets"
)

// kinds takes an operation, and finds out the kind of its key.
type kinds struct {
	registers.Registers
	lists.Lists
	sets.Sets
	counters.Totals
	linear.Linear
}

// memory lets go of what is settled, writes it to disk, and takes it in again.
type memory struct {
	kinds
	expiry ledger.DueQueue
	unsure []ledger.Due // transactions of unknown outcome behind the window, oldest first
	// tentative is a setting. unsure holds at most twice as many.
	tentative int
	joined    bool
	reopened  []uint32 // scratch

	// Scratch of Plan.
	planned *event.Batch // whose transactions plan is about
	planOf  []planOf
	planAt  int // of planOf: the next transaction
	near    []uint32
	walk    []uint32
	warmed  uint64 // keeps the loads of Warm
}

// State is the whole memory of inference. Use [New]. It is not safe for concurrent use and does nothing
// by itself: no clock, no I/O. It may not be copied.
type State struct {
	memory

	// Scratch of the transaction in work; no state.
	record []byte
	// unaccused are versions with a finding that may have been about a read which
	// does not count any more.
	unaccused []uint32
	// reshown are keys of lists. A record that another one replaces may have shown their elements.
	reshown []uint32
}

// New returns the state of a source that nothing is known of.
func New(o ledger.Options) *State {
	s := &State{}
	s.Lists.Registers, s.Sets.Registers, s.Totals.Registers, s.Linear.Registers = &s.Registers, &s.Registers, &s.Registers, &s.Registers
	s.Above = causes.Above{List: &s.Lists, Set: &s.Sets, Counter: &s.Totals}
	s.Start(o)
	s.Signs = causes.NewSigns()
	s.LimitMemory(0)
	return s
}
