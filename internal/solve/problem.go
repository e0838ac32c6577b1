package solve

// Node is a node of the graph, from 0.
type Node = int32

// Edge says that From comes before To.
type Edge struct{ From, To Node }

// Unit is a version of a key with its readers, or a chain of versions where each writer read
// the version before. Edges from earlier units lead to In (write dependencies) and InAnti
// (anti-dependencies). Edges to later units leave from Out and from each of Readers. In a graph
// with one node a transaction, In is InAnti, and Out for a chain of one. If a reader of a unit
// writes the key itself, it continues the unit's chain: it is not a writer of another unit.
type Unit struct {
	In, InAnti, Out Node
	Readers         []Node // of the last version
}

// Read is a read of a value that several writers left in a key. It is of one of them, and comes
// before the units behind that writer's, except the unit that the reader itself begins.
type Read struct {
	Node       Node
	Own        int32   // unit of the key whose first writer is the reader, -1 for none
	Candidates []int32 // units of the key, without Own, that end with the value
}

// Problem is a graph and the units that are to be ordered, by key.
type Problem struct {
	Nodes int
	// Edges are the known edges. Edges that link a line of nodes, say a session, come first in
	// the list if they are to be followed first: see Tracks.
	Edges []Edge
	// Lines says how many of the first edges link lines, in which a node has at most one
	// successor and one predecessor. More edges may be lines. Few paths must cover the nodes.
	Lines int
	Units []Unit
	Keys  []int32 // Keys[i] is the first unit of the i-th key; the last one ends where Units does
	// Reads are the reads whose writer is to be found as well. They are not among a candidate's
	// Readers.
	Reads []Read
	// Place orders nodes in the first attempt, as far as the edges leave them open: the
	// place in the order that the caller believes in. nil: by number.
	Place []int64
	// Budget is how many steps the search of one component may take; 0 is
	// DefaultBudget.
	Budget int64
	// Guess says that no core is wanted where there is no order.
	Guess bool

	early bool // for tests: the search looks ahead from the beginning
}

// DefaultBudget is 10 to 20 seconds of search.
const DefaultBudget = 100_000_000

// Verdict is the answer.
type Verdict uint8

const (
	Unknown       Verdict = iota // the budget of a component was not enough
	Satisfiable                  // there is an order
	Unsatisfiable                // there is none
)

func (v Verdict) String() string {
	return [...]string{"unknown", "satisfiable", "unsatisfiable"}[v]
}

// Pair names two units of one key, by their numbers, A < B.
type Pair struct{ A, B int32 }

// Core is a part of the problem that cannot be ordered.
type Core struct {
	Edges []Edge // known ones
	Pairs []Pair
	Reads []int32 // numbers of Problem.Reads, which have some writer
	// Minimal says that nothing can be left out.
	Minimal bool
}

// Stats say what deciding cost.
type Stats struct {
	Tracks     int
	Rounds     int // of saturation
	Derived    int // edges that saturation added
	Open       int // pairs that it left
	OpenReads  int // reads that it left with several candidates
	Components int
	Ahead      int // of them, those that were searched with foresight
	Conflicts  int64
	Steps      int64
}

// Result is the result of Solve.
type Result struct {
	Verdict Verdict
	// Order is a topological order of the nodes, as the place of each, such that
	// ordering every key's units by it closes no cycle. For Satisfiable.
	Order []int32
	Core  Core // for Unsatisfiable
	// Component are units of the component that was given up. For Unknown.
	Component []int32
	Stats     Stats
}

func (p *Problem) numKeys() int { return len(p.Keys) }

// Range are the first unit of the i-th key and the one behind its last.
func (p *Problem) Range(i int) (from, to int32) { return p.unitsOf(i) }

// unitsOf are the first unit of the i-th key and the one behind its last.
func (p *Problem) unitsOf(i int) (from, to int32) {
	from, to = p.Keys[i], int32(len(p.Units))
	if i+1 < len(p.Keys) {
		to = p.Keys[i+1]
	}
	return from, to
}
