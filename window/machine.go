package window

import (
	"fmt"
	"math"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/invariants"
	"github.com/isowatch/isowatch/internal/isolation"
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
	Frozen     int64 `json:"frozen"`    // transactions frozen early, by the live cap or for want of memory
	// Squeezed counts those that froze for want of memory.
	Squeezed int64 `json:"squeezed,omitempty"`
	// Misread counts transactions that read a key otherwise than they had written or
	// read it before. The levels that allow it could be refuted by what was read.
	Misread int64 `json:"misread"`
	// Diverged counts lost updates of registers: levels that allow them are left with keys
	// without a known order.
	Diverged int64 `json:"diverged"`
	// NamedApart counts lost updates of counters in which a transaction had read one version, and says
	// that it replaced another one. No order is looked for in which that version was in place.
	NamedApart int64 `json:"named_apart,omitempty"`
	// Tolerated counts lost updates that one of the two asked for: no level knows the order of
	// their writers then.
	Tolerated int64 `json:"tolerated,omitempty"`
	// Unpromised counts the anomalies that gave no finding, since a transaction asked for a level that
	// allows them. Others of the kind are not looked for.
	Unpromised int64 `json:"unpromised,omitempty"`
	// OtherRows counts pairs that replaced one version of a key at which a row was deleted.
	// Where a row is not its key, their order is not known.
	OtherRows int64 `json:"other_rows,omitempty"`
	// SettledRows counts the pairs whose lost update was final. No order of the two is serial
	// all the same, and it is not looked for any more.
	SettledRows int64 `json:"settled_rows,omitempty"`
	// OldRows counts transactions that read a key otherwise than they had written it. A row of the
	// key was deleted, and may be what they read. Where a row is not its key, that is allowed.
	OldRows int64 `json:"old_rows,omitempty"`

	Unverified int64 `json:"unverified"` // witnesses that the verifier did not accept: not reported, verdict unknown
	// LeftOut counts further violations of violated levels that the verifier did not
	// accept: not reported, and no verdict rests on them.
	LeftOut int64 `json:"left_out"`
	// LeftOutEdges counts dependencies that were left out to limit memory: see edge_budget.go.
	LeftOutEdges int64 `json:"left_out_edges"`
	// Merged counts findings that were not told because another one stands for them.
	Merged int64 `json:"merged,omitempty"`
	// Findings that had left and were taken back. The causes are a late record, a late outcome,
	// the first sign that the values of a pattern repeat, and what remains.
	WithdrawnRecord     int64 `json:"withdrawn_late_record"`
	WithdrawnOutcome    int64 `json:"withdrawn_late_outcome"`
	WithdrawnRepetition int64 `json:"withdrawn_repetition"`
	WithdrawnOther      int64 `json:"withdrawn_other"`
}

type partition struct {
	Name string
	Max  int64 // greatest event time
	// Quiet is the tick that its silence is counted from. It is the tick of its latest record,
	// or of the first confirmation after a time without any.
	Quiet     int64
	Confirmed int64 // tick of the latest confirmation of its silence
	Seen      bool  // Max is set
	Standing  Standing
}

// Machine is the state of one source. Use [New].
type Machine struct {
	core
	clock        clock
	asking       asking
	levelChanges levelChanges
	saturated    saturated
	reports      reports
	finder       finder
	choices      choices
	linearizing  linearizing
	sums         sums
	timing       timing

	// tried are the levels for which trying found an order, at the end of an input.
	tried []isolation.Level
	// triedAsked are the levels at which an order was found only since some transactions asked for
	// less.
	triedAsked []isolation.Level
	missing    int64 // how many records were known to be so when retractAbsence last looked

	// Scratch.
	pinned    []uint32
	edges     []incremental.Edge // see convert
	offered   []incremental.Arc  // see arcs
	warm      [warmAhead]uint32
	squeezed  []incremental.Vertex
	room      int64 // for edges: edgeBudget, less in tests
	ambiguous int64 // counted before the record in work
}

