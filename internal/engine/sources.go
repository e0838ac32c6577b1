package engine

import (
	"slices"
	"sync"

	"github.com/isowatch/isowatch/window"
)

// maxSources bounds the sources that one engine keeps; records of further ones
// are dead letters.
const maxSources = 256

// source is a machine and what its steps gave.
type source struct {
	name    string
	machine *window.Machine
	txns    []int32 // of the step in work
	effects window.Effects
	told    bool // of what was lost before it was met
}

// sources are the machines in the order in which they were met.
type sources struct {
	configure func(name string) window.Config
	list      []*source
	byName    map[string]*source
	lost      lost
}

// lost is what could not be taken in since the beginning. It may have been of a
// source that is met later.
type lost struct {
	Bad  int64        `json:"bad,omitempty"`  // records
	Gaps []window.Gap `json:"gaps,omitempty"` // the first maxGaps
	// Partitions are those that are read: what a source met later has in them may
	// still come.
	Partitions []string `json:"partitions,omitempty"`
}

// maxGaps bounds the gaps that are kept for sources not yet met: one is enough
// to say of none of their levels that it holds.
const maxGaps = 256

func (l *lost) add(st *step) {
	l.Bad += st.bad
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
	l.Gaps = append(l.Gaps, st.gaps[:min(len(st.gaps), maxGaps-len(l.Gaps))]...)
}

func newSources(configure func(string) window.Config) *sources {
	return &sources{configure: configure, byName: map[string]*source{}}
}

// find returns the source with this name, made if needed; nil beyond the limit.
func (s *sources) find(name []byte) *source {
	if x := s.byName[string(name)]; x != nil {
		return x
	}
	if len(s.list) >= maxSources {
		return nil
	}
	return s.add(string(name))
}

func (s *sources) add(name string) *source {
	cfg := s.configure(name)
	cfg.Source = name
	x := &source{name: name, machine: window.New(cfg)}
	s.list = append(s.list, x)
	s.byName[name] = x
	return x
}

// run does the step on every source that it concerns: each on a goroutine of its
// own when there are several, since they share nothing. Effects are left in the
// sources, to be taken in their order.
func (s *sources) run(st *step) {
	for _, x := range s.list {
		x.txns = x.txns[:0]
		x.effects.Reset()
	}
	for i := range st.batch.Txns {
		if x := s.find(st.batch.Bytes(st.batch.Txns[i].Source)); x != nil {
			x.txns = append(x.txns, int32(i))
		}
	}
	defer s.lost.add(st)
	for _, x := range s.list {
		x.tell(&s.lost, st.tick)
	}
	if len(s.list) == 1 {
		s.list[0].step(st)
		return
	}
	var wg sync.WaitGroup
	for _, x := range s.list {
		wg.Add(1)
		go func() {
			defer wg.Done()
			x.step(st)
		}()
	}
	wg.Wait()
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
		x.machine.Lose(g, tick, &x.effects)
	}
	x.machine.BadRecords(l.Bad)
}

func (x *source) step(st *step) {
	for _, g := range st.gaps {
		x.machine.Lose(g, st.tick, &x.effects)
	}
	x.machine.BadRecords(st.bad)
	// What is left to read holds the watermark in this step already, also of a
	// partition that was silent until now; what is not, from the next one on.
	for i, news := range st.stands {
		if news == window.Behind {
			x.machine.Stand(st.batch.Partitions[i], news)
		}
	}
	x.machine.Step(&st.batch, x.txns, st.tick, &x.effects)
	for i, news := range st.stands {
		if news != window.Behind {
			x.machine.Stand(st.batch.Partitions[i], news)
		}
	}
	if st.end {
		x.machine.Close(&x.effects)
	}
}
