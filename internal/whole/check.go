package whole

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/ingest/stdin"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/words"
	"github.com/isowatch/isowatch/window"
)

// Whole says how recorded histories are checked.
type Whole struct {
	Watch config.Watch // Watch.Levels get verdicts
	// Bounded keeps no more than Watch.Window of the history in memory.
	Bounded bool
	Stdin   io.Reader // what the name "-" reads
	Called  string    // what positions in it begin with; "": stdin
	// Format of the files; "": each is recognised.
	Format history.Format
	// FixedContract: Watch.Contract holds also where a format has another one.
	FixedContract bool
	// Expecting: the histories are expected to satisfy Watch.Expect, which is the first of
	// Watch.Levels. The levels that their transactions asked for are compared with it, and the
	// outcome is its verdict. Otherwise all levels are asked for alike.
	Expecting bool
	// HideKey, unless "", is the key of hashes that stand in findings in place of values.
	HideKey string
	// Brief makes texts only for the findings that [AppendReport] prints, and for the first one that
	// violates what was expected.
	Brief bool
	// Raws is for how many findings a report has the records as they came in: an example of each group first.
	Raws int
	// DeadLetter, unless nil, is told of every record that cannot be decoded.
	DeadLetter func(position, reason string)

	// Tell, unless nil, is told of what is read, in bytes. It is called from several goroutines.
	Tell func(bytes int)
	// Doing, unless nil, is told what is done now: Reading, ReadingAgain, or which level is
	// decided. With several files it gets the name too. It is called from several goroutines.
	Doing   func(phase string)
	doingOf func(name, phase string)
	advice  *advice // of several files; nil: each makes its own

	// Collector, unless nil, is told how to collect garbage while a history is read. It is for
	// a process that does nothing else at the time.
	Collector *Collector
}

// Phases of a check.
const (
	Reading      = "reading"
	ReadingAgain = "reading again" // from the beginning
)

// doing tells which phase of a file begins.
func (w *Whole) doing(name, phase string) {
	switch {
	case w.doingOf != nil:
		w.doingOf(name, phase)
	case w.Doing != nil:
		w.Doing(phase)
	}
}

// Collector is the garbage collector of a process that checks one history after another.
type Collector struct {
	SetPercent func(percent int) (before int) // as debug.SetGCPercent
	Collect    func()                         // as runtime.GC
}

// Report is the answer on one file.
type Report struct {
	File         string            `json:"file"`
	Format       string            `json:"format"`
	Transactions int64             `json:"transactions"`     // records of distinct transactions
	Expect       string            `json:"expect,omitempty"` // the level, if one is expected
	Verdicts     map[string]string `json:"verdicts"`         // by level: of several sources the worst
	Reasons      map[string]string `json:"reasons"`          // by level, where the verdict is unknown
	// Decided says what part of the reads is decided, by level, and Why says for what the rest is not, the
	// heaviest cause first.
	Decided  map[string]float64      `json:"decided,omitempty"`
	Why      map[string][]window.Why `json:"why,omitempty"`
	Counters ReportCounters          `json:"counters"` // of all sources together
	// Repeats are values that two transactions wrote, an example for each pattern of keys.
	Repeats  []window.WrittenTwice `json:"repeats,omitempty"`
	Notes    []string              `json:"notes,omitempty"` // what the records cannot show, with what to do
	Findings []finding.Finding     `json:"findings"`        // in the order in which they were found

	Panes []window.Pane `json:"-"` // closed ones, each in its latest revision

	Raws map[string][]finding.Raw `json:"-"` // records as they came in, by the finding's id

	Numbers words.Numbers `json:"-"` // in positions

	Contract string `json:"-"` // as [config.Contract.ForCheck] gives it

	// Error is why the file cannot be read. Then nothing else is set but File. "": it was read.
	Error string `json:"-"`

	reads int64 // that were taken in
}

// ReportCounters count what a history held, and what it could not show.
type ReportCounters struct {
	Sources      int64 `json:"sources"`
	Committed    int64 `json:"committed"`
	Aborted      int64 `json:"aborted"`
	Unknown      int64 `json:"unknown"`
	Operations   int64 `json:"operations"`
	DeadLetters  int64 `json:"dead_letters"`
	Duplicates   int64 `json:"duplicates"`
	Contradict   int64 `json:"contradictory"`
	Unattributed int64 `json:"unattributed"`
	Ambiguous    int64 `json:"ambiguous"`
	Uncheckable  int64 `json:"uncheckable"`
	Unchecked    int64 `json:"unchecked_operations"`
	Gaps         int64 `json:"gaps"`
	Horizon      int64 `json:"horizon"`
	Late         int64 `json:"late"`
	Unverified   int64 `json:"unverified"`
	LeftOut      int64 `json:"left_out,omitempty"`
	LeftOutEdges int64 `json:"left_out_edges,omitempty"`
}

