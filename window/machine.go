package window

import (
	"fmt"
	"math"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/internal/invariants"
	"github.com/isowatch/isowatch/isolation"
)

// Counters count what happened to a source's records since the beginning.
type Counters struct {
	infer.Counters
	Committed  int64 `json:"committed"` // records taken in with this status, as the next two
	Aborted    int64 `json:"aborted"`
	Unknown    int64 `json:"unknown"`
	Operations int64 `json:"operations"`
	Late       int64 `json:"late"`      // records that ended before the watermark when they came
	Clamped    int64 `json:"clamped"`   // event times beyond receipt time + drift
	Timeless   int64 `json:"timeless"`  // transactions that count and have no place in real time
	Horizon    int64 `json:"horizon"`   // edges by rule (d), and reads of what is no longer kept
	Undecided  int64 `json:"undecided"` // pairs of unread appends for which no order under snapshot isolation was found
	Frozen     int64 `json:"frozen"`    // transactions frozen early by the live cap
	// Misread counts transactions that read a key otherwise than they had written or
	// read it before. The levels that allow it could be refuted by what was read.
	Misread int64 `json:"misread"`
	// Diverged counts lost updates of registers: levels that allow them are left
	// with keys of which the order is not known.
	Diverged int64 `json:"diverged"`
	// Tolerated counts those of them that one of the two asked for: the order of their
	// writers is known to no level then.
	Tolerated int64 `json:"tolerated,omitempty"`
	// OtherRows counts pairs that replaced one version of a key at which a row was deleted:
	// where a row is not its key, nothing is known of them.
	OtherRows int64 `json:"other_rows,omitempty"`
	// SettledRows counts those of them whose lost update was final: no order of the two is
	// serial all the same, and nobody looks for that any more.
	SettledRows int64 `json:"settled_rows,omitempty"`

	Unverified int64 `json:"unverified"` // witnesses that the verifier did not accept: not reported, verdict unknown
	// LeftOut counts further violations of violated levels that the verifier did not
	// accept: not reported, and no verdict rests on them.
	LeftOut int64 `json:"left_out"`
	// LeftOutEdges counts dependencies that were left out to limit memory: see crowd.go.
	LeftOutEdges int64 `json:"left_out_edges"`
	// Merged counts findings that were not told because another one stands for them.
	Merged int64 `json:"merged,omitempty"`
	// Findings that had left and were taken back: for a record that came late, for an
	// outcome that did, and for the first sign that the values of a pattern repeat.
	WithdrawnRecord     int64 `json:"withdrawn_late_record"`
	WithdrawnOutcome    int64 `json:"withdrawn_late_outcome"`
	WithdrawnRepetition int64 `json:"withdrawn_repetition"`
}

// Effects are what a step did that others must see, in order. Reused.
type Effects struct {
	Findings []finding.Finding // new ones and new revisions
	Repeats  []Repeats         // key patterns that have just shown that their values repeat
	Fallen   []string          // ids of findings that were waiting and are none
	Stranger *Stranger         // the first transaction that sessions=closed excludes
	Panes    []Pane            // closed or amended
	Puts     []Put             // of retained state that goes out: see needs.go
}

// Reset empties e and keeps its memory.
func (e *Effects) Reset() {
	e.Findings, e.Repeats, e.Fallen, e.Panes, e.Puts, e.Stranger = e.Findings[:0], e.Repeats[:0], e.Fallen[:0], e.Panes[:0], e.Puts[:0], nil
}

type partition struct {
	Name string
	Max  int64 // greatest event time
	// Quiet is the tick that its silence is counted from: that of its latest
	// record, or of the first confirmation after a time without any.
	Quiet     int64
	Confirmed int64 // tick of the latest confirmation of its silence
	Seen      bool  // Max is set
	Standing  Standing
}

