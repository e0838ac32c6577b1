package whole

import (
	"errors"
	"maps"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/registers"
	"github.com/isowatch/isowatch/window"
)

// CheckFile checks one recorded history, from its beginning to its end. Each
// source in it is a history of its own.
//
// There are two ways. Package registers can tell at once that most valid histories of registers and
// lists satisfy all levels, and of others which weak levels they satisfy. It tells no more than that.
// All else goes through the machine of package window, which finds faults and explains them. The
// history is read again for that.
func (w *Whole) CheckFile(name string) (*Report, error) {
	in, err := OpenRecording(name, w.Stdin, w.Format)
	if err != nil {
		return nil, err
	}
	in.Tell = w.Tell
	defer in.Close()
	w.doing(name, Reading)
	var holding []isolation.Level
	var expected window.Expected
	var kept *reading
	if w.atOnce() {
		var h *registers.History
		if h, holding, kept, err = w.decideAtOnce(in, name); err != nil {
			return nil, err
		}
		defer kept.giveBack()
		if w.Watch.Named || w.Expecting {
			holding = withImplied(holding, w.Watch.Levels) // others are told only if the records have what they are about
		}
		if len(holding) == len(w.Watch.Levels) && !h.Diverged() { // lost updates are told in any case
			return w.reportAtOnce(name, in, h), nil
		}
		if h.Versions() > 0 {
			expected = window.Expected{Txns: int(h.Committed + h.Aborted + h.Unknown), Versions: h.Versions(), Reads: h.Reads(), Writes: h.Writes()}
		}
	}
	if w.atOnce() && kept == nil {
		w.doing(name, ReadingAgain)
	}
	return w.throughMachines(name, in, kept, holding, expected)
}

// withImplied are the levels that hold or are implied by one that does: a level is never
// unknown while one that implies it is ok.
func withImplied(holding, levels []isolation.Level) []isolation.Level {
	return slices.DeleteFunc(slices.Clone(levels), func(l isolation.Level) bool {
		return !slices.ContainsFunc(holding, func(h isolation.Level) bool { return h == l || h.Implies(l) })
	})
}

// throughMachines checks the recording at the levels that are asked for, without those that are
// known to hold. So much is expected. It reads nothing again that was kept.
func (w *Whole) throughMachines(name string, in *Recording, kept *reading, holding []isolation.Level, expected window.Expected) (*Report, error) {
	h := NewChecking(w)
	h.expected = expected
	h.left = slices.DeleteFunc(slices.Clone(w.Watch.Levels), func(l isolation.Level) bool { return slices.Contains(holding, l) })
	h.ReadAs, h.Name = in.Format, name
	h.Batch.Partitions = []string{w.partition(name)}
	h.Replay = w.command(name)
	if kept != nil {
		kept.replay(h)
	} else if err := in.Read(&h.Decoder, &h.Batch, h.StepUnder); err != nil {
		return nil, err
	}
	h.End(nil)
	if kept != nil {
		*kept.last, h.Batch = h.Batch, event.Batch{}
	}
	r := h.Report(name)
	r.Numbers = NumbersOf(in.Format)
	if w.Raws > 0 {
		r.Raws = w.came(in, h, r)
	}
	return r, nil
}

// atOnce says whether some level that is asked for may be decided at once: of a whole
// history whose capture is complete, without reservations.
func (w *Whole) atOnce() bool {
	contract := w.Watch.Contract
	contract.ClockDrift = 0
	return !w.Bounded && contract == config.WholeContract() && slices.ContainsFunc(w.Watch.Levels, registers.Decidable)
}

var errOdd = errors.New("not a history that is decided at once")

// decideAtOnce reads the recording, puts it back to its beginning, and returns the levels that
// the history is known to satisfy. It keeps what it has read of a small one.
func (w *Whole) decideAtOnce(in *Recording, name string) (*registers.History, []isolation.Level, *reading, error) {
	again, begin, err := in.keep()
	if err != nil {
		return nil, nil, nil, err
	}
	if begin {
		w.doing(name, ReadingAgain)
	}
	if !again {
		return &registers.History{}, nil, nil, nil // the machines read it once
	}
	if 0 < in.Size && in.Size <= smallHistory {
		return w.attemptSmall(in, name)
	}
	h, holding, err := w.attempt(in, name, true)
	if errors.Is(err, history.ErrWhole) {
		w.doing(name, ReadingAgain)
		h, holding, err = w.attempt(in, name, false)
	}
	return h, holding, nil, err
}

// shortHistory is how many bytes a file has whose memory is looked through as usual.
const shortHistory = 64 << 20