// New returns the machine of a source that nothing is known of. Zero fields of
// cfg get their defaults.
func New(cfg Config) *Machine {
	cfg = cfg.WithDefaults()
	m := &Machine{room: edgeBudget}
	m.cfg, m.infer = cfg, infer.New(cfg.inferOptions())
	m.furnish()
	m.clock.watermark, m.clock.held, m.clock.retiredAt = math.MinInt64, math.MaxInt64, math.MinInt64/2
	m.levelChanges.watched = cfg.Levels
	vs := m.setViews(cfg.Levels)
	m.graph = incremental.NewFollowing(m.implied(), vs...)
	m.choices.unreadOut = make([]int64, len(m.views))
	m.saturated.init(m.views, cfg.Unbounded)
	m.saturated.idle = m.saturated.mayIdle()
	m.infer.SetOptions(m.saturated.inferOptions())
	m.limitMemory()
	m.finder.searcher.Untracked = m.asking.tracking()
	m.finder.searcher.Follows, m.finder.searcher.Limited = m.asking.followed, m.isLimited
	m.reports.open.init()
	m.reports.horizon.init()
	m.reports.found = map[string][3]int64{}
	m.reports.panes.length = int64(cfg.Pane)
	m.clock.closedSessions = closeSessions(&cfg)
	m.reports.faults = newFaults(nil)
	return m
}

// Watermark is the event time, ns, up to which all is believed to have arrived;
// math.MinInt64 before the first.
func (m *Machine) Watermark() int64 { return m.clock.watermark }

// Latest is the greatest event time of a record, ns; 0 before the first one.
func (m *Machine) Latest() (at int64) {
	for i := range m.clock.partitions {
		if p := &m.clock.partitions[i]; p.Seen {
			at = max(at, p.Max)
		}
	}
	return at
}

// Untimed says whether the first record had no times. Then each record counts 1024 in the
// watermark, which is not a time.
func (m *Machine) Untimed() bool { return m.untimed }

// Unverified is why the verifier did not accept the latest witness that Counters.Unverified
// counts; nil while there is none.
func (m *Machine) Unverified() error { return m.finder.unverified }

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
func (m *Machine) StateBytes() int64 {
	_, taken := m.Memory()
	return taken
}

// Step takes the transactions of b at the given indexes, in order, and the tick. The tick is the wall
// clock in ns that the shell put on the batch (0 without one). It assumes that all of b.Partitions
// still exist. Effects are appended to eff.
func (m *Machine) Step(b *event.Batch, txns []int32, tick int64, eff *Effects) {
	defer m.handOver(eff)
	m.reports.work = work{cause: finding.OtherRecord}
	m.reopen()
	m.clock.tick = max(m.clock.tick, tick)
	if m.levelChanges.due {
		m.changeLevels()
	}
	m.clock.parts = append(m.clock.parts[:0], make([]int32, len(b.Partitions))...)
	m.clock.looked = false
	m.reports.weaker.revise(&m.reports)
	m.reports.missed.revise(&m.reports)
	m.reports.contradictory.revise(&m.reports)
	mark := 0
	for at, i := range txns {
		if len(b.Marks) > 0 {
			mark = m.reports.takeMarks(b, mark, int(i))
		}
		if at%warmAhead == 0 {
			m.graph.WarmEnds(m.infer.Plan(b, txns[at:min(at+warmAhead, len(txns))]))
		}
		t := b.Txns[i]
		t.Pos.Partition = m.clock.meet(b, t.Pos.Partition)
		m.take(b, &t)
	}
	m.reports.takeMarks(b, mark, math.MaxInt)
	for i := range b.Partitions {
		m.clock.meet(b, uint32(i))
	}
	m.squeeze()
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
	start, end := m.clock.time(t)
	late, cause := end < m.clock.watermark, finding.OtherRecord
	if late {
		m.Counters.Late++
		cause = finding.LateRecord
	}
	m.reports.work = work{cause: cause}
	if late && t.Status != event.Unknown {
		m.finder.saturate() // what came before it
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
		if t.Isolation.Len > 0 || len(m.asking.asked) > 0 {
			m.finder.ask(n, b, t, end)
		}
		m.reports.panes.count(end, t)
	} else if m.out.Refused == infer.Contradicting || m.out.Refused > infer.Repeated && len(m.out.Anomalies) == 0 {
		m.reports.refused(b, t, start, end)
	}
	if m.clock.closedSessions != nil {
		m.clock.goOn(b, t, start)
	}
	if n != 0 && late {
		m.infer.CameLate(n, m.out.Again)
	}
	outcomeOnly := n != 0 && (late && m.infer.ToldLate(n) || m.out.Again && t.Status == event.Aborted)
	m.apply(work{cause, outcomeOnly})
	if late && outcomeOnly {
		m.finder.saturate() // what comes into pasts by it: see shownLate
	}
	m.reports.work = work{cause: cause}
	m.finder.loseTrack()
	m.reports.settleFaults()
	if m.cfg.Rules.Rows {
		m.finder.rowsDeleted(b, t, n, start)
	}
	m.finder.countersTold(b, t)
	if m.infer.Counters.Countable > 0 && n != 0 && !m.cfg.Unbounded && t.Status != event.Aborted {
		m.sums.noteCounters(b, t, n, end)
	}
	switch {
	case m.out.Again:
		m.timing.again(n)
	case m.out.Refused > infer.Repeated:
		m.timing.stop(offContradicted)
	}
	if n != 0 && t.Status != event.Aborted {
		m.timing.note(n, t, start, end)
	}
	p := &m.clock.partitions[t.Pos.Partition]
	if end <= p.Max && p.Seen && p.Quiet == m.clock.tick && p.Standing != Left && m.clock.looked && !m.untimed && m.graph.NumLive() <= m.cfg.LiveCap {
		return // the watermark stays where it is: most records end before the latest one
	}
	p.Quiet = m.clock.tick
	if p.Standing == Left {
		p.Standing = Behind
	}
	if !p.Seen || end > p.Max {
		p.Max, p.Seen = end, true
	}
	m.clock.looked = true
	m.advance()
}