// Machine is the state of one source. Use [New].
type Machine struct {
	cfg   Config
	infer *infer.State
	graph *incremental.Graph
	views []isolation.Level // by view
	// follows are the labels of edges that some view is about.
	follows infer.Label
	// weakFirst are the views, weak bases first, plain ones before those with
	// session order.
	weakFirst []int
	realTime  bool              // some view is timed
	fitted    []isolation.Level // views whose order the counters agree with, since Close
	counting  counting          // of counters, while records come
	faults    faults            // that were told
	// closedSessions are those of sessions=closed, nil otherwise.
	closedSessions *closedSessions

	asked    []isolation.Base // by transaction: what it asked for, 0 if it did not say; empty while none did
	askedFor []int64          // how many did that did not abort, by what they asked for; empty while none did
	// asManyMeanings: some did by a name that products mean different things by.
	asManyMeanings bool
	weaker         weaker // of these, what is less than expected
	partitions     []partition
	watermark      int64
	held           int64 // the watermark does not pass it: see Hold
	retiredAt      int64 // watermark when transactions retired last
	tick           int64
	logical        int64 // time of sources without times: 1024 a transaction
	untimed        bool
	timed          bool
	closed         bool
	before         int64 // watermark before Close

	open     registry
	verdicts verdicts
	waiting  waitingRoom
	cause    string // of the withdrawals in work
	panes    panes
	horizon  horizon
	found    map[string][2]int64 // by anomaly: findings that the expected level forbids, and allows
	Counters Counters

	// Unverified is why the verifier did not accept the latest such witness.
	Unverified error

	contradicted []string              // keys, sorted: see contradicted.go
	orderings    []ordering            // by view, at the end of an input
	givenUp      []string              // keys that could not be ordered then
	unchained    int64                 // keys that can not be, since their versions are not chains
	unsureWriter bool                  // a read that was not decided may be of a transaction of unknown outcome
	frozen       [][]lastFrozen        // by view and key: see frozen.go
	spareNews    map[uint32]lastFrozen // memory of the next frozenRun; empty
	misfits      []int64               // by view: transactions that do not fit what had frozen
	aside        []setAside            // see aside.go
	// tried are the levels of which an order was found by trying, at the end of an input.
	tried  []isolation.Level
	forced forcing
	linear linearized

	unreadOut []int64 // by view: pairs of unread appends without an order, of lists that are out

	watched    []isolation.Level // since the latest turn; cfg.Levels when turning is false
	turning    bool              // the levels of cfg take effect with the next step
	turns      []levelTurn
	forcedFrom int // of turns: those before the present forcing began
	begun      []begun
	ended      []ended
	lost       Lost
	marks      []event.Mark // the latest: see marks.go
	apart      int64        // of Counters.Horizon: those that concern only levels that began later

	// Scratch.
	out     infer.Out
	pinned  []uint32
	edges   []incremental.Edge
	scratch event.Batch
	normal  []byte // pattern of a session
	// What the level is that was asked for last: mostly it is the next one's too.
	lastName    []byte
	lastProduct string
	lastBase    isolation.Base
	warm        [warmAhead]uint32
	room        int64           // for edges: crowdRoom, less in tests
	ambiguous   int64           // counted before the record in work
	parts       []int32         // of the batch in work: partition+1, 0 before it is met
	looked      bool            // whether a record of the batch in work has moved the watermark as far as it goes
	doomed      []*openFinding  // an edge of theirs no longer holds
	retries     []aside         // set aside by findings that were withdrawn
	missing     int64           // how many records were known to be so when absence was last doubted
	diverged    []infer.Anomaly // lost updates and intermediate reads of withdrawn findings, to be told again
	searcher    isolation.Searcher
	effects     *Effects
}

