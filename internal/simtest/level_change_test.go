package simtest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// levelsAt is a change of the watched levels before the transaction at a place.
type levelsAt struct {
	at     int
	levels []isolation.Level
}

// randomLevels are some of all levels, with one among them that has an order by itself.
func randomLevels(rng *rand.Rand) []isolation.Level {
	all := isolation.Encoded()
	levels := []isolation.Level{{Base: isolation.Serializable}}
	if rng.IntN(2) == 0 {
		levels[0] = all[rng.IntN(len(all))]
		if _, ok := levels[0].View(); !ok {
			levels[0] = isolation.Level{Base: isolation.SnapshotIsolation}
		}
	}
	for range rng.IntN(4) {
		if l := all[rng.IntN(len(all))]; !slices.Contains(levels, l) {
			levels = append(levels, l)
		}
	}
	return levels
}

// runChanging is run with changes of the levels, and snapshots read by another machine at
// every third transaction. It says for each level at the end at which place it began.
func runChanging(cfg window.Config, b *event.Batch, changes []levelsAt) (m *window.Machine, began map[isolation.Level]int, err error) {
	m = window.New(cfg)
	began = map[isolation.Level]int{}
	for _, l := range m.Levels() {
		began[l] = 0
	}
	var eff window.Effects
	for i := range b.Txns {
		for _, t := range changes {
			if t.at != i {
				continue
			}
			next := cfg
			next.Levels = t.levels
			if m.Configure(next) != nil {
				continue // pasts with session order were not kept
			}
			before := began
			began = map[isolation.Level]int{}
			for _, l := range m.Levels() {
				at, ok := before[l]
				if !ok {
					at = i
				}
				began[l] = at
			}
		}
		m.Step(b, []int32{int32(i)}, 0, &eff)
		if err := m.Check(); err != nil {
			return m, began, fmt.Errorf("after transaction %d: %w", i, err)
		}
		if i%3 == 2 {
			other := window.New(m.Config())
			if err := other.ReadState(m.AppendState(nil)); err != nil {
				return m, began, err
			}
			m = other
		}
	}
	m.Close(&eff)
	if m.Counters.Unverified > 0 {
		return m, began, fmt.Errorf("%d witnesses not verified: %w", m.Counters.Unverified, m.Unverified())
	}
	return m, began, m.Check()
}

// amongLater returns what is left of h from the transaction at the given place on, when
// what the others wrote is left out: if it contradicts a level, h does, without them.
func amongLater(h oracle.History, at int) oracle.History {
	type version struct {
		key   string
		value int64
	}
	before, keys := map[version]bool{}, map[string]bool{}
	for i := range h[:at] {
		for _, o := range h[i].Ops {
			if o.Kind != event.Read {
				before[version{o.Key, o.Value}], keys[o.Key] = true, true
			}
		}
	}
	later := h[at:].Clone()
	for i := range later {
		later[i].Ops = slices.DeleteFunc(later[i].Ops, func(o workload.Op) bool {
			switch {
			case o.Kind != event.Read:
				return false
			case o.IsList || o.Absent:
				return keys[o.Key]
			}
			return before[version{o.Key, o.Value}] || !slices.ContainsFunc(h[at:], func(t workload.Txn) bool {
				return slices.ContainsFunc(t.Ops, func(w workload.Op) bool { return w.Kind != event.Read && w.Key == o.Key && w.Value == o.Value })
			})
		})
	}
	return later
}

// staying says which level of the beginning has another verdict than without the changes,
// where these take none away: of those that are watched together, one counts what
// another one's order could not place, and finds what its own could not. Forced orders and linearizability count what they
// have forgotten for all levels, and are left out.
func staying(t *testing.T, cfg window.Config, h oracle.History, perm []int, changes []levelsAt, m *window.Machine) string {
	all := slices.Clone(cfg.Levels)
	for _, x := range changes {
		all = append(all, x.levels...)
		if slices.ContainsFunc(cfg.Levels, func(l isolation.Level) bool { return !slices.Contains(x.levels, l) }) {
			return ""
		}
	}
	for _, l := range all {
		if v, ok := l.View(); !ok || v.Dep&incremental.Labels(infer.Saturated) != 0 {
			return ""
		}
	}
	same, _, err := run(cfg, batchOf(t, h, perm), false)
	if err != nil {
		return err.Error()
	}
	shared := slices.ContainsFunc(all, func(l isolation.Level) bool {
		return slices.ContainsFunc(all, func(w isolation.Level) bool { return l != w && l.Implies(w) })
	})
	for _, l := range cfg.Levels {
		got, why := m.Verdict(l)
		want, because := same.Verdict(l)
		if shared && (got == window.Unknown || want == window.Unknown) {
			continue
		}
		if got != want || !shared && behindHorizon.ReplaceAllString(why, "") != behindHorizon.ReplaceAllString(because, "") {
			return fmt.Sprintf("%s: %s (%s), without the changes %s (%s)", l, got, why, want, because)
		}
	}
	return ""
}

