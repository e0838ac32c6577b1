package window

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/trial"
)

// Most databases take effect in the order of time, also where only weaker levels are asked about. An
// order in time is soon found, and shows the strong level (trial.Follower).

// guesses are the levels at which an order in time was looked for.
type guesses struct {
	*core
	txns  []trial.Timed
	timed bool
	tried []isolation.Base
	found isolation.Level // the strongest that has one, zero if none
}

// guessed are the bases that are tried, the strongest first.
var guessed = [...]isolation.Base{isolation.Serializable, isolation.SnapshotIsolation, isolation.Prefix}

// untimedSpan is how many transactions one is taken to run beside, where there are no times.
const untimedSpan = 16

// atLeast is a level that implies l and has an order in time, zero if none was found.
func (g *guesses) atLeast(l isolation.Level) isolation.Level {
	if g.numbers() != trial.NoNumbers || g.txns == nil && !g.collect() {
		return isolation.Level{}
	}
	for i, b := range guessed {
		x := g.strongest(b, g.timed)
		if !x.Implies(l) {
			break
		}
		if i >= len(g.tried) {
			g.tried = append(g.tried, b)
			if g.found == (isolation.Level{}) && trial.InTime(trial.Base(b), g.txns, int64(g.cfg.Contract.ClockDrift)) {
				g.found = x
			}
		}
		if g.found != (isolation.Level{}) && g.found.Implies(l) {
			return g.found
		}
	}
	return isolation.Level{}
}

// strongest is the strongest level of the base that an order in time shows.
func (o *core) strongest(b isolation.Base, timed bool) isolation.Level {
	l := isolation.Level{Base: b, Family: isolation.Strong}
	switch {
	case o.infer.Counters.Overlapping > 0:
		l.Family = isolation.Plain
	case !timed || o.Counters.Timeless+o.Counters.Clamped > 0:
		l.Family = isolation.StrongSession
	}
	return l
}

// collect takes all transactions; false if their times do not tell an order.
func (g *guesses) collect() bool {
	all, _ := g.infer.MayCount(nil)
	g.timed = g.Counters.Timeless == 0
	for i, n := range all {
		x := g.infer.Info(n)
		t := trial.Timed{Start: x.Start, End: x.End, Unknown: x.Unknown, Record: func() event.Record { return g.record(n) }}
		switch {
		case !g.timed && x.HasTimes:
			return false
		case !g.timed:
			t.Start, t.End = int64(i), int64(i)+untimedSpan
		}
		g.txns = append(g.txns, t)
	}
	return len(all) > 0
}
