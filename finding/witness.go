package finding

import "github.com/isowatch/isowatch/event"

// Witness is the evidence of a finding: transactions with their operations, and the edges of
// the cycle in order, if there is a cycle. Transactions beyond the cycle have reads that show
// an order.
type Witness struct {
	Txns  []event.Record
	Edges []Dependency
	// ByVersion says that versions are told by their texts: these are the values of
	// edges then. Numeric: they are numbers in the order of the versions. ByCommit: the
	// writers' commit timestamps order them.
	ByVersion, Numeric, ByCommit bool
	// Rows says that a deleted row, and a row inserted at its key, are two rows. A write and a
	// deletion that replaced one version did not lose an update. No order of writes leads from
	// a deletion to an insertion.
	Rows bool
	// Vacant says that deletes may be unseen: that a range or a set did not show a key or an
	// element says nothing.
	Vacant bool
	// Strangers says that somebody without a record may have written a value: before the first
	// record, or at any time. A reader that was over when its writer began read from such a one.
	Strangers bool
	// Deleted are the keys at which transactions outside the witness deleted a row. It is set
	// where orders are tried: a transaction that leaves a row there conflicts with no other
	// writer.
	Deleted []string
	// For findings without a cycle: the reader, its operation, and the value.
	Anomaly AnomalyKind
	// Drift is how far two clients' clocks may be apart, ns.
	Drift int64
	Op    int
	Key   string
	Value string
	// Spelling is a value that was written at Key: the same number or object as Value, in other signs.
	// It proves nothing.
	Spelling string
	// Choices are pairs of writers whose order nobody saw, and reads of values that several
	// wrote. If there are choices, the edges are not a cycle. Edges and choices together leave
	// no order that Level allows.
	Choices []Choice
	// Repeated are reads of values that several may have written. By themselves they show
	// nothing. If they show something in every case, they are a choice.
	Repeated []DuplicateRead
	Level    string // by its name
	// Essential are the operations that matter where orders are tried, and Links dependencies that hold in
	// each order. The proof does not need them.
	Essential []Place
	Links     []Dependency
}

// Place is an operation of a witness.
type Place struct {
	Txn, Op int // the index into Witness.Txns, and into its operations
}

// Dependency is one edge of a witness, in terms of the recorded operations only.
type Dependency struct {
	From, To int // indexes into Witness.Txns
	Label    Label
	Key      string
	Value    string // canonical JSON: what was read (wr) or what overwrote (ww, rw)
	// Shown is the index into Witness.Txns of the transaction whose list read
	// shows the order of a ww edge; -1 when From and To prove it.
	Shown int
	// Assumed says that the edge follows from one way out of a choice only.
	Assumed bool
	// Past leads from From to Shown by reads, session order and real time: for a forced edge,
	// whose reader is Shown. For a ww or rw edge, Past may be the step between two transactions
	// that met the two versions one after the other. It is there where that orders the
	// versions. Or it is two or more writes of the key, each behind the one before, that lead
	// to To. They begin at From, or at the writer that From missed.
	Past []Dependency
}

// Choice is a pair of transactions that both installed a version of a register, or appended to
// a list, in an order that nobody saw. Either A came before B, and so did the readers of A's
// version, or the other way round (PolySI, definition 9). With Writers it is a read: A read a
// value that one of Writers had left in a register.
type Choice struct {
	Key     string
	A, B    int   // indexes into Witness.Txns
	Writers []int // also; all that may have written what A read
}

// DuplicateRead is a transaction's read of a key.
type DuplicateRead struct {
	Txn int // index into Witness.Txns
	Key string
}