// cycleThrough is a cycle that the level, a serializable one, forbids and that leads through
// one of the transactions. Those among others may rest on an order that these show.
func cycleThrough(o oracle.Verdicts, txns oracle.History, l isolation.Level) *oracle.Anomaly {
	for i := range o.Anomalies {
		a := &o.Anomalies[i]
		allowed := l.Underlying() != isolation.Serializable || len(a.Cycle) == 0
		for _, e := range a.Cycle {
			allowed = allowed || e.Type == oracle.SO && l.Family == isolation.Plain
		}
		if !allowed && slices.ContainsFunc(txns, func(t workload.Txn) bool { return slices.Contains(a.Txns, t.ID) }) {
			return a
		}
	}
	return nil
}

// behindHorizon matches what a withdrawn finding of one order may leave in others: what it had
// set aside is offered anew, when it may be too late.
var behindHorizon = regexp.MustCompile(`(^|; )\d+ edges? behind the horizon`)

var notFromTheBeginning = regexp.MustCompile(`(^|; )not watched from the beginning on`)

// TestLevelsChange: levels come and go in the middle of a stream. Nothing is reported that
// is not there; a level that came later is never said to hold; what contradicts it among
// what came with it or later is found, or flagged by more than its late beginning.
func TestLevelsChange(t *testing.T) {
	t.Parallel()
	late := map[string]int{}
	n := histories(t, 3000)
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 77))
		h, perm := historyAndArrival(rng, i)
		cfg := window.Config{Named: true, Contract: window.Contract{Complete: true}, Levels: randomLevels(rng)}
		cfg.Window = window.For(time.Duration(rng.IntN(8)*10) * time.Millisecond)
		cfg.Lateness = window.For(time.Duration(rng.IntN(3)*5) * time.Millisecond)
		cfg.MaxTxn = time.Duration(1+rng.IntN(100)) * time.Millisecond
		var changes []levelsAt
		for range 1 + rng.IntN(3) {
			changes = append(changes, levelsAt{rng.IntN(len(h) + 1), randomLevels(rng)})
			if i%4 < 2 { // those of the beginning stay
				x := &changes[len(changes)-1]
				x.levels = append(slices.Clone(cfg.Levels), slices.DeleteFunc(x.levels, func(l isolation.Level) bool { return slices.Contains(cfg.Levels, l) })...)
			}
		}
		slices.SortStableFunc(changes, func(a, b levelsAt) int { return a.at - b.at })
		fails := func(h oracle.History, perm []int) string {
			m, began, err := runChanging(cfg, batchOf(t, h, perm), changes)
			if err != nil {
				return err.Error()
			}
			o := oracle.Check(h)
			if s := disagreement(m, o); s != "" {
				return s
			}
			if s := staying(t, cfg, h, perm, changes, m); s != "" {
				return s
			}
			arrived := make(oracle.History, len(h))
			for i, p := range perm {
				arrived[i] = h[p]
			}
			for _, l := range m.Levels() {
				at := began[l]
				if at == 0 {
					continue
				}
				verdict, why := m.Verdict(l)
				late[verdict]++
				later := oracle.Check(amongLater(arrived, at))
				if later.Torn && strings.HasSuffix(l.String(), oracle.AtomicView) {
					continue
				}
				if rest := notFromTheBeginning.ReplaceAllString(why, ""); verdict != window.Violated && rest == "" && later.Violated[oracle.Level(l.String())] {
					return fmt.Sprintf("%s, watched from %d on: %s (%s), among later transactions the oracle has %v", l, at, verdict, why, later.Anomalies)
				} else if a := cycleThrough(o, arrived[at:], l); verdict != window.Violated && rest == "" && a != nil {
					return fmt.Sprintf("%s, watched from %d on: %s (%s), through later transactions the oracle has %v", l, at, verdict, why, a)
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			for _, x := range changes {
				t.Logf("before %d: %v", x.at, isolation.LevelNames(x.levels))
			}
			t.Logf("at first: %v, window %v, lateness %v, longest %v", isolation.LevelNames(cfg.Levels), cfg.Window, cfg.Lateness, cfg.MaxTxn)
			report(t, i, h, perm, why, fails)
		}
	}
	t.Logf("levels that began late: %v", late)
	if enough(t, 3000) && (late[window.Violated] < n/20 || late[window.Unknown] < n/4) {
		t.Errorf("of levels that began late %v were looked at: too few", late)
	}
}
