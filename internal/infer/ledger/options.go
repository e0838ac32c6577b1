package ledger

// Options are the parts of a source's capture contract (docs/semantics.md) that decide what may
// be inferred. The zero Options stand for a partial capture of an empty database.
type Options struct {
	Complete           bool // capture: complete
	Existing           bool // start: existing
	UnmonitoredWriters bool // unmonitored-writers: yes
	DeletesUnseen      bool // deletes: unseen
	ByVersion          bool // versions are told by their texts, not by their values
	// Observed: whether values name their writers is found out, pattern of keys by
	// pattern: see causes/signs.go. Otherwise they do.
	Observed bool
	// Patterns are the patterns that a person named (pattern.Matches). A key has the first one that it
	// matches. Others are found out.
	Patterns []string
	// Rows: a delete ends a row, and a later write of the key begins another one. The deleter
	// of a version and a writer of the key over it do not lose an update.
	Rows            bool
	Tracked         bool // for lists, an edge is wanted from the readers of the state that an append replaced, once that is known
	NumericVersions bool // and these are numbers in the order of the versions
	TrustCommitTS   bool // versions are in the order of their writers' commit timestamps
	// SequentialKeys and LinearizableKeys: versions are in the order in which a session,
	// or one after the other in real time, met them.
	SequentialKeys, LinearizableKeys bool
	Ordered                          bool // one of the last four: New sets it
	AskedAlike                       bool // what transactions asked for makes no difference
	RealTime                         bool // some level asks for it
	Linear                           bool // positions of operations are kept for linearizability
	Whole                            bool // all records stay until the end of the input
	// BaselineSpan is how long after the first record's end a value without a
	// writer is its key's baseline, ns: longest transaction + lateness.
	BaselineSpan int64
	// MaxTxn is the longest transaction, ns: how much later than its reader a
	// writer may end, and so be recorded.
	MaxTxn int64
	// Begins: whoever has begun is known of. Nobody else ends later than the watermark.
	Begins bool
	// ClockDrift is how far two clients' clocks may be apart, ns.
	ClockDrift int64
	// Labels are the labels of edges that matter; 0 is all.
	Labels Label
}

func (o Options) withDefaults() Options {
	if o.Labels == 0 {
		o.Labels = ^o.Labels
	}
	return o
}

// Partly says whether visits order versions: see orders/partial.go.
func (o *Options) Partly() bool { return o.SequentialKeys || o.LinearizableKeys }

// Edge is a dependency between two transactions: From comes before To.
type Edge struct {
	From, To uint32
	Label    Label
	// Version is the version that the edge is about: the one read (wr) or the overwriting one
	// (ww, rw). 0 for session order.
	Version uint32
	// Witness is a third transaction whose list read shows the order; 0 when
	// From and To prove the edge themselves.
	Witness uint32
}

// accuses says whether k tells a fault of transactions, and not a lack of knowledge.
func accuses(k AnomalyKind) bool {
	return k <= UnattributedRead || k >= OutOfBounds
}

// Anomaly is a finding of its own, or a finding is made from it. A Nonlinearizable one is found
// while records come. A began after B had ended, and B is about Version, which comes later than
// Other, A's, or behind it. If Count is 1, A replaced Version, which rests on a version that A
// wrote. Otherwise package window finds it.
type Anomaly struct {
	Kind    AnomalyKind
	A, B    uint32 // transactions; 0 where there is none. Internal: B appended on both sides of what A did
	Version uint32
	Value   uint64 // ValueKey of Version
	Other   uint32 // IncompatibleOrder: the version before, when both are B's; CyclicVersions: the version whose place its writer gives
	OpA     uint32 // operation of A, index in program order
	Count   int64  // SequenceGap: missing members; Nonlinearizable: 1 for a cycle; CyclicVersions: steps of it, from OpA on in Out.Steps, 0 if the order is given
	Certain bool   // does not rest on an incomplete capture
}

// Kill says that the edges with this version and one of these labels at Writer
// no longer hold.
type Kill struct {
	Version, Writer uint32
	Labels          Label
	Order           bool   // only these edges: other findings about the version stay
	From            uint32 // only edges out of this transaction; 0: out of any
	Placed          uint32 // 0, or edges of any version out of From that this one's commit timestamp shows
	Deleted         bool   // since somebody deleted the list: findings that no delete explains stay
}

// Kills says whether k takes back an edge. It takes back reads from the writer, orders that
// such a read forces before the writer, and other edges into the writer. For lists it also
// takes back the order of the elements behind.
func (k *Kill) Kills(e *Edge) bool {
	switch {
	case k.From != 0 && e.From != k.From:
		return false
	case k.Placed != 0:
		return e.Label&k.Labels != 0 && e.Witness == k.Placed
	case e.Version != k.Version:
		return false
	case e.Label&WR != 0:
		return k.Labels&WR != 0 && e.From == k.Writer
	case e.Label&Saturated != 0:
		return k.Labels&WR != 0 && e.To == k.Writer
	case e.Label&RW != 0:
		return k.Labels&RW != 0 && e.To == k.Writer
	}
	return k.Labels&e.Label != 0 && (e.From == k.Writer || e.To == k.Writer)
}

