package window

import (
	"github.com/isowatch/isowatch/docs"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
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
	// weakFirst are the views, weak bases first, plain ones before those with
	// session order.
	weakFirst []int
	selecting incremental.Views // those that count some anti-dependencies only, or some of their cycles
	limiting  incremental.Views // of these, those with a limit: see limits.go
	realTime  bool              // some view is timed
	untimed   bool              // the first record had no times
	closed    bool              // the input is at its end
	advice    map[advised]docs.Advice
	untold    map[string]untold // by the id of a finding
	Counters  Counters

	effects *Effects
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
	held       int64 // the watermark does not pass it: see Hold
	retiredAt  int64 // watermark when transactions retired last
	tick       int64
	logical    int64 // time of sources without times: 1024 a transaction
	timed      bool
	before     int64 // watermark before Close
	// closedSessions are the sessions of sessions=closed, nil otherwise.
	closedSessions *closedSessions

	// Scratch.
	parts  []int32 // of the batch in work: partition+1, 0 before it is met
	looked bool    // whether a record of the batch in work has moved the watermark as far as it goes
}

// asking has the levels that transactions asked for.
type asking struct {
	*core
	asked    []isolation.Base // by transaction: what it asked for, 0 if it did not say; empty while none did
	askedFor []int64          // how many did that did not abort, by what they asked for; empty while none did
	// asManyMeanings: some did by a name that products mean different things by.
	asManyMeanings bool
	mixed          bool // some asked for less than serializable
	losing         bool // losesTrack, when it was looked at last

	// The level that was asked for last: mostly it is the next one's too.
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
	saturatedFrom int // of turns: those before the present saturation began
	begun         []begun
	ended         []ended
	apart         int64 // of Counters.Horizon: those that concern only levels that began later
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
	cause        string // of the withdrawals in work
	panes        panes
	horizon      horizon
	outcomeOnly  bool                // the record in work tells an abort, or an outcome after the lateness: what it shows behind the window is counted
	found        map[string][2]int64 // by anomaly: findings that the expected level forbids, and allows
	faults       faults              // that were told
	marks        []event.Mark        // the latest: see marks.go
	lost         Lost
	squeezed     int64  // greatest end of those that froze for want of memory: see memory.go
	weaker       weaker // of what was asked for, what is less than expected
	missed       news[*missedGroup]
	// contradictory are records with the id of an earlier one, and other content.
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

	// unverified is why the verifier did not accept the latest such witness.
	unverified error
	searcher   isolation.Searcher
	owed       int64 // what searches looked at, less what edges gave them: see search_credit.go
	limits     limits

	// Scratch.
	doomed   []*openFinding  // an edge of theirs no longer holds
	retries  []setAsideEdge  // set aside by findings that were withdrawn
	alike    []alike         // of the transaction that is being inserted
	diverged []infer.Anomaly // lost updates and intermediate reads of withdrawn findings, to be told again
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

	orderings    []ordering            // by view, at the end of an input
	givenUp      []string              // keys that could not be ordered then
	unchained    int64                 // keys that can not be, since their versions are not chains
	unsureWriter bool                  // a read that was not decided may be of a transaction of unknown outcome
	frozen       [][]lastFrozen        // by view and key: see frozen.go
	spareNews    map[uint32]lastFrozen // memory of the next frozenRun; empty
	misfits      []int64               // by view: transactions that do not fit what had frozen
	setAside     []setAsideVersion     // see set_aside.go
	unreadOut    []int64               // by view: pairs of unread appends without an order, of lists that are out
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
	fitted       []isolation.Level // views whose order the counters agree with, since Close
	counting     counting          // of counters, while records come
}

// furnish shows each room those below it.
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
	m.infer.ReadsAnything = a.readsAnything
}