// New returns the machine of a source that nothing is known of. Zero fields of
// cfg get their defaults.
func New(cfg Config) *Machine {
	cfg = cfg.WithDefaults()
	m := &Machine{cfg: cfg, infer: infer.New(cfg.inferOptions()), room: crowdRoom, watermark: math.MinInt64, held: math.MaxInt64, retiredAt: math.MinInt64 / 2}
	m.watched = cfg.Levels
	vs := m.setViews(cfg.Levels)
	m.graph = incremental.NewFollowing(m.implied(), vs...)
	m.unreadOut = make([]int64, len(m.views))
	m.forced.init(m.views, cfg.Unbounded)
	m.forced.idle = m.mayIdle()
	m.infer.SetOptions(m.inferOptions())
	m.searcher.Budget, m.searcher.Tracked = cfg.SearchBudget, cfg.Rules.Tracked
	m.open.init()
	m.horizon.init()
	m.found = map[string][2]int64{}
	m.panes.length = int64(cfg.Pane)
	m.closedSessions = closeSessions(&cfg)
	m.faults = newFaults(nil)
	return m
}

// Watermark is the event time, ns, up to which all is believed to have arrived;
// math.MinInt64 before the first.
func (m *Machine) Watermark() int64 { return m.watermark }

// Untimed says whether the first record had no times: then each counts 1024 in the
// watermark, which is no time.
func (m *Machine) Untimed() bool { return m.untimed }

// Live is the number of transactions in the orders.
func (m *Machine) Live() int { return m.graph.NumLive() }

// Sizes says how much is in memory.
func (m *Machine) Sizes() infer.Sizes {
	z := m.infer.Sizes()
	z.Edges = m.graph.NumEdges()
	return z
}

// Orders is how many orders are kept for the watched levels.
func (m *Machine) Orders() int {
	return m.graph.Orders()
}

// SpillSizes say how much of the retained state is not in memory.
func (m *Machine) SpillSizes() infer.SpillSizes { return m.infer.SpillSizes() }

// StateBytes is about what AppendState writes.
func (m *Machine) StateBytes() int64 { return m.infer.Sizes().Bytes + m.graph.Bytes() }

// Step takes the transactions of b at the given indexes, in order, and the tick,
// the wall clock in ns that the shell put on the batch (0 without one). All of
// b.Partitions are taken as still there. Effects are appended to eff.
func (m *Machine) Step(b *event.Batch, txns []int32, tick int64, eff *Effects) {
	m.effects = eff
	m.reopen()
	m.tick = max(m.tick, tick)
	if m.turning {
		m.turnLevels()
	}
	m.parts = append(m.parts[:0], make([]int32, len(b.Partitions))...)
	m.looked = false
	m.reviseWeaker()
	mark := 0
	for at, i := range txns {
		if len(b.Marks) > 0 {
			mark = m.takeMarks(b, mark, int(i))
		}
		if at%warmAhead == 0 {
			m.graph.WarmEnds(m.infer.Plan(b, txns[at:min(at+warmAhead, len(txns))]))
		}
		t := b.Txns[i]
		t.Pos.Partition = m.meet(b, t.Pos.Partition)
		m.take(b, &t)
	}
	m.takeMarks(b, mark, math.MaxInt)
	for i := range b.Partitions {
		m.meet(b, uint32(i))
	}
	m.advance()
	m.spill(len(txns))
	if invariants.Enabled {
		if err := m.Check(); err != nil {
			panic(fmt.Sprintf("window: %v", err))
		}
	}
}

// warmAhead is how many transactions are looked up ahead of their turn.
const warmAhead = 32

