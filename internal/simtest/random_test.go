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
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// batchOf decodes h in the order given by perm.
func batchOf(t testing.TB, h oracle.History, perm []int) *event.Batch {
	b := &event.Batch{Partitions: []string{"sim"}}
	var d event.Decoder
	for i, p := range perm {
		d.Decode(b, event.Position{Offset: int64(i)}, workload.AppendJSON(nil, &h[p]))
	}
	for _, bad := range b.Bad {
		t.Fatalf("bad record: %s in %s", bad.Reason, b.Bytes(bad.Raw))
	}
	return b
}

// run puts the transactions of b through a machine one by one.
func run(cfg window.Config, b *event.Batch, check bool) (*window.Machine, []finding.Finding, error) {
	return runRestarting(nil, cfg, b, check, func(int) bool { return false })
}

// runRestarting is run by several machines, one after the other: a new one takes up the
// state before the i-th transaction where restart says so.
func runRestarting(t *testing.T, cfg window.Config, b *event.Batch, check bool, restart func(i int) bool) (*window.Machine, []finding.Finding, error) {
	m := window.New(cfg)
	var eff window.Effects
	for i := range b.Txns {
		if restart(i) {
			m = readBack(t, cfg, m)
		}
		m.Step(b, []int32{int32(i)}, 0, &eff)
		if check {
			if err := m.Check(); err != nil {
				return m, eff.Findings, fmt.Errorf("after transaction %d: %w", i, err)
			}
		}
	}
	m.Close(&eff)
	if m.Counters.Unverified > 0 {
		return m, eff.Findings, fmt.Errorf("%d witnesses not verified: %w", m.Counters.Unverified, m.Unverified())
	}
	return m, eff.Findings, m.Check()
}

// verdicts of the machine by level name, as if transactions without a session were
// sessions of one: the oracle takes them so.
func verdicts(m *window.Machine) map[oracle.Level]string {
	v := map[oracle.Level]string{}
	for _, l := range m.Levels() {
		verdict, why := m.VerdictAsAsked(l)
		if verdict != window.Violated && noSession.ReplaceAllString(why, "") == "" {
			verdict = window.OK
		}
		v[oracle.Level(l.String())] = verdict
	}
	return v
}

var noSession = regexp.MustCompile(`^[0-9]+ transactions? not ordered by session and seq(; )?`)

// unimplied names a level that is unknown while one that implies it is ok.
func unimplied(m *window.Machine) string {
	for _, l := range m.Levels() {
		verdict, why := m.VerdictAsAsked(l)
		if verdict != window.Unknown {
			continue
		}
		for _, v := range m.Levels() {
			if stronger, _ := m.VerdictAsAsked(v); stronger == window.OK && v.Implies(l) {
				return fmt.Sprintf("%s is unknown (%s), and %s is ok", l, why, v)
			}
		}
	}
	return ""
}

// committedOf is the level, or read committed in its form where the level selects readers.
func committedOf(l oracle.Level) oracle.Level {
	x := must(isolation.ParseLevel(string(l)))
	if x.Underlying().Selects() {
		x.Base = isolation.ReadCommitted
	}
	return oracle.Level(x.String())
}

// disagreement says how the machine's verdicts contradict the oracle's: a
// violation that is none, or one that was neither reported nor flagged.
func disagreement(m *window.Machine, o oracle.Verdicts) string {
	for l, got := range verdicts(m) {
		switch {
		case o.Torn && strings.HasSuffix(string(l), oracle.AtomicView): // not looked into
		case got == window.Violated && !o.Violated[l] && m.Totals().Repeated+m.Totals().Ambiguous > 0 && !o.Exact(l):
			// the oracle's graph leaves open whether there is an order, and what a list shows once more
			if possible, err := oracle.PossibleAt(o.Graph.History, l); err == nil && possible {
				return fmt.Sprintf("%s: reported violated, and is possible", l)
			}
		case got == window.Violated && !o.Violated[l] && (strings.HasSuffix(string(l), "read-committed") || selects(l)) && slices.Contains(o.Names(), "internal"):
			// what a list shows once more is in no edge of the oracle's graph
			if possible, err := oracle.PossibleAt(o.Graph.History, committedOf(l)); err == nil && possible {
				return fmt.Sprintf("%s: reported violated, and is possible", l)
			}
		case got == window.Violated && !o.Violated[l]:
			return fmt.Sprintf("%s: reported violated, the oracle has no contradiction", l)
		case got == window.OK && o.Violated[l]:
			return fmt.Sprintf("%s: said ok, the oracle has %v", l, o.Anomalies)
		}
	}
	return ""
}

// exact watches all levels without real time.
func exact() window.Config { return exactAt(0) }

