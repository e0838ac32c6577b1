package infer

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// The rooms of inference, lowest first. Each has its own fields and methods. A room has the room below
// it as a field, and may use all rooms below. It cannot name the rooms above or beside it: the compiler
// would refuse that.
//
//	ledger      what is known: transactions, sessions, keys, versions, who wrote and read them
//	absences    what no record has told, and one may tell yet
//	causes      whom a reader can have read from, by time and by what others saw
//	orders      versions in an order that records give
//	registers   plain values: reads, writes, deletes, and values with several writers
//	lists sets counters linear   beside each other, each over registers
//	kinds       an operation, whatever its kind
//	memory      what leaves memory, and comes back
//	State       a record, and what the graph and the searches ask

// ledger has the transactions, their sessions, the keys, their versions, and who wrote and read them.
// It finds edges, and knows which transactions have left.
type ledger struct {
	opt Options

	txns           []txn
	keys           []key
	versions       []version
	writes         []write
	readers        []reader
	sessions       []session
	seqs           []seqSet       // by session
	seqWords       int64          // of all seqs
	sessionIndexes []sessionIndex // by session

	free struct {
		txns, versions, writes, readers, keys, sessions flat.Slots
	}

	byID, byKey, byVersion, bySession index
	records, names                    arena

	absence dueQueue
	values  filter   // (key, value) pairs that left memory
	twice   filter   // reads whose version had several possible writers
	aborts  filter   // as values, of aborted transactions
	ids     idFilter // ids that left memory

	spill spill

	gen          uint32
	begunRetired int64 // greatest start of a transaction that has retired, where Options.Linear
	sessionOrder bool  // some transaction that counts had a place in a session
	baselineEnds int64
	greatest     int64 // greatest end of a transaction whose id is in ids
	Counters     Counters
	reads        Reads

	// Scratch of the transaction in work; no state.
	out  *Out
	held []uint32 // transactions named by the last step's anomalies
	// heldVersions are the versions that they are about.
	heldVersions []uint32
	scratch      event.Batch
	decoder      event.Decoder
}

// absences has the questions that wait for records, and the patterns of keys whose values repeat.
type absences struct {
	ledger
	kindsAbove Above
	signs      signs
	patient    dueQueue // reads of values whose writer has no record so far, by the reader's end
	nameless   bool     // a write did not name the version that it made, in a key whose versions have names
	// untimed is the patience with unheard writers where records have no times; 0: they have.
	untimed int64
	// readsAnything says whether the transaction may read what was never committed: it asked for
	// no more. nil: none may. No state.
	readsAnything func(n uint32) bool

	// Scratch of the transaction in work; no state.
	stamp     uint32
	touches   []touch
	plan      []planned
	planFrom  uint32 // of plan: the transaction in work
	planTo    uint32
	planFreed uint32 // freed when the plan was made
	freed     uint32 // counts versions that were freed
}

// causes knows whether a reader can have read from a writer.
type causes struct {
	absences
	kept []keptRead // see found_before.go
	// fromOne is scratch of EachReadFrom.
	fromOne []ExternalRead
}

// orders has the orders of versions that records give: by number, by commit timestamp, or in
// part.
type orders struct {
	causes
	partial partial
}

// registers has keys whose operations read and write whole values: registers, and the elements of sets.
// It also does what is common to versions of all kinds: several writers, a delete, leaving memory.
type registers struct {
	orders
	late    []uint32 // the versions with the flag lateReaders, oldest first
	deletes bool     // some key was deleted

	// Scratch of the transaction in work; no state.
	own []own
	// parted are the write records that replaced the same version as a write which is taken back. Each
	// of them had diverged from that write: see diverge.
	parted  []uint32
	promote []uint32 // transactions of unknown outcome that somebody has read from now
	demote  []uint32 // transactions of unknown outcome that may have lost their last reader
}

// lists has keys whose operations append.
type lists struct {
	*registers
	prefixes []uint64 // scratch
}

// sets has sets, and reads of ranges. Their elements are registers.
type sets struct {
	*registers
	scans     []scan
	freeScans flat.Slots
	bounds    arena    // the first and the last key of each scan
	ordered   []ranges // no state: made from keys and names
	newScans  []uint32 // scratch: the scans of the transaction in work
	name      []byte   // scratch
}

// counters has keys whose operations add.
type counters struct {
	*registers
	holdings []holding // by version: see counted.go
	// Scratch.
	counted   []ownCount // counters that the transaction in work used
	following []uint32
}

// linear has the bounds that real time puts on a key.
type linear struct {
	*registers
	lines []line // by version: see linear.go
	// Scratch.
	below   []uint32
	placing uint32 // the transaction whose keys get their positions now
}

// kinds takes an operation, and finds out the kind of its key.
type kinds struct {
	registers
	lists
	sets
	counters
	linear
	commitTS int64 // of the transaction in work, where trusted; see commitNumber
}

// memory lets go of what is settled, writes it to disk, and takes it in again.
type memory struct {
	kinds
	expiry dueQueue
	unsure []due // transactions of unknown outcome behind the window, oldest first
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
func New(o Options) *State {
	s := &State{}
	s.lists.registers, s.sets.registers, s.counters.registers, s.linear.registers = &s.registers, &s.registers, &s.registers, &s.registers
	s.kindsAbove = Above{List: &s.lists, Set: &s.sets, Counter: &s.counters}
	s.start(o)
	s.signs = newSigns()
	s.LimitMemory(0)
	return s
}
