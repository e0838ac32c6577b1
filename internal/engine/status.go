package engine

import (
	"math"
	"time"

	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// Status is the engine's state after its last commit.
type Status struct {
	Tick    int64           `json:"tick"`    // ns since the Unix epoch
	Steps   uint64          `json:"steps"`   // committed since the store was made
	Records int64           `json:"records"` // taken in by this process
	Bytes   int64           `json:"bytes"`
	Open    int             `json:"open"`    // transactions in assembly
	Evicted uint64          `json:"evicted"` // given up there before their time, since the store was made
	Reads   int64           `json:"reads"`   // of the store, for retained state, by this process
	Sources []*SourceStatus `json:"sources"`
	// DeadLetters are the records that could not be taken in since the store was made. They may belong
	// to any source. So each source counts all of them, even those from before its first record.
	DeadLetters int64          `json:"dead_letters"`
	Cursors     []CursorStatus `json:"cursors"`
	Outbox      OutboxStatus   `json:"outbox"`
	Removed     Removed        `json:"removed"` // by retention
	Kept        Kept           `json:"kept"`
	Memory      Memory         `json:"memory"`
	// Waiting lists the partitions that are not heard of, the longest silence first. The watermark
	// waits for them.
	Waiting []Waiting `json:"waiting"`
}

// Memory has the sizes of the engine's parts beside the states of sources, bytes.
type Memory struct {
	Steps int64 `json:"steps"` // decoded and not committed
	Open  int64 `json:"open"`  // open transactions
	Tape  int64 `json:"tape"`  // messages as they came in
}

// Kept is how much there is of what retention bounds.
type Kept struct {
	FindingBytes    int64 `json:"finding_bytes"`
	DeadLetterBytes int64 `json:"dead_letter_bytes"`
}

// OutboxStatus counts the findings that wait for sinks.
type OutboxStatus struct {
	Findings uint64 `json:"findings"` // kept: some sink was not given them yet
	Bytes    int64  `json:"bytes"`
	Dropped  uint64 `json:"dropped"` // removed before every sink was given them, since the store was made
}

// count fills in what the head knows.
func (s *Status) count(h *head) {
	s.Steps = h.Step
	s.Removed, s.Kept = h.Removed, Kept{h.FindingBytes, h.DeadBytes}
	s.Outbox = OutboxStatus{h.Outbox - h.Trimmed, h.OutboxBytes, h.Dropped}
}

// Waiting is a partition that the watermark waits for.
type Waiting struct {
	Partition string `json:"partition"`
	Since     int64  `json:"since"`             // tick at which it was read last, ns since the Unix epoch; 0: never
	Problem   string `json:"problem,omitempty"` // what its reader says
}

// SourceStatus is the state of one source.
type SourceStatus struct {
	Source    string             `json:"source"`
	Live      int                `json:"live"`
	Memory    int64              `json:"memory"`               // of the state, bytes
	MemoryCap int64              `json:"memory_cap,omitempty"` // what it may take
	LiveCap   int                `json:"live_cap"`
	Watermark int64              `json:"watermark"`        // ns since the Unix epoch; 0 before the first, and where records have no times
	Latest    int64              `json:"latest,omitempty"` // the greatest event time of a record, also before the first watermark; 0 where records have no times
	Counters  window.Counters    `json:"counters"`
	Waiting   int                `json:"waiting"`  // findings that are not due
	Verdicts  map[string]Verdict `json:"verdicts"` // by level, where the records can decide it
	// Ended are the levels that are no longer watched, with what they had come to.
	Ended map[string]window.Ended `json:"ended,omitempty"`
	// Repeating lists the key patterns with repeating values: a plain value does not tell which write
	// it came from.
	Repeating []window.Repeats `json:"repeating,omitempty"`
	// TotalsOff says why totals of counters are not compared.
	TotalsOff *window.TotalsOff `json:"totals_off,omitempty"`
	// Reads counts the reads that were taken in, and how many of them are decided at the expected
	// level.
	Reads    window.Decided   `json:"reads"`
	Findings map[string]Found `json:"findings"` // by anomaly, since the beginning
	// Weaker counts the transactions that asked for less than was expected.
	Weaker  []window.WeakerTotal `json:"weaker,omitempty"`
	Sizes   infer.Sizes          `json:"sizes"`
	Orders  int                  `json:"orders"`  // kept for the watched levels
	Spilled infer.SpillSizes     `json:"spilled"` // retained state that is not in memory
	// Stopped is why the source is not checked any more: a fault of the program.
	Stopped string `json:"stopped,omitempty"`
	// Quarantined are the records that were taken out, for faults of the program.
	Quarantined int64 `json:"quarantined,omitempty"`
	// Lost describes the input that a replay cannot read any more.
	Lost window.Lost `json:"-"`
}

// Verdict of a level, and why it is unknown.
type Verdict struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	// ByContract says of an unknown one that only the contract leaves it open: see [window.Machine.OpenByContract].
	ByContract bool `json:"by_contract,omitempty"`
	// Since is the tick from which on the level is watched, ns since the Unix epoch; 0:
	// from the beginning on.
	Since int64 `json:"since,omitempty"`
	window.Decided
}