// Add counts what x counts of one source.
func (c *ReportCounters) Add(x window.Counters) {
	c.Sources++
	c.Committed += x.Committed
	c.Aborted += x.Aborted
	c.Unknown += x.Unknown
	c.Operations += x.Operations
	c.Duplicates += x.Duplicates
	c.Contradict += x.Contradictory
	c.Unattributed += x.Unattributed
	c.Ambiguous += x.Ambiguous
	c.Uncheckable += x.Uncheckable
	c.Unchecked += x.Ignored
	c.Gaps += x.Gaps
	c.Horizon += x.Horizon
	c.Late += x.Late
	c.Unverified += x.Unverified
	c.LeftOut += x.LeftOut
	c.LeftOutEdges += x.LeftOutEdges
}

// Outcome is the verdict on what is expected, or else the gravest of the report.
func (r *Report) Outcome() string {
	if r.Expect != "" {
		return r.Verdicts[r.Expect]
	}
	outcome := window.OK
	for _, v := range r.Verdicts {
		outcome = Worse(outcome, v)
	}
	return outcome
}

// command is how a replay of the file begins, "" where it cannot be read again.
func (w *Whole) command(name string) string {
	if name == "-" || !w.Bounded {
		return ""
	}
	watch := w.Watch
	watch.Expect = Greatest(watch.Levels)
	return ReplayCommand(&watch, FileFlag(name))
}

// NewChecking begins a check without a record.
func NewChecking(w *Whole) *Checking {
	return &Checking{
		Whole: w, watch: w.Watch, left: w.Watch.Levels, ReadAs: history.JSONL, bySource: map[string]*historySource{}, at: map[string]int{},
	}
}

// StepBytes of records make a step: enough to keep its cost small.
const StepBytes = 1 << 20

// Checking is one file, or what a replay reads, on its way through the machines.
type Checking struct {
	*Whole
	watch     config.Watch          // with the contract of the format
	settled   bool                  // the format says start=existing: nothing ran before the first record
	left      []isolation.Level     // the part of Watch.Levels that the machines decide; the others hold
	ReadAs    history.Format        // of what is read
	Name      string                // of the file, for Doing
	Replay    string                // how the commands of horizon findings begin
	Admit     func(*event.Batch)    // unless nil, takes out of a batch what does not belong
	Standing  func(*window.Machine) // unless nil, says how far the partitions are read
	Decoder   event.Decoder
	assembler event.Assembler
	Batch     event.Batch
	names     []string // scratch
	dead      int64
	expected  window.Expected // of a source: it is the only one, if this is known

	bySource map[string]*historySource
	Sources  []*historySource // in the order in which they were met
	effects  window.Effects
	Findings []finding.Finding
	at       map[string]int // index into findings, by id
	panes    map[paneOf]window.Pane
}

// paneOf names a pane.
type paneOf struct {
	source string
	start  int64
}

// maxPanes are kept for a report. With more, it has no verdicts over time.
const maxPanes = 20_000

type historySource struct {
	name    string
	machine *window.Machine
	txns    []int32 // of the batch
}

// StepUnder makes a step under what a format says of the capture.
func (h *Checking) StepUnder(contract string) error {
	if contract != "" && !h.FixedContract && len(h.Sources) == 0 {
		if err := h.watch.Contract.Set(contract); err != nil {
			return err
		}
		h.settled = h.watch.Contract.Existing && !h.Watch.Contract.Existing
	}
	h.Step()
	return nil
}

// Step gives the batch to the machines and empties it.
func (h *Checking) Step() {
	b := &h.Batch
	if len(b.Parts) > 0 || h.assembler.Len() > 0 {
		h.assembler.Add(b)
		for _, s := range h.Sources {
			h.assembler.Expire(b, []byte(s.name), s.machine.Reached(), int64(h.Watch.MaxTransaction))
		}
	}
	h.run()
}