// Left says that By left nothing in a key that comes again: whoever ended before it began did not
// find that.
type Left struct {
	Value uint64 // ValueKey
	By    uint32
}

// Shown is about edges into Writer whose order Was's read showed. Now's read shows them from
// now on, since Was's read does not count any more.
type Shown struct{ Writer, Was, Now uint32 }

// Refusal says why a record was not taken in.
type Refusal uint8

const (
	Taken         Refusal = iota // it was taken in
	Repeated                     // the same record was seen before
	Contradicting                // another record with its id was seen before
	TooLate                      // its outcome was unknown, and its first record counted and has left the orders
)

// Twice says that two transactions, which did not abort, wrote the value of Version.
type Twice struct {
	Version       uint32
	First, Second uint32 // First is 0 where it has left memory
}

// Out is the result of one step of inference. It is reused.
type Out struct {
	Refused Refusal  // of the record in work
	Again   bool     // it took the place of a record with an unknown outcome
	Nodes   []uint32 // transactions that count from now on, in order
	Gone    []uint32 // transactions that no longer count
	GoneIDs []uint64 // the hashes of their ids: a record that was replaced may have left memory
	// Replaced are the hashes of the ids (Info.ID) of transactions whose record was
	// replaced by one that aborted or may hold other operations.
	Replaced  []uint64
	Edges     []Edge
	Kills     []Kill
	Left      []Left
	Shown     []Shown
	Anomalies []Anomaly
	Steps     []Step // of the cycles that are among Anomalies
	// Supplied are the ValueKeys of accused versions that have got a writer: what
	// was said to be wrong with them is void.
	Supplied []uint64
	// Ambiguous are the ValueKeys of versions that turned out to have several possible
	// writers: what was concluded from there being one is void.
	Ambiguous []uint64
	Twice     []Twice
	// Parted are the ValueKeys of a list that somebody deleted: what a delete explains is void.
	Parted []uint64
	// PartedBy are those who may have deleted a list, with its initial version and no value.
	PartedBy []Deletion
	// Deletions are deletes of keys in which nothing had been found, which is void as far as
	// the delete may have come before.
	Deletions []Deletion
	// Emptied are keys in which nothing comes again from now on.
	Emptied []uint32
	// OtherRows counts pairs of versions in order that may be of two rows: see orders/rows.go.
	OtherRows int64
}

// Reset empties o and keeps its memory.
func (o *Out) Reset() {
	o.Refused, o.Again, o.OtherRows = Taken, false, 0
	o.Nodes, o.Gone, o.Edges = o.Nodes[:0], o.Gone[:0], o.Edges[:0]
	o.Kills, o.Shown, o.Anomalies = o.Kills[:0], o.Shown[:0], o.Anomalies[:0]
	o.Supplied, o.Ambiguous, o.Parted, o.Left = o.Supplied[:0], o.Ambiguous[:0], o.Parted[:0], o.Left[:0]
	o.Replaced, o.Steps, o.Emptied = o.Replaced[:0], o.Steps[:0], o.Emptied[:0]
	o.PartedBy = o.PartedBy[:0]
	o.Deletions, o.GoneIDs, o.Twice = o.Deletions[:0], o.GoneIDs[:0], o.Twice[:0]
}

// Counters count the gaps in what the capture shows. They only grow, except Unattributed, which
// a late writer takes back, and Sessionless.
type Counters struct {
	Duplicates     int64 `json:"duplicates"`      // records seen before
	LateDuplicates int64 `json:"late_duplicates"` // records seen before whose id and content a filter knows
	Contradictory  int64 `json:"contradictory"`
	Unattributed   int64 `json:"unattributed"`         // reads that match no write
	Ambiguous      int64 `json:"ambiguous"`            // versions with several possible writers that were read
	Absent         int64 `json:"ambiguous_absent"`     // the empty reads among them
	Repeating      int64 `json:"repeating"`            // reads of keys whose values repeat: what they saw is not known
	OfRows         int64 `json:"row_versions"`         // reads of a column whose version may be of a write of another column: what they saw is not known
	Versioned      int64 `json:"versioned_keys"`       // keys whose versions operations tell, without being asked to
	Repeated       int64 `json:"repeated"`             // reads of registers' values that several may have written: whose they are is searched
	Emptied        int64 `json:"emptied"`              // the empty reads among them
	DeletedLists   int64 `json:"deleted_lists"`        // lists and sets that were deleted or written over
	Uncheckable    int64 `json:"uncheckable"`          // keys whose version order cannot be known
	Unordered      int64 `json:"unordered"`            // keys whose version order nobody saw: blind writes
	Gaps           int64 `json:"gaps"`                 // records known to be missing: members of sessions that never came, lost input
	Ignored        int64 `json:"unchecked_operations"` // operations of kinds or levels that give no dependency
	Overlapping    int64 `json:"overlapping"`          // sessions that are not sequential: their order is not used
	Sessionless    int64 `json:"sessionless"`          // transactions that count and have no place in a session
	Placeless      int64 `json:"placeless"`            // keys of transactions that got no position for linearizability, if it is asked for
	Countable      int64 `json:"counter_keys"`         // keys that are counters
	Loose          int64 `json:"counter_keys_loose"`   // counters whose increments have no known order
	DeadLetters    int64 `json:"dead_letters"`         // records that could not be decoded: the driver's
}

