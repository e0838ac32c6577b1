package causes

import "github.com/isowatch/isowatch/internal/infer/ledger"

// Absences has the questions that wait for records, and the patterns of keys whose values repeat.
type Absences struct {
	ledger.Ledger
	Above    Above
	Signs    signs
	Patient  ledger.DueQueue // reads of values whose writer has no record so far, by the reader's end
	Nameless bool            // a write did not name the version that it made, in a key whose versions have names
	// UntimedPatience is the patience with unheard writers where records have no times; 0: they have.
	UntimedPatience int64
	// ReadsAnything says whether the transaction may read what was never committed: it asked for
	// no more. nil: none may. No state.
	ReadsAnything func(n uint32) bool

	// Scratch of the transaction in work; no state.
	Stamp     uint32
	Touches   []Touch
	Planned   []Planned
	PlanFrom  uint32 // of plan: the transaction in work
	PlanTo    uint32
	PlanFreed uint32 // freed when the plan was made
	Freed     uint32 // counts versions that were freed
}

// Causes knows whether a reader can have read from a writer.
type Causes struct {
	Absences
	Kept []keptRead // see found_before.go
	// fromOne is scratch of EachReadFrom.
	fromOne []ExternalRead
}