func (h *Checking) run() {
	b := &h.Batch
	if h.Admit != nil {
		h.Admit(b)
	}
	for i := range b.Bad {
		h.dead++
		if h.DeadLetter != nil {
			h.DeadLetter(b.Where(b.Bad[i].Pos), b.Bad[i].Reason)
		}
	}
	for i := range b.Txns {
		s := h.source(b.Bytes(b.Txns[i].Source))
		s.txns = append(s.txns, int32(i))
	}
	for i := range b.Marks {
		h.source([]byte(b.Marks[i].Source))
	}
	for _, s := range h.Sources {
		if h.Standing != nil {
			h.Standing(s.machine)
		}
		during, after := h.assembler.Oldest([]byte(s.name))
		s.machine.Hold(during)
		s.machine.Step(b, s.txns, 0, &h.effects)
		s.machine.Release(after, &h.effects)
		s.txns = s.txns[:0]
	}
	h.collect()
	h.names = append(h.names[:0], b.Partitions...)
	b.Reset()
	b.Partitions = append(b.Partitions, h.names...)
}

// End closes the watermark. Open transactions never end, and questions that waited for further
// records are decided. gaps are the losses of the input.
func (h *Checking) End(gaps []window.Gap) {
	h.Step()
	h.assembler.ExpireAll(&h.Batch, int64(h.Watch.MaxTransaction))
	h.run()
	if len(h.Sources) == 0 {
		h.source([]byte(event.DefaultSource))
	}
	h.doing(h.Name, "deciding")
	for _, s := range h.Sources {
		for _, g := range gaps {
			s.machine.Lose(g, 0, &h.effects)
		}
		s.machine.BadRecords(h.dead) // they may have been any source's
		s.machine.Close(&h.effects)
		h.collect()
	}
}

func (h *Checking) source(name []byte) *historySource {
	if s := h.bySource[string(name)]; s != nil {
		return s
	}
	watch := h.watch
	if watch.Levels = h.left; len(watch.Levels) == 0 {
		watch.Levels = []isolation.Level{{Base: isolation.ReadCommitted}} // the cheapest to watch
	}
	watch.Expect = watch.Levels[0]
	c := MachineConfig(&watch)
	if !h.Bounded {
		c.Levels = checked(watch.Levels, true)
	}
	c.Contract.Settled = h.settled
	c.Expect = h.Watch.Levels[0] // which findings are expected is said at the end
	c.Asking = !h.Expecting
	c.Source, c.Unbounded, c.Clamp, c.Replay, c.Hide = string(name), !h.Bounded, false, h.Replay, h.HideKey
	c.Untold, c.Twice = h.Brief, true
	if h.advice != nil {
		c.Advise = h.advice.on
	}
	c.Deciding = func(l isolation.Level) { h.doing(h.Name, "deciding "+l.String()) }
	s := &historySource{name: c.Source, machine: window.New(c)}
	s.machine.Expect(h.expected)
	h.bySource[s.name] = s
	h.Sources = append(h.Sources, s)
	return s
}

// collect keeps the latest revision of every finding. Those that waited and are none count as
// withdrawn.
func (h *Checking) collect() {
	for _, f := range h.effects.Findings {
		at, known := h.at[f.ID]
		if !known {
			at = len(h.Findings)
			h.at[f.ID] = at
			h.Findings = append(h.Findings, f)
		}
		h.Findings[at] = f
	}
	for _, id := range h.effects.Fallen {
		if at, known := h.at[id]; known {
			h.Findings[at].State = finding.Withdrawn
		}
	}
	for i := range h.effects.Panes {
		p := &h.effects.Panes[i]
		if h.panes == nil {
			h.panes = map[paneOf]window.Pane{}
		}
		if len(h.panes) <= maxPanes {
			h.panes[paneOf{p.Source, p.Start}] = *p
		}
	}
	h.effects.Reset()
}

// Machine is the source's machine, nil before its first record.
func (h *Checking) Machine(source string) *window.Machine {
	if s := h.bySource[source]; s != nil {
		return s.machine
	}
	return nil
}

