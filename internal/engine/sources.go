package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/isowatch/isowatch/window"
)

// maxSources bounds the sources that one engine keeps; records of further ones
// are dead letters.
const maxSources = 1024

// maxSourceName bounds their names, in bytes: they are in keys of the store.
const maxSourceName = 1 << 10

// source is a machine and what its steps gave.
type source struct {
	name    string
	machine *window.Machine
	txns    []int32    // of the step in work
	hold    sourceHold // in the step in work
	effects window.Effects
	told    bool // it was told of the losses before its first record
	suspension
	resuming bool // stopped by a life before, and taken up again by the next step
	hook     Hook
	// measured is its status at the tick measuredAt, nil: to be measured with the step in work. changed: it
	// has had records or effects since.
	measured   *SourceStatus
	measuredAt int64
	changed    bool
	// next takes effect with the next step, which puts it into its delta; nil: the
	// machine's own is stored.
	next *window.Config
}

// sources are the machines in the order in which they were met.
type sources struct {
	list   []*source
	byName map[string]*source
	lost   lost
	hook   Hook
}

// lost counts the input since the beginning that could not be taken in. Some of it may belong to a
// source that is met later.
type lost struct {
	Bad  int64        `json:"bad,omitempty"`  // records
	Gaps []window.Gap `json:"gaps,omitempty"` // the first maxGaps, and of each owner the first one
	// Owners are the only sources that a gap concerns, by partition. A gap of another partition may concern any source.
	Owners map[string]string `json:"owners,omitempty"`
	// BadOf counts of the bad records those that are of one source only.
	BadOf map[string]int64 `json:"bad_of,omitempty"`
	// Partitions are the partitions that are read. A source that is met later may still have records in
	// them.
	Partitions []string `json:"partitions,omitempty"`
}

// maxGaps bounds the gaps that are kept for sources not yet met: after one gap already, no level of
// theirs can be said to hold.
const maxGaps = 256

func (l *lost) add(st *step) {
	l.Bad += st.bad
	for i := range st.faults {
		if f := &st.faults[i]; f.kind == faultOwn && f.gap.From > 0 {
			if l.BadOf == nil {
				l.BadOf = map[string]int64{}
			}
			l.BadOf[f.source] += f.gap.From
		}
	}
	for _, g := range st.gaps {
		l.addGap(g, st.owner(g.Partition))
	}
	if st.end {
		l.Partitions = nil
		return
	}
	for i, p := range st.batch.Partitions {
		at := slices.Index(l.Partitions, p)
		left := i < len(st.stands) && st.stands[i] == window.Left
		switch {
		case left && at >= 0:
			l.Partitions = slices.Delete(l.Partitions, at, at+1)
		case !left && at < 0:
			l.Partitions = append(l.Partitions, p)
		}
	}
}

// addGap keeps a gap, unless there are many, and one that concerns the same sources.
func (l *lost) addGap(g window.Gap, owner string) {
	ofPartition, ofOwner := false, false
	for i := range l.Gaps {
		partition := l.Gaps[i].Partition
		ofPartition = ofPartition || partition == g.Partition
		ofOwner = ofOwner || l.Owners[partition] == owner
	}
	if len(l.Gaps) >= maxGaps && ofOwner {
		return
	}
	switch {
	case owner == "":
		delete(l.Owners, g.Partition) // an earlier gap of it counts for all then, too
	case !ofPartition:
		if l.Owners == nil {
			l.Owners = map[string]string{}
		}
		l.Owners[g.Partition] = owner
	case l.Owners[g.Partition] != owner:
		delete(l.Owners, g.Partition)
	}
	l.Gaps = append(l.Gaps, g)
}

func newSources(hook Hook) *sources { return &sources{byName: map[string]*source{}, hook: hook} }

func (s *sources) find(name []byte) *source { return s.byName[string(name)] }

func (s *sources) add(name string, cfg window.Config) *source {
	cfg.Source = name
	x := &source{name: name, machine: window.New(cfg), hook: s.hook}
	s.list = append(s.list, x)
	s.byName[name] = x
	return x
}

// take hands out the configurations that take effect with the step to come.
func (s *sources) take(dst []sourceConfig) ([]sourceConfig, error) {
	for _, x := range s.list {
		if x.next == nil {
			continue
		}
		text, err := json.Marshal(x.next)
		if err != nil {
			return dst, fmt.Errorf("configuration of source %s: %w", x.name, err)
		}
		dst = append(dst, sourceConfig{x.name, text})
		x.next = nil
	}
	return dst, nil
}