// Found counts findings by whether the expected level allows them. Uncertain ones are counted apart.
type Found struct {
	Violating int64 `json:"violating"`
	Expected  int64 `json:"expected"`
	Uncertain int64 `json:"uncertain,omitempty"`
}

// CursorStatus is where a partition is.
type CursorStatus struct {
	Partition string `json:"partition"`
	Next      int64  `json:"next"`
	Identity  string `json:"-"`
}

// Status after the last commit. Not to be changed.
func (e *Engine) Status() *Status { return e.status.Load() }

// measure is called between steps; what the commit counts is left open.
func (e *Engine) measure(tick int64, waiting []Waiting) *Status {
	s := &Status{
		Tick:        tick,
		Waiting:     waiting,
		Records:     e.records.Load(),
		Bytes:       e.bytes.Load(),
		Open:        e.assembler.Len(),
		Memory:      Memory{e.inFlight.Load(), int64(e.assembler.Bytes()), e.tape.Memory()},
		Evicted:     e.assembler.Evicted(),
		Reads:       e.reads.Load(),
		DeadLetters: e.sources.lost.Bad,
	}
	n := len(e.sources.list)
	for _, x := range e.sources.list {
		if n <= fewSources || x.stale(tick, n) {
			x.measured, x.measuredAt, x.changed = x.measure(), tick, false
		}
		s.Sources = append(s.Sources, x.measured)
	}
	for p, c := range e.cursors {
		s.Cursors = append(s.Cursors, CursorStatus{p, c.Next, c.Identity})
	}
	return s
}

// Up to fewSources are measured after each step. Where there are more, sources with news are measured
// every measureNews, and the others every measureRest: at low rates most steps concern few sources. The more sources there
// are, the longer news waits.
const (
	fewSources      = 16
	measureNews     = 100 * time.Millisecond
	measureNewsMost = 250 * time.Millisecond
	measureNewsEach = time.Millisecond // for each source
	measureRest     = time.Second
)

// stale says whether the status has to be measured again at the tick, where there are so many sources. Without a clock only
// news makes it so.
func (x *source) stale(tick int64, sources int) bool {
	age := time.Duration(tick - x.measuredAt)
	news := min(max(measureNews, time.Duration(sources)*measureNewsEach), measureNewsMost)
	return x.measured == nil || age < 0 || age >= measureRest || x.changed && (tick == 0 || age >= news)
}

func (x *source) measure() *SourceStatus {
	m := x.machine
	src := &SourceStatus{
		Source:      x.name,
		Live:        m.Live(),
		LiveCap:     m.Config().LiveCap,
		Watermark:   m.Watermark(),
		Counters:    m.Totals(),
		Waiting:     m.Waiting(),
		Repeating:   m.Repeating(),
		TotalsOff:   m.TotalsOff(),
		Verdicts:    map[string]Verdict{},
		Findings:    map[string]Found{},
		Sizes:       m.Sizes(),
		Orders:      m.Orders(),
		Spilled:     m.SpillSizes(),
		Lost:        m.Lost(),
		Weaker:      m.Weaker(),
		Reads:       m.Decided(m.Config().Expect),
		Stopped:     x.Stopped,
		Quarantined: x.Quarantined,
	}
	_, src.Memory = m.Memory()
	src.MemoryCap = m.Config().Memory
	timed := src.Watermark != math.MaxInt64 && !m.Untimed()
	if timed {
		src.Latest = m.Latest()
	}
	if !timed || src.Watermark == math.MinInt64 {
		src.Watermark = 0
	}
	for _, l := range m.Levels() {
		if v, why := m.Verdict(l); v != "" {
			if x.Stopped != "" && v != window.Violated {
				v, why = window.Unknown, x.Stopped
			}
			src.Verdicts[l.String()] = Verdict{v, why, x.Stopped == "" && m.OpenByContract(l), m.Since(l), m.Decided(l)}
		}
	}
	m.EachEnded(func(l isolation.Level, e window.Ended) {
		if src.Ended == nil {
			src.Ended = map[string]window.Ended{}
		}
		src.Ended[l.String()] = e
	})
	m.EachFound(func(anomaly string, violating, expected, uncertain int64) {
		src.Findings[anomaly] = Found{violating, expected, uncertain}
	})
	return src
}