// exactAt watches, by i, levels without real time, those with it, or all.
func exactAt(i int) window.Config {
	cfg := window.Config{Named: true, Unbounded: true, Contract: window.Contract{Complete: true}}
	for _, l := range isolation.Encoded() {
		if i%4 < 3 && l.RealTime() == (i%4 == 1) || i%16 == 3 {
			cfg.Levels = append(cfg.Levels, l)
		}
	}
	if cfg.Levels == nil {
		cfg.Levels = isolation.Watched()
	}
	return cfg
}

// TestWholeHistories: in any order of arrival, with nothing forgotten, the
// verdicts are the oracle's.
func TestWholeHistories(t *testing.T) {
	t.Parallel()
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 11))
		opt := oracle.Wide()
		if i%2 == 0 {
			opt = oracle.Small()
		}
		h := oracle.Random(rng, opt)
		perm := rng.Perm(len(h))
		fails := func(h oracle.History, perm []int) string {
			m, _, err := run(exactAt(i), batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			o := oracle.Check(h)
			if s := disagreement(m, o) + unimplied(m); s != "" {
				return s
			}
			if c := m.Totals(); c.Gaps+c.Ambiguous > 0 || c.Uncheckable > 0 && repeated(h) {
				return "" // flagged; gaps are in the numbers that shrinking leaves
			}
			for l, got := range verdicts(m) {
				if strings.HasSuffix(string(l), "read-uncommitted") && slices.Contains(o.Names(), "incompatible-order") {
					continue // a cycle over such a key can have hidden another one
				}
				if strings.HasSuffix(string(l), "prefix") && m.Totals().Diverged > 0 {
					continue // anti-dependencies between those that diverged are left out
				}
				if o.Torn && strings.HasSuffix(string(l), oracle.AtomicView) {
					continue
				}
				if level := must(isolation.ParseLevel(string(l))); o.Violated[l] && got != window.Violated && !(level.RealTime() && m.Counters.Timeless > 0) {
					_, why := m.Verdict(level)
					if strings.Contains(why, "wrong read") {
						continue // what a misread showed of other transactions is not looked into
					}
					if level.Underlying().Selects() && strings.Contains(why, "without a known version order") {
						continue // no order is looked for there
					}
					return fmt.Sprintf("%s: %s (%s), the oracle has %v", l, got, why, o.Anomalies)
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
}

// repeated says whether two transactions that may have committed wrote one value to a
// register, of which no chain of writers is made then.
func repeated(h oracle.History) bool {
	type version struct {
		key   string
		value int64
	}
	by := map[version]int{}
	for i := range h {
		for _, o := range h[i].Ops {
			v := version{o.Key, o.Value}
			if o.Kind != event.Write || h[i].Status == event.Aborted {
				continue
			}
			if j, ok := by[v]; ok && j != i {
				return true
			}
			by[v] = i
		}
	}
	return false
}

// report shrinks the failing history in the order of its arrival and stops.
func report(t *testing.T, seed int, h oracle.History, perm []int, why string, fails func(oracle.History, []int) string) {
	t.Helper()
	arrived := make(oracle.History, len(h))
	for i, p := range perm {
		arrived[i] = h[p]
	}
	small := oracle.Shrink(arrived, func(h oracle.History) bool { return fails(h, identity(len(h))) != "" })
	_, found, _ := run(exact(), batchOf(t, small, identity(len(small))), false)
	for _, f := range found {
		t.Logf("%s %s %d: %s", f.ID, f.State, f.Revision, f.Explanation)
	}
	t.Fatalf("history %d: %s\nshrunk, in the order of arrival:\n%s%s", seed, why, small.Text(), fails(small, identity(len(small))))
}

func identity(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// historyAndArrival is the i-th history of a test, every third one small, and an order of
// arrival, every second time that in which it was made.
func historyAndArrival(rng *rand.Rand, i int) (h oracle.History, perm []int) {
	opt := oracle.Wide()
	if i%3 == 0 {
		opt = oracle.Small()
	}
	h = oracle.Random(rng, opt)
	perm = rng.Perm(len(h))
	if i%2 == 0 {
		perm = identity(len(h))
	}
	return h, perm
}

// TestWindowed: with windows of 0 to 3 transactions and arrivals shuffled, so
// that transactions retire all the time, nothing is reported that is not there,
// and nothing is missed without a flag.
func TestWindowed(t *testing.T) {
	t.Parallel()
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 12))
		h, perm := historyAndArrival(rng, i)
		cfg := exactAt(i)
		cfg.Unbounded = false
		cfg.Window = window.For(time.Duration(rng.IntN(4)*10) * time.Millisecond)
		cfg.Lateness = window.For(time.Duration(rng.IntN(3)*5) * time.Millisecond)
		cfg.MaxTxn = time.Duration(1+rng.IntN(100)) * time.Millisecond
		fails := func(h oracle.History, perm []int) string {
			m, _, err := run(cfg, batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			return disagreement(m, oracle.Check(h)) + unimplied(m)
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
}