// take takes in one transaction.
func (m *Machine) take(b *event.Batch, t *event.Txn) {
	start, end := m.time(t)
	if end < m.watermark {
		m.Counters.Late++
	}
	m.ambiguous = m.countedAmbiguous()
	m.out.Reset()
	n := m.infer.Add(b, t, start, end, &m.out)
	if m.out.Refused != infer.Repeated {
		switch t.Status {
		case event.Committed:
			m.Counters.Committed++
		case event.Aborted:
			m.Counters.Aborted++
		default:
			m.Counters.Unknown++
		}
		m.Counters.Operations += int64(t.NumOps)
	}
	if n != 0 {
		if t.Isolation.Len > 0 || len(m.asked) > 0 {
			m.ask(n, b, t, end)
		}
		m.panes.count(end, t)
	} else if m.out.Refused > infer.Repeated && len(m.out.Anomalies) == 0 {
		m.refused(b, t, start, end)
	}
	if m.closedSessions != nil {
		m.goOn(b, t, start)
	}
	m.apply()
	m.settleFaults()
	if m.cfg.Rules.Rows {
		m.rowsDeleted(b, t, n, start)
	}
	if m.infer.Counters.Countable > 0 && n != 0 && !m.cfg.Unbounded && t.Status != event.Aborted {
		m.noteCounters(b, t, n, end)
	}
	p := &m.partitions[t.Pos.Partition]
	if end <= p.Max && p.Seen && p.Quiet == m.tick && p.Standing != Left && m.looked && !m.untimed && m.graph.NumLive() <= m.cfg.LiveCap {
		return // the watermark stays where it is: most records end before the latest one
	}
	p.Quiet = m.tick
	if p.Standing == Left {
		p.Standing = Behind
	}
	if !p.Seen || end > p.Max {
		p.Max, p.Seen = end, true
	}
	m.looked = true
	m.advance()
}

// time gives the times of t that the window works with: its own, clamped to the
// tick, or its position where it has none. A source is timed or not from its
// first record on.
func (m *Machine) time(t *event.Txn) (start, end int64) {
	// Sums and differences of times stay within int64: years 1823 to 2116, ns.
	const most = 1 << 62
	start, end = max(-most, min(t.Start, most)), max(-most, min(t.End, most))
	hasTimes := t.Flags&event.HasTimes != 0
	m.untimed = m.untimed || !hasTimes && !m.timed
	switch {
	case m.untimed:
		m.infer.Untimed = max(1024, m.cfg.WindowTxns/10*1024)
		m.logical += 1024
		return m.logical, m.logical
	case !hasTimes:
		at := m.partitions[t.Pos.Partition].Max
		return at, at
	}
	m.timed = true
	if limit := m.tick + int64(m.cfg.Contract.ClockDrift); m.cfg.Clamp && m.tick > 0 && end > limit {
		m.Counters.Clamped++
		return min(start, limit), limit
	}
	return start, end
}

// Close ends the input: the watermark passes everything, and what waited for
// absent records is decided. Whole histories are complete with it. A later Step
// begins a new input, which continues the history.
func (m *Machine) Close(eff *Effects) {
	m.effects = eff
	if !m.closed {
		m.before = m.watermark
	}
	m.closed = true
	m.watermark = math.MaxInt64
	m.decide()
	if m.forced.on {
		m.force()
		m.renewInTime()
	}
	m.linearize()
	m.decideCounters()
	m.checkCounters()
	m.orderBlind()
	m.finalise()
	m.closeWeaker()
	m.orderUnread()
	m.tryOrders()
	m.releaseDue()
	m.settleFaults()
	m.recountAll()
	m.panes.closeAll(m)
}

// reopen begins a new input after Close: the watermark is where the records of the
// former one had brought it, and the partitions of that one are none of the new
// one's. What was decided stays so, until a record speaks against it.
func (m *Machine) reopen() {
	if !m.closed {
		return
	}
	m.closed = false
	m.watermark = m.before
	m.partitions = nil
	m.fitted = nil
	m.takeTrialsBack()
	m.Counters.Undecided = 0 // the next Close counts them all
	for i := range m.begun {
		m.begun[i].Undecided = 0
	}
}

// Check audits the orders and the inference state. O(everything).
func (m *Machine) Check() error {
	if err := m.graph.Check(); err != nil {
		return err
	}
	if err := m.forced.check(); err != nil {
		return err
	}
	return m.infer.Check()
}