// time gives the times of t that the window works with: its own, clamped to the
// tick, or its position where it has none. A source is timed or not from its
// first record on.
func (k *clock) time(t *event.Txn) (start, end int64) {
	// Sums and differences of times stay within int64: years 1823 to 2116, ns.
	const most = 1 << 62
	start, end = max(-most, min(t.Start, most)), max(-most, min(t.End, most))
	hasTimes := t.Flags&event.HasTimes != 0
	k.untimed = k.untimed || !hasTimes && !k.timed
	switch {
	case k.untimed:
		k.infer.LiveUntimed(max(1024, k.cfg.WindowTxns/10*1024))
		k.logical += 1024
		return k.logical, k.logical
	case !hasTimes:
		at := k.partitions[t.Pos.Partition].Max
		return at, at
	}
	k.timed = true
	if limit := k.tick + int64(k.cfg.Contract.ClockDrift); k.cfg.Clamp && k.tick > 0 && end > limit {
		k.Counters.Clamped++
		return min(start, limit), limit
	}
	return start, end
}

// Close ends the input: the watermark passes everything, and what waited for
// absent records is decided. Whole histories are complete with it. A later Step
// begins a new input, which continues the history.
func (m *Machine) Close(eff *Effects) {
	defer m.handOver(eff)
	if !m.closed {
		m.clock.before = m.clock.watermark
	}
	m.closed = true
	m.reports.work = work{cause: finding.OtherRecord}
	m.clock.watermark = math.MaxInt64
	m.decide()
	if m.saturated.on {
		m.finder.saturate()
		m.finder.renewInTime()
	}
	m.finder.closeLimits()
	m.linearizing.linearize()
	m.sums.decideCounters()
	m.timing.follow(math.MaxInt64)
	m.sums.checkCounters()
	m.orderBlind()
	m.finder.finalise()
	m.reports.weaker.close(&m.reports)
	m.reports.missed.close(&m.reports)
	m.reports.contradictory.close(&m.reports)
	m.choices.orderUnread()
	m.finder.limitUnread()
	m.tryOrders()
	m.releaseDue()
	m.reports.settleFaults()
	m.reports.recountAll()
	m.reports.panes.closeAll(m)
}

// Pausable says whether Pause has something to tell.
func (m *Machine) Pausable() bool {
	return m.reports.weaker.Untold+m.reports.missed.Untold+m.reports.contradictory.Untold > 0 || m.reports.faults.uncounted()
}

// Pause is for the end of the service, and not of its input: what is told once a minute is told now.
func (m *Machine) Pause(eff *Effects) {
	defer m.handOver(eff)
	m.reports.weaker.pause(&m.reports)
	m.reports.missed.pause(&m.reports)
	m.reports.contradictory.pause(&m.reports)
	m.reports.recountAll()
}

// reopen begins a new input after Close. The watermark is where the records of the earlier
// input had brought it. The new input does not have the earlier partitions. Decisions stay
// until a record speaks against them.
func (m *Machine) reopen() {
	if !m.closed {
		return
	}
	m.closed = false
	m.clock.watermark = m.clock.before
	m.clock.partitions = nil
	m.sums.fitted = nil
	m.takeTrialsBack()
	m.Counters.Undecided = 0 // the next Close counts all of them again
	for i := range m.levelChanges.begun {
		m.levelChanges.begun[i].Undecided = 0
	}
	for _, x := range m.finder.limits.of {
		x.Unread = 0
	}
}

// Check audits the orders and the inference state. O(everything).
func (m *Machine) Check() error {
	if err := m.graph.Check(); err != nil {
		return err
	}
	if err := m.saturated.check(); err != nil {
		return err
	}
	return m.infer.Check()
}
