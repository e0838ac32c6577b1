package window

import (
	"github.com/isowatch/isowatch/docs"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// The machine's rooms, lowest first. Each has its own fields and methods. It may use the rooms
// below it, which are its fields, and knows nothing of those above.

// core is used by every room. It has the settings, the ledger of transactions and the graph
// over it.
type core struct {
	cfg   Config
	infer *infer.State
	graph *incremental.Graph
	views []isolation.Level // by view
	// follows are the labels of edges that some view is about.
	follows infer.Label
	// weakFirst lists the views by strength: weak bases come first, and a plain view comes
	// before its twin with session order.
	weakFirst []int
	selecting incremental.Views // the views whose level counts only some anti-dependencies, or only some of their cycles
	limiting  incremental.Views // the selecting views whose level limits the anti-dependencies of a cycle: see limits.go
	realTime  bool              // some view is timed
	untimed   bool              // the first record had no times
	closed    bool              // the input is at its end
	advice    map[advised]docs.Advice
	untold    map[string]untold // by the id of a finding
	twice     writtenTwice      // with Config.Twice
	Counters  Counters

	results Effects             // of the call in work: handOver gives it to the caller
	fallen  map[string]struct{} // what results.Fallen holds
	gone    map[string]struct{} // ids of the withdrawn ones of results.Findings
	// Scratch.
	out     infer.Out
	scratch event.Batch
	readers []reader // by transaction: see isLimited
	decoded *decodedRecords
}

// clock is the time of the source: how far its partitions are, and the watermark.
type clock struct {
	*core
	partitions []partition
	watermark  int64
	held       int64 // the watermark stays at or below this time: see Hold
	retiredAt  int64 // where the watermark stood when transactions retired last
	tick       int64
	logical    int64 // time of sources without times: 1024 a transaction
	timed      bool
	before     int64 // where the watermark stood before Close
	// closedSessions are the sessions of sessions=closed, nil otherwise.
	closedSessions *closedSessions

	// Scratch.
	parts  []int32 // by partition of the batch in work: its place in partitions plus 1; 0 until a record of it is met
	looked bool    // a record of the batch in work has moved the watermark as far as it goes
}

// asking has the levels that transactions asked for.
type asking struct {
	*core
	asked    []isolation.Base // by transaction: the level that it asked for, 0 if it named none; empty while none named one
	askedFor []int64          // by level: how many transactions asked for it and did not abort; empty while none named one
	// asManyMeanings says that a transaction named a level by a name that products use for
	// different levels.
	asManyMeanings bool
	mixed          bool // a transaction asked for less than serializable
	losing         bool // what losesTrack said when it was called last

	// The level that the latest transaction asked for. Mostly the next one asks for the same.
	lastName    []byte
	lastProduct string
	lastBase    isolation.Base
}

// levelChanges is how the watched levels change while the machine runs.
type levelChanges struct {
	*core
	asking        *asking
	watched       []isolation.Level // since the latest change; cfg.Levels before one
	due           bool              // the levels of cfg take effect with the next step
	changes       []levelChange
	saturatedFrom int // how many changes there were when the present saturation began
	begun         []begun
	ended         []ended
	apart         int64 // the part of Counters.Horizon that concerns only levels that began later
}

// work describes the part of a step in progress: a record, or the passing of time. Withdrawals meanwhile are counted under its cause.
type work struct {
	cause       string // apply may know a more specific one
	outcomeOnly bool   // the record is about an abort, or about an outcome after the lateness: dependencies that it shows behind the window are counted
}

// reports has what users are told: findings, panes, and the verdicts that follow.
type reports struct {
	*core
	clock        *clock
	asking       *asking
	levelChanges *levelChanges
	saturated    *saturated
	open         registry
	verdicts     verdicts
	waiting      waitingRoom
	work         work // set whole by each part of a step before it begins
	panes        panes
	horizon      horizon
	found        map[string][3]int64 // by anomaly: how many certain findings the expected level forbids, how many it allows, and how many are uncertain
	unsure       map[string]struct{} // ids of findings that are not counted as certain, and not final
	faults       faults              // the faults that were told
	marks        []event.Mark        // the latest marks: see marks.go
	lost         Lost
	squeezed     int64  // the greatest end of a transaction that froze because memory was short: see memory.go
	weaker       weaker // the levels below the expected one that transactions asked for
	missed       news[*missedGroup]
	// contradictory groups the records that have the id of an earlier record, and other content.
	contradictory news[*contradictoryGroup]

	contradicted []string // keys, sorted: see contradicted.go
	normal       []byte   // scratch: pattern of a session
}

// finder looks for cycles, has them verified, and takes back what a later record refutes.
type finder struct {
	*core
	clock        *clock
	asking       *asking
	levelChanges *levelChanges
	saturated    *saturated
	reports      *reports

	// unverified is the verifier's error on the latest witness that it refused.
	unverified error
	searcher   isolation.Searcher
	owed       int64 // the edges that searches looked at, less the credit of new edges: see search_credit.go
	limits     limits

	// Scratch.
	doomed   []*openFinding  // findings with an edge that no longer holds
	retries  []setAsideEdge  // edges that withdrawn findings had set aside: they are offered to the orders again
	alike    []alike         // equal faults of the transaction that is being inserted
	diverged []infer.Anomaly // lost updates and intermediate reads whose findings were withdrawn: they are told again
}

// choices is the theory of writers whose order nobody saw, and of values that several have
// written: for each view an order is looked for.
type choices struct {
	*core
	clock        *clock
	asking       *asking
	levelChanges *levelChanges
	saturated    *saturated
	reports      *reports
	finder       *finder

	orderings    []ordering            // by view: what the end of the input decided
	givenUp      []string              // the keys that could not be ordered at the end of the input
	unchained    int64                 // how many keys have versions that are not chains, and so cannot be ordered
	unsureWriter bool                  // a read that was not decided may be of a transaction of unknown outcome
	frozen       [][]lastFrozen        // by view and key: see frozen.go
	spareNews    map[uint32]lastFrozen // an empty map, whose memory the next frozenRun uses
	misfits      []int64               // by view: how many transactions do not fit the frozen order
	setAside     []setAsideVersion     // see set_aside.go
	unreadOut    []int64               // by view: how many pairs of unread appends have no order, in lists that are on disk
}

// linearizing is the theory of linearizability.
type linearizing struct {
	*core
	reports *reports
	finder  *finder
	linear  linearized
}

// sums is the theory of counters.
type sums struct {
	*core
	clock        *clock
	asking       *asking
	levelChanges *levelChanges
	reports      *reports
	finder       *finder
	fitted       []isolation.Level // the levels whose order agrees with the counters, as Close found
	counting     counting          // the counters of a stream
}

// furnish gives each room the rooms below it.
func (m *Machine) furnish() {
	o, k, a, t, f, s, h := &m.core, &m.clock, &m.asking, &m.levelChanges, &m.saturated, &m.reports, &m.finder
	k.core = o
	a.core = o
	t.core, t.asking = o, a
	f.core, f.clock, f.asking, f.levelChanges = o, k, a, t
	s.core, s.clock, s.asking, s.levelChanges, s.saturated = o, k, a, t, f
	h.core, h.clock, h.asking, h.levelChanges, h.saturated, h.reports = o, k, a, t, f, s
	c := &m.choices
	c.core, c.clock, c.asking, c.levelChanges, c.saturated, c.reports, c.finder = o, k, a, t, f, s, h
	l := &m.linearizing
	l.core, l.reports, l.finder = o, s, h
	n := &m.sums
	n.core, n.clock, n.asking, n.levelChanges, n.reports, n.finder = o, k, a, t, s, h
	g := &m.timing
	g.core, g.clock, g.asking = o, k, a
	m.infer.AskWhoReadsAnything(a.readsAnything)
}