// Missing counts records that are known to be missing or damaged. Any of the lost records may have held
// the only record of an operation.
func (c *Counters) Missing() int64 { return c.Gaps + c.Contradictory + c.DeadLetters }

// Cause precedes effect. A transaction that began when a reader had ended, by more than the
// clock drift, did not write the value that was read. And if a value was replaced and another
// transaction read it later, it came back. Where the contract leaves another explanation, such
// a version names no writer. It is a sign that values of its pattern repeat (docs/proofs.md,
// section 2, *Do values name their writers?*).

// Causal says whether time shows that a transaction did not read from some writer. It does where the
// contract leaves another explanation than a writer that began after the reader had ended.
func (o *Options) Causal() bool { return o.Plain() || o.Existing || o.UnmonitoredWriters }

// Plain says whether plain values name their writers only as far as the stream shows. Where
// versions tell registers, those are the elements of sets and lists.
func (o *Options) Plain() bool { return o.Observed || o.ByVersion }

// BlindIsAmbiguous says whether what a transaction wrote without reading the key may have been there.
func (o *Options) BlindIsAmbiguous() bool {
	return o.Plain() && (o.Existing || o.UnmonitoredWriters || !o.Complete)
}

// OneSession says whether both are live members of one session. The number of a session is used again
// when all of it has retired, and a member that was on disk has none.
func (x *Txn) OneSession(y *Txn) bool {
	return x.Session != 0 && x.Session == y.Session && (x.Flags|y.Flags)&Retired == 0
}

// Strangers says whether a transaction without a record may have written what nobody is
// known to have written, any number of times.
func (o *Options) Strangers() bool { return o.Observed && (o.UnmonitoredWriters || !o.Complete) }

// Vacant says whether an empty read proves nothing: a writer without a record may have deleted
// the key.
func (o *Options) Vacant() bool { return o.DeletesUnseen || o.UnmonitoredWriters }

// Names says whether v stands for one version. It does not if it has several possible writers, or if it
// has no known writer and the contract allows for any number.
func (x *Version) Names() bool { return x.Flags&(Ambiguous|Unrecorded) == 0 }

// Step is one step of a cycle of versions. The transaction From found or left the version that
// To found (WR), or the initial version, which To replaced (RW). Or From comes before To
// (Process, Realtime).
type Step struct {
	From, To uint32
	Label    Label
	Version  uint32 // that To found or left
}

// Let a reader have found nothing in a key, and have ended before any deleter of it began. It found the
// initial state of the key, since cause precedes effect. Conclusions from its read stay when the first
// delete of the key is recorded. So a finding that has left is not taken back because the row is
// deleted in the end. A whole history goes by the definitions of levels alone, which know no time.

// Deletion is a delete. It takes back conclusions from empty reads of the key.
type Deletion struct {
	Version uint32 // the initial one of the key
	Value   uint64 // its ValueKey
	Began   int64  // the deleter, by the clock that is the furthest behind: what rests on who had ended before stays
}

// EndedBefore says whether transaction r had ended, by more than the clock drift, when n began.
func (s *Ledger) EndedBefore(r, n uint32) bool {
	x, y := &s.Txns[r], &s.Txns[n]
	return r != n && x.Flags&y.Flags&HasTimes != 0 && x.End < y.Start-s.Opt.ClockDrift
}

// This file has what the machine tells inference beside records.

// LostInput counts n records that were lost before anybody read them.
func (s *Ledger) LostInput(n int64) { s.Counters.Gaps += n }

// BadRecords counts n records that could not be decoded.
func (s *Ledger) BadRecords(n int64) { s.Counters.DeadLetters += n }

// ConclusionFell counts a conclusion that a later record refuted after transactions had frozen under
// it. Nobody checks whether these transactions fit what is true instead.
func (s *Ledger) ConclusionFell() { s.Counters.Ambiguous++ }