// Report is the answer on what was read. End comes before.
func (h *Checking) Report(name string) *Report {
	r := &Report{
		File: name, Format: string(h.ReadAs), Verdicts: map[string]string{}, Reasons: map[string]string{},
		Findings: []finding.Finding{}, Contract: h.watch.Contract.ForCheck(),
	}
	asked := h.Watch.Levels
	if h.Expecting {
		r.Expect, asked = asked[0].String(), asked[:1]
	}
	for _, s := range h.Sources {
		r.Counters.Add(s.machine.Totals())
	}
	r.Counters.DeadLetters = h.dead
	r.Transactions = r.Counters.Committed + r.Counters.Aborted + r.Counters.Unknown
	for _, level := range h.Watch.Levels {
		if slices.Contains(h.left, level) {
			h.judge(r, level)
		} else {
			r.Verdicts[level.String()] = window.OK
			r.Decide(level.String(), window.Decided{Share: 1})
		}
	}
	for _, f := range h.Findings {
		if f.State != finding.Withdrawn {
			f.Expected = f.Kind != finding.KindRecord && !RefutesAny(f.Refutes, asked)
			if h.HideKey != "" {
				HideFinding(h.HideKey, &f)
			}
			r.Findings = append(r.Findings, f)
		}
	}
	if len(h.panes) <= maxPanes {
		for _, p := range h.panes {
			p.Verdicts = maps.Clone(p.Verdicts)
			for _, level := range h.Watch.Levels {
				if !slices.Contains(h.left, level) { // decided at once: it holds in all of them
					p.Verdicts[level.String()] = window.OK
				}
			}
			r.Panes = append(r.Panes, p)
		}
	}
	if h.Brief {
		h.tellShown(r)
	}
	h.tellRepeats(r)
	return r
}

// tellShown makes the texts that people are shown of the report.
func (h *Checking) tellShown(r *Report) {
	violated := false
	for i := range r.Findings {
		f := &r.Findings[i]
		verdict, _ := words.VerdictOf(f)
		first := !violated && verdict == words.Violated
		violated = violated || first
		if i >= maxShown && !first {
			continue
		}
		for _, s := range h.Sources {
			s.machine.Tell(f)
		}
	}
}

// judge gives the worst verdict on level over the sources, and why it is unknown.
func (h *Checking) judge(r *Report, level isolation.Level) {
	verdict := ""
	var reasons []string
	var decided window.Decided
	for _, s := range h.Sources {
		v, why := s.machine.Verdict(level)
		decided = decided.With(s.machine.Decided(level))
		verdict = Worse(verdict, v)
		if v != window.Unknown {
			continue
		}
		if len(h.Sources) > 1 {
			why = fmt.Sprintf("source %s: %s", s.name, why)
		}
		reasons = append(reasons, why)
	}
	if verdict == "" {
		return // the records cannot decide it, and it was not asked for by name
	}
	r.Verdicts[level.String()] = verdict
	r.Decide(level.String(), decided)
	if verdict == window.Unknown {
		r.Reasons[level.String()] = strings.Join(reasons, "; ")
	}
}

// Decide notes what part of the reads is decided at the level.
func (r *Report) Decide(level string, d window.Decided) {
	if r.Decided == nil {
		r.Decided, r.Why = map[string]float64{}, map[string][]window.Why{}
	}
	r.reads = max(r.reads, d.Reads)
	if r.Decided[level] = d.Share; len(d.Why) > 0 {
		r.Why[level] = d.Why
	}
}

// Share is the part of the reads that is decided at the level, in text; "" without reads.
func (r *Report) Share(level string) string {
	share, ok := r.Decided[level]
	if !ok || r.reads == 0 {
		return ""
	}
	return window.Decided{Share: share}.Percent()
}

// Refuting are the findings that refute the level.
func (r *Report) Refuting(l isolation.Level) (all []*finding.Finding) {
	for i := range r.Findings {
		if f := &r.Findings[i]; RefutesAny(f.Refutes, []isolation.Level{l}) {
			all = append(all, f)
		}
	}
	return all
}

// RefutesAny says whether a finding that refutes the named levels refutes one of
// those asked for.
func RefutesAny(names []string, asked []isolation.Level) bool {
	var weakest []isolation.Level
	for _, name := range names {
		if l, err := isolation.ParseLevel(name); err == nil {
			weakest = append(weakest, l)
		}
	}
	return slices.ContainsFunc(asked, func(l isolation.Level) bool { return l.Refuted(weakest) })
}

// NumbersOf are the numbers in positions in a recording.
func NumbersOf(f history.Format) words.Numbers {
	if f == history.DBCop || f == history.DBCopJSON || f == history.Cobra {
		return words.Bytes
	}
	return words.Lines
}

// PartitionOf is the name under which positions in a file are printed.
func PartitionOf(name string) string {
	if name == "-" {
		return stdin.Partition
	}
	return "file:" + name
}

// partition is PartitionOf, or what standard input is called.
func (w *Whole) partition(name string) string {
	if name == "-" && w.Called != "" {
		return w.Called
	}
	return PartitionOf(name)
}
