package isolation

import (
	"math/bits"
	"slices"

	"github.com/isowatch/isowatch/incremental"
)

// Base is a consistency model without its session or real-time variant. The bases are
// partly ordered: see [Base.Implies]. The zero Base is none.
type Base uint8

// Snapshots hold the numbers: a new base comes at the end.
const (
	ReadUncommitted Base = iota + 1 // PL-1
	ReadCommitted                   // PL-2
	MonotonicAtomicView
	ReadAtomic
	Causal // causal-cerone
	Prefix
	SnapshotIsolation  // PL-SI, without real time
	Serializable       // PL-3
	CursorStability    // PL-CS
	RepeatableRead     // PL-2.99
	ConsistentView     // PL-2+
	UpdateSerializable // PL-3U
)

// theory names what a base needs beside the dependencies that operations show.
type theory uint8

const (
	// dependencies: nothing. Every order of the transactions orders the writers whose order
	// nobody saw, so that these contradict no level of this theory.
	dependencies theory = iota
	// saturation: the orders of writers that its axiom forces (dbcop, figures 2a to 2c).
	saturation
	// choices: one order of the writers of each key must fit all who read them (PolySI,
	// definition 9). Package solve looks for it.
	choices
)

// row is all that sets a base apart from the others. A level is added by a row, and by the proofs
// of its encoding in docs/proofs.md, section 4.
type row struct {
	name    string
	implies []Base // those right below, as in Elle's consistency_model.clj
	// view is the plain form as an acyclic graph; see [Level.View] for what each form adds.
	view    incremental.View
	readers readers // whose anti-dependencies the view follows
	limit   limit   // which of them a forbidden cycle holds at most one of
	theory  theory
}

// bases are the rows, from weak to strong where one implies the other.
var bases = [...]row{
	ReadUncommitted: {
		name: "read-uncommitted", // write dependencies are acyclic (PL-1, Adya)
		view: incremental.View{Dep: ww | other}, theory: dependencies,
	},
	ReadCommitted: {
		name: "read-committed", implies: []Base{ReadUncommitted}, // and read dependencies with them (PL-2, Adya)
		view: incremental.View{Dep: ww | other | wr | reread}, theory: dependencies,
	},
	MonotonicAtomicView: {
		name: "monotonic-atomic-view", implies: []Base{ReadCommitted}, // dbcop, figure 2a
		view: incremental.View{Dep: ww | other | wr | reread | saturated}, theory: saturation,
	},
	ReadAtomic: {
		name: "read-atomic", implies: []Base{MonotonicAtomicView}, // dbcop, figure 2b
		view: incremental.View{Dep: ww | other | wr | saturated}, theory: saturation,
	},
	Causal: {
		name: "causal", implies: []Base{ReadAtomic}, // dbcop, figure 2c
		view: incremental.View{Dep: ww | other | wr | saturated}, theory: saturation,
	},
	// The commits have one order, and every transaction read a prefix of it. Two that run at
	// a time may write one key. This is the BC graph with write dependencies from commit to
	// commit (dbcop, figure 2d).
	Prefix: {
		name: "prefix", implies: []Base{Causal},
		view: incremental.View{Split: true, Dep: wr, Chain: ww | other, Anti: rw}, theory: choices,
	},
	// The BC graph (Viper, definition 2 and theorem 4), with the absence of divergence (MTC,
	// lemma 1), which package infer reports. Where rows are told apart, two
	// transactions that wrote two rows of a key have only their commits in order.
	SnapshotIsolation: {
		name: "snapshot-isolation", implies: []Base{Prefix, ConsistentView},
		view: incremental.View{Split: true, Dep: ww | wr, Chain: other, Anti: rw}, theory: choices,
	},
	Serializable: {
		name: "serializable", implies: []Base{SnapshotIsolation, RepeatableRead, UpdateSerializable}, // the direct serialization graph (PL-3, Adya)
		view: incremental.View{Dep: ww | other | wr, Anti: rw}, theory: choices,
	},
	// No update is lost: who saw a version and then wrote the key stands right behind it. That is
	// PL-2 with the anti-dependencies of such updates (Adya, G-cursor; docs/proofs.md, section 4).
	CursorStability: {
		name: "cursor-stability", implies: []Base{ReadCommitted},
		view: incremental.View{Dep: ww | other | wr | reread, Anti: rw}, readers: updaters,
	},
	// PL-3 without the anti-dependencies of ranges (Adya, G2-item).
	RepeatableRead: {
		name: "repeatable-read", implies: []Base{CursorStability},
		view: incremental.View{Dep: ww | other | wr, Anti: rw}, readers: ofItems,
	},
	// A transaction that reads from another one sees all that this one saw, and no update is lost.
	// It is PL-2 without cycles of exactly one anti-dependency (Adya, G-single). So the order of a
	// history may leave anti-dependencies out, where a cycle has two.
	ConsistentView: {
		name: "consistent-view", implies: []Base{Causal, CursorStability},
		view: incremental.View{Dep: ww | other | wr, Anti: rw}, limit: oneOfAll,
	},
	// The transactions that write are serializable, and so are they together with each single
	// reader. Two readers need not agree on one order. It is PL-2 without G-update (Adya).
	UpdateSerializable: {
		name: "update-serializable", implies: []Base{ConsistentView},
		view: incremental.View{Dep: ww | other | wr, Anti: rw}, limit: oneOfReaders,
	},
}

// below has a bit for each base that a base implies, itself and the zero Base among them.
var below = closed()

func closed() (sets [len(bases)]uint32) {
	for range bases { // as often as a chain can be long
		for b := range bases {
			sets[b] |= 1<<b | 1
			for _, weaker := range bases[b].implies {
				sets[b] |= sets[weaker]
			}
		}
	}
	return sets
}

// Implies says whether every history that satisfies b satisfies c. The zero Base promises nothing.
func (b Base) Implies(c Base) bool { return below[b]>>c&1 != 0 }

// Lacks says whether a transaction that asked for b was not promised all of c. The zero Base is for
// one that asked for nothing, and was promised what its source promises.
func (b Base) Lacks(c Base) bool { return b != 0 && !b.Implies(c) }

// Saturated says whether b is about the orders of writers that its axiom forces.
func (b Base) Saturated() bool { return bases[b].theory == saturation }

// Chooses says whether b asks for one order of the writers of each key that fits all reads. At the
// other bases, writers of unknown order cannot contradict one another.
func (b Base) Chooses() bool { return bases[b].theory == choices }

// Bases are all bases, each behind those that it implies.
func Bases() []Base { return slices.Clone(weakFirst[:]) }

// Strength is the place of b among [Bases], from 1 on; 0 for the zero Base.
func (b Base) Strength() int { return slices.Index(weakFirst[:], b) + 1 }

var weakFirst = ranked()

func ranked() (all [len(bases) - 1]Base) {
	for i := range all {
		all[i] = Base(i + 1)
	}
	slices.SortStableFunc(all[:], func(a, b Base) int { return bits.OnesCount32(below[a]) - bits.OnesCount32(below[b]) })
	return all
}

// Tracks says whether b forbids cycles with two anti-dependencies in a row, which snapshot isolation
// allows: databases find them by tracking conflicts.
func (b Base) Tracks() bool {
	return b == Serializable || b == RepeatableRead || b == UpdateSerializable
}

func (b Base) String() string { return bases[b].name }

// BaseNames are the names of the bases, the one with number 1 first.
func BaseNames() []string {
	var names []string
	for b := ReadUncommitted; int(b) < len(bases); b++ {
		names = append(names, b.String())
	}
	return names
}
