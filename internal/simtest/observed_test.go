package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// defaults are the contract of `run`.
func defaults() window.Contract {
	return window.Contract{Existing: true, UnmonitoredWriters: true, DeletesUnseen: true, Observed: true, ClockDrift: 100 * time.Millisecond}
}

// snapshots are the levels from prefix up.
func snapshots() (levels []isolation.Level) {
	for _, l := range isolation.Encoded() {
		if l.Underlying().Implies(isolation.Prefix) {
			levels = append(levels, l)
		}
	}
	return levels
}

// leavers says which reads of h may be of what a transaction without a record left: of nothing,
// of a value of a pattern that repeats, or may seem to, and of one that no other recorded
// transaction left that may have committed; and which of what was there at the start: of what was
// written while they ran.
func leavers(h oracle.History, drift time.Duration) func(*workload.Op) oracle.Leaver {
	signs := oracle.SignsOf(h, int64(drift))
	start, came := map[*workload.Op]bool{}, cameBack(h)
	for i := range h {
		for j := range h[i].Ops {
			o := &h[i].Ops[j]
			v := oracle.Value{Key: o.Key, Value: o.Value}
			start[o] = signs.Beside[oracle.Saw{Reader: h[i].ID, Value: v}] || came[v]
		}
	}
	left := map[oracle.Value]int{} // by how many, but for those who had read it before
	for i := range h {
		mine := map[oracle.Value]bool{}
		for _, o := range slices.Backward(h[i].Ops) {
			v := oracle.Value{Key: o.Key, Value: o.Value}
			switch {
			case o.Kind == event.Write && h[i].Status == event.Unknown && !readFirst(&h[i], o.Key): // it may have been there before
			case o.Kind == event.Write && h[i].Status != event.Aborted:
				mine[v] = true
			case o.Kind == event.Read && !o.Absent:
				delete(mine, v)
			}
		}
		for v := range mine {
			left[v]++
		}
	}
	return func(o *workload.Op) oracle.Leaver {
		v := oracle.Value{Key: o.Key, Value: o.Value}
		switch {
		case !o.IsList && (o.Absent || left[v] == 0 || !signs.Names(v) || signs.Perhaps[oracle.PatternOf(o.Key)]):
			return oracle.Anybody
		case start[o]:
			return oracle.Start
		}
		return oracle.ARecord
	}
}

// cameBack are the values that were replaced by others, and these in turn, up to one whose
// writer left that value again, or put it there for a moment: it may have been there at the start.
func cameBack(h oracle.History) map[oracle.Value]bool {
	next := map[oracle.Value][]oracle.Value{}
	for i := range h {
		read, wrote := map[string]oracle.Value{}, map[string][]oracle.Value{}
		for _, o := range h[i].Ops {
			v := oracle.Value{Key: o.Key, Value: o.Value}
			switch _, known := read[o.Key]; {
			case o.Kind == event.Write:
				wrote[o.Key] = append(wrote[o.Key], v)
			case o.Kind == event.Read && !known && !o.Absent && wrote[o.Key] == nil:
				read[o.Key] = v
			}
		}
		for key, v := range read {
			if h[i].Status != event.Aborted {
				next[v] = append(next[v], wrote[key]...)
			}
		}
	}
	came := map[oracle.Value]bool{}
	for v := range next {
		seen, todo := map[oracle.Value]bool{}, slices.Clone(next[v])
		for len(todo) > 0 && !came[v] {
			u := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if came[v] = u == v; !seen[u] {
				seen[u] = true
				todo = append(todo, next[u]...)
			}
		}
	}
	return came
}

// readFirst says whether t read a value of the key before it wrote it.
func readFirst(t *workload.Txn, key string) bool {
	i := slices.IndexFunc(t.Ops, func(o workload.Op) bool { return o.Key == key && (o.Kind != event.Read || !o.Absent) })
	return i >= 0 && t.Ops[i].Kind == event.Read
}

// balances are histories over a few accounts, whose balances come again, marks, which are
// new each time, and lists.
func balances(rng *rand.Rand, i int) oracle.History {
	opt := oracle.Small()
	opt.Lists, opt.Keys, opt.Max, opt.Min = i%7 == 0, 3, 5, 3
	opt.Blind, opt.Repeat, opt.Corrupt = []float64{0, 0.3}[i%2], []float64{0, 0.05, 0.4}[i%3], 0.5
	if i%4 > 0 {
		opt.Unknown = 0
	}
	h := oracle.Random(rng, opt)
	names := []string{"balance:1", "balance:2", "mark/1"}
	for j := range h {
		for at := range h[j].Ops {
			o := &h[j].Ops[at]
			if o.Key[0] == 'l' {
				continue
			}
			o.Key = names[o.Key[1]-'0']
			if i%5 == 0 && o.Value%3 == 0 && o.Key[0] == 'b' { // a flag
				o.Value = 3
			}
		}
	}
	return h
}

// TestObservedValues: under the contract of `run`, with values that repeat, in any order of
// arrival: a level is said to be violated only where no order of snapshots and commits explains
// what was seen, if anybody may have left what names no writer. None is said to hold. It counts
// how many of those that are violated are found.
func TestObservedValues(t *testing.T) {
	t.Parallel()
	found, missed, repeating := 0, 0, 0
	for i := range seeds(t, 800) {
		rng := rand.New(rand.NewPCG(uint64(i), 121))
		h := balances(rng, i)
		cfg := exact()
		cfg.Levels = snapshots()
		if i%4 == 3 {
			cfg = windowed(rng)
			cfg.Levels, cfg.Window = snapshots(), window.For(time.Second)
		}
		cfg.Contract = defaults()
		cfg.Contract.ClockDrift = time.Duration(rng.IntN(3)) * 20 * time.Millisecond
		perm, restarts := arrival(rng, len(h)), rng.IntN(8) == 0
		fails := func(h oracle.History, perm []int) string {
			m, why := kindsRun(t, cfg, h, perm, restarts)
			if why != "" {
				return why
			}
			repeating += len(m.Repeating())
			left := leavers(h, cfg.Contract.ClockDrift)
			for l, got := range verdicts(m) {
				possible, err := oracle.PossibleBeside(h, l, left)
				switch {
				case err != nil:
					return err.Error()
				case got == window.Violated && possible:
					return fmt.Sprintf("%s: reported violated, and an order beside others exists", l)
				case got == window.OK:
					return fmt.Sprintf("%s: said ok of a partial capture", l)
				case got == window.Violated:
					found++
				case !possible:
					missed++
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			reportKinds(t, i, h, perm, why, fails)
		}
	}
	t.Logf("%d patterns repeat; of the cells that are violated whatever others did, %d are found and %d not", repeating, found, missed)
	// The oracle lets others write and delete at any time. It does not know two things that explain more: a first attempt
	// without a record (119 of these cells are open for that), and a value that its own writer replaced, and that was
	// there before until somebody deleted it (25).
	if enough(t, 800) && (repeating == 0 || 5*missed > 2*found) {
		t.Error("too few")
	}
}