// attempt is one way of decideAtOnce to read the recording. See [Recording.read] for stream.
func (w *Whole) attempt(in *Recording, name string, stream bool) (*registers.History, []isolation.Level, error) {
	if c := w.Collector; c != nil {
		// The history grows steadily, in arrays without pointers. To look often for memory that
		// they have outgrown costs little. Not to look costs half of the memory. A short one is
		// over before that matters.
		percent := 25
		if in.Size > 0 && in.Size < shortHistory {
			percent = 100
		}
		defer c.SetPercent(c.SetPercent(percent))
	}
	h := &registers.History{Drift: int64(w.Watch.Contract.ClockDrift)}
	b := event.Batch{Partitions: []string{w.partition(name)}}
	a := beginAdding(h, &b)
	err := in.read(&event.Decoder{}, &b, stream, func(contract string) error {
		times := 0.0
		if in.done > in.Size/32 && in.Size > 0 {
			times = float64(in.Size) / float64(in.done)
		}
		if a.add(&b, times); a.odd || contract != "" {
			return errOdd
		}
		return nil
	})
	a.end()
	if again := in.rewind(); again != nil {
		return nil, nil, again // the file would be read on from its middle
	}
	if err != nil && !errors.Is(err, errOdd) {
		return nil, nil, err
	}
	h.Add(&b) // what came last
	if err != nil || h.Odd() != "" {
		return h, nil, nil
	}
	return h, w.decide(h, name), nil
}

// decide is which levels the history is known to satisfy.
func (w *Whole) decide(h *registers.History, name string) []isolation.Level {
	w.doing(name, "deciding")
	if h.Close(); w.Collector != nil {
		w.Collector.Collect() // or what comes would have memory of its own beside
	}
	return h.Holding(w.Watch.Levels)
}

// reportAtOnce is the report on a history that satisfies all that is asked.
func (w *Whole) reportAtOnce(name string, in *Recording, of *registers.History) *Report {
	r := &Report{
		File: name, Format: string(in.Format), Transactions: of.Committed + of.Aborted + of.Unknown,
		Verdicts: map[string]string{}, Reasons: map[string]string{}, Findings: []finding.Finding{}, Numbers: NumbersOf(in.Format),
		Counters: ReportCounters{Sources: 1, Committed: of.Committed, Aborted: of.Aborted, Unknown: of.Unknown, Operations: of.Operations},
	}
	if w.Expecting {
		r.Expect = w.Watch.Levels[0].String()
	}
	for _, l := range w.Watch.Levels {
		r.Verdicts[l.String()] = window.OK
		r.Decide(l.String(), window.Decided{Reads: int64(of.Reads()), Share: 1})
	}
	if !w.Brief {
		r.Panes = panesAtOnce(of, int64(w.Watch.Pane), r.Verdicts)
	}
	return r
}

// panesAtOnce are the panes in which transactions of a history ended that satisfies all that is asked; none where there
// are too many, or no times.
func panesAtOnce(of *registers.History, length int64, verdicts map[string]string) (list []window.Pane) {
	counts := map[int64]int64{}
	last := int64(0)
	for end := range of.Ends {
		if n := len(counts); n == 0 || end < last || end >= last+length {
			if n > maxPanes {
				return nil
			}
			last = end - (end%length+length)%length
		}
		counts[last]++
	}
	for _, start := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, window.Pane{Start: start, End: start + length, Closed: true, Transactions: counts[start], Verdicts: maps.Clone(verdicts)})
	}
	return list
}

// adding takes batches into a history while the next ones are decoded.
type adding struct {
	full  chan decoded
	empty chan added
	done  chan struct{}
	odd   bool // the history was when the batch before the latest had been added
}

type decoded struct {
	batch event.Batch
	times float64 // the whole history is so many times what has come, 0 if that is not known yet
}

type added struct {
	batch event.Batch
	odd   bool
}

// beginAdding adds to h in a goroutine of its own. Until end, h is that goroutine's.
func beginAdding(h *registers.History, b *event.Batch) *adding {
	a := &adding{full: make(chan decoded, 1), empty: make(chan added, 2), done: make(chan struct{})}
	for range 2 {
		a.empty <- added{batch: event.Batch{Partitions: slices.Clone(b.Partitions)}}
	}
	go func() {
		defer close(a.done)
		expected := false
		for d := range a.full {
			h.Add(&d.batch)
			if !expected && d.times > 0 && h.Odd() == "" {
				h.Expect(d.times)
				expected = true
			}
			partitions := d.batch.Partitions
			d.batch.Reset()
			d.batch.Partitions = append(d.batch.Partitions[:0], partitions...)
			a.empty <- added{d.batch, h.Odd() != ""}
		}
	}()
	return a
}

// add hands over what b holds, and empties b.
func (a *adding) add(b *event.Batch, times float64) {
	next := <-a.empty
	next.batch.Partitions = append(next.batch.Partitions[:0], b.Partitions...)
	a.full <- decoded{*b, times}
	*b, a.odd = next.batch, a.odd || next.odd
}

// end waits until all is added.
func (a *adding) end() {
	close(a.full)
	<-a.done
}