// apply lets configurations take effect, and makes the machines of sources that
// are new with them.
func (s *sources) apply(configs []sourceConfig) error {
	for _, c := range configs {
		var cfg window.Config
		if err := json.Unmarshal(c.config, &cfg); err != nil {
			return fmt.Errorf("configuration of source %s: %w", c.source, err)
		}
		if x := s.byName[c.source]; x == nil {
			s.add(c.source, cfg)
		} else if err := x.machine.Configure(cfg); err != nil {
			return err
		}
	}
	return nil
}

// split finds which transactions of the step are whose.
func (s *sources) split(st *step) {
	for _, x := range s.list {
		x.txns = x.txns[:0]
		x.effects.Reset()
		x.hold = sourceHold{x.name, math.MaxInt64, math.MaxInt64}
	}
	for _, h := range st.holds {
		if x := s.byName[h.source]; x != nil {
			x.hold = h
		}
	}
	for i := range st.batch.Txns {
		if x := s.find(st.batch.Bytes(st.batch.Txns[i].Source)); x != nil {
			x.txns = append(x.txns, int32(i))
		}
	}
}

// run does the step, which was split, on every source that it concerns. Several sources share nothing,
// so a goroutine for each thread of Go code takes one after another. Effects are left in the sources, to be taken in their order.
func (s *sources) run(st *step) error { return errors.Join(s.runEach(st)...) }

// runEach is run with the error of each source; a panic is a *fault.
func (s *sources) runEach(st *step) []error {
	for len(st.answers) < len(s.list) {
		st.answers = append(st.answers, window.Answers{})
	}
	defer s.lost.add(st)
	for _, x := range s.list {
		x.tell(&s.lost, st.tick)
	}
	errs := make([]error, len(s.list))
	if len(s.list) == 1 {
		errs[0] = s.list[0].guardedStep(st, &st.answers[0])
		return errs
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(s.list)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(s.list)); i = next.Add(1) - 1 {
				errs[i] = s.list[i].guardedStep(st, &st.answers[i])
			}
		})
	}
	wg.Wait()
	return errs
}

// tell a source that was just met what was lost before.
func (x *source) tell(l *lost, tick int64) {
	if x.told {
		return
	}
	x.told = true
	for _, p := range l.Partitions {
		x.machine.Stand(p, window.Behind)
	}
	for _, g := range l.Gaps {
		if owner := l.Owners[g.Partition]; owner == "" || owner == x.name {
			x.machine.Lose(g, tick, &x.effects)
		}
	}
	bad := l.Bad
	for source, n := range l.BadOf {
		if source != x.name {
			bad -= n
		}
	}
	x.machine.BadRecords(bad)
}

func (x *source) guardedStep(st *step, answers *window.Answers) error {
	err := guarded(func() error { return x.step(st, answers) })
	if err != nil {
		return fmt.Errorf("source %s: %w", x.name, err)
	}
	return nil
}

func (x *source) step(st *step, answers *window.Answers) error {
	if !x.suffer(st) {
		return nil
	}
	if err := x.begin(st, answers); err != nil {
		return err
	}
	x.take(st, x.txns)
	x.finish(st)
	return nil
}

// begin takes in what comes before the records of the step.
func (x *source) begin(st *step, answers *window.Answers) error {
	if err := x.machine.Bring(answers); err != nil {
		return err
	}
	for _, g := range st.gaps {
		if owner := st.owner(g.Partition); owner == "" || owner == x.name {
			x.machine.Lose(g, st.tick, &x.effects)
		}
	}
	if bad := st.badOf(x.name); bad > 0 {
		x.machine.BadRecords(bad)
	}
	// Input that is left to read holds the watermark in this step already, also in a partition that
	// was silent until now. A partition read to its end stops holding it from the next step on.
	for i, news := range st.stands {
		if news == window.Behind {
			x.machine.Stand(st.batch.Partitions[i], news)
		}
	}
	x.machine.Hold(x.hold.during)
	return nil
}

// take takes in the records with these indexes.
func (x *source) take(st *step, txns []int32) {
	x.machine.Step(&st.batch, txns, st.tick, &x.effects)
	if x.hook != nil {
		x.hook(x.name, &st.batch, txns)
	}
}

// finish takes in what comes behind the records.
func (x *source) finish(st *step) {
	x.machine.Release(x.hold.after, &x.effects)
	for i, news := range st.stands {
		if news != window.Behind {
			x.machine.Stand(st.batch.Partitions[i], news)
		}
	}
	switch {
	case st.end:
		x.machine.Close(&x.effects)
	case st.pause:
		x.machine.Pause(&x.effects)
	}
}

func (x *source) pausable() bool { return x.Stopped == "" && x.machine.Pausable() }
