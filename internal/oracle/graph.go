package oracle

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// EdgeType is a kind of dependency between two transactions (Adya, section 2.4
// of Elle), or the session order.
type EdgeType uint8

const (
	WW EdgeType = iota + 1 // To overwrote what From installed
	WR                     // To read what From installed
	RW                     // To overwrote what From read
	SO                     // To follows From in its session
)

func (t EdgeType) String() string { return [...]string{"?", "ww", "wr", "rw", "process"}[t] }

// Edge is a dependency between transactions, by index into the history.
type Edge struct {
	From, To int
	Type     EdgeType
	Key      string // empty for SO
}

// Anomaly is one contradiction. Names are Elle's.
type Anomaly struct {
	Name    string
	Refutes string   // the weakest base that falls with it; empty for cycles
	Key     string   // empty for cycles
	Txns    []string // ids; of a cycle in its order
	Cycle   []Edge   // of a cycle
}

// refutes says whether the level falls with the anomaly, which is no cycle.
func (a Anomaly) refutes(l Level) bool {
	again := a.Name == "internal" && a.Refutes == "read-atomic" // two versions of one key
	return l.forbids(a.Refutes) || again && l.forbids("repeatable-read")
}

func (a Anomaly) String() string {
	if a.Key == "" {
		return fmt.Sprintf("%s %v", a.Name, a.Txns)
	}
	return fmt.Sprintf("%s %v on %s", a.Name, a.Txns, a.Key)
}

// Graph holds what the operations of a history imply.
type Graph struct {
	History History
	// Counts says of each transaction whether it took effect: it committed, or
	// its outcome is unknown and one that counts observed it.
	Counts []bool
	// Edges are the known dependencies between transactions that count; of a
	// chain only the steps, not the transitive closure. No duplicates, no loops.
	Edges []Edge
	// Anomalies are the contradictions that need no cycle.
	Anomalies []Anomaly
	// Ambiguous counts the (key, value) pairs with two writers that did not
	// abort. They give no edges.
	Ambiguous int
	// Undecided counts the keys of which the operations leave the order of two
	// writers open.
	Undecided int
	// Drift is how far two clients' clocks may be apart, ns.
	Drift int64
	// NotSequential lists the sessions whose members overlap or cannot be put in
	// order. They give no session edges from there on.
	NotSequential []string

	asked    map[string]string // by id: the base that it asked for; see CheckAsked
	tracked  bool              // see CheckTracked
	openKeys []openKey         // registers whose order is to be tried
	keys     []string          // in order of first use
	users    map[string][]int  // key -> the transactions with operations on it
	lists    map[string]bool   // keys that are lists
	writers  map[version][]writer
	external []map[string]observation // per transaction, by key
	known    map[Edge]bool
}

// version is a value of a key. Values are unique, but for mistakes and retries.
type version struct {
	key   string
	value int64
}

// writer is one write or append operation.
type writer struct {
	txn   int
	final bool // the transaction's last of the key: the one it installs
}

// observation holds what a transaction first saw of a key before its own writes to
// it: the state of the snapshot that it read.
type observation struct {
	absent bool
	value  int64   // of a register
	list   []int64 // of a list, without the transaction's own appends
}

// Dependencies derives everything that h's operations imply.
func Dependencies(h History) *Graph {
	g := &Graph{
		History: h, Counts: make([]bool, len(h)),
		users: map[string][]int{}, lists: map[string]bool{}, writers: map[version][]writer{}, known: map[Edge]bool{},
	}
	g.indexKeys()
	g.indexWriters()
	internal := make([][]Anomaly, len(h))
	for i := range h {
		seen, anomalies := g.observe(i)
		g.external = append(g.external, seen)
		internal[i] = anomalies
	}
	g.decideCounting()
	for i := range h {
		if g.Counts[i] {
			g.Anomalies = append(g.Anomalies, internal[i]...)
		}
	}
	for _, key := range g.keys {
		if g.lists[key] {
			g.listKey(key)
		} else {
			g.registerKey(key)
		}
	}
	g.sessionOrder()
	return g
}

// add records an edge once; a transaction does not depend on itself.
func (g *Graph) add(from, to int, t EdgeType, key string) {
	e := Edge{from, to, t, key}
	if from == to || g.known[e] {
		return
	}
	g.known[e] = true
	g.Edges = append(g.Edges, e)
}

// report records an anomaly of the given transactions.
func (g *Graph) report(name, key string, txns ...int) {
	a := Anomaly{Name: name, Key: key, Refutes: "read-committed"}
	switch name {
	case "lost-update":
		a.Refutes = "consistent-view"
		if len(slices.DeleteFunc(slices.Clone(txns), func(i int) bool { return !g.updates(i, key) })) > 1 {
			a.Refutes = "cursor-stability"
		}
	case "duplicate-elements":
		a.Refutes = "read-uncommitted"
	}
	for _, i := range txns {
		a.Txns = append(a.Txns, g.History[i].ID)
	}
	g.Anomalies = append(g.Anomalies, a)
}

// updates says whether transaction i saw one version of the key, and then wrote the key.
func (g *Graph) updates(i int, key string) bool {
	var seen *workload.Op
	for at := range g.History[i].Ops {
		switch o := &g.History[i].Ops[at]; {
		case o.Key != key:
		case o.Kind != event.Read:
			return seen != nil
		case o.Nothing() && g.History[i].Status == event.Unknown: // that nothing is noted does not say that nothing was seen
		case seen != nil && (o.Nothing() != seen.Nothing() || o.Value != seen.Value || !slices.Equal(o.List, seen.List)):
			return false
		default:
			seen = o
		}
	}
	return false
}

func (g *Graph) indexKeys() {
	for i := range g.History {
		for _, o := range g.History[i].Ops {
			users, known := g.users[o.Key]
			if !known {
				g.keys = append(g.keys, o.Key)
			}
			if len(users) == 0 || users[len(users)-1] != i {
				g.users[o.Key] = append(users, i)
			}
		}
	}
}

// writes says whether transaction i writes or appends to key.
func (g *Graph) writes(i int, key string) bool {
	for _, o := range g.History[i].Ops {
		if o.Key == key && o.Kind != event.Read {
			return true
		}
	}
	return false
}
