package simtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// windowed is a random window of 0 to 30 ms, of which a random history spans
// about 100.
func windowed(rng *rand.Rand) window.Config {
	cfg := exact()
	cfg.Unbounded = false
	cfg.Window = window.For(time.Duration(rng.IntN(4)*10) * time.Millisecond)
	cfg.Lateness = window.For(time.Duration(rng.IntN(3)*5) * time.Millisecond)
	cfg.Pane = 20 * time.Millisecond
	return cfg
}

// arrival is the order of the ends, mostly, or any.
func arrival(rng *rand.Rand, n int) []int {
	if rng.IntN(3) == 0 {
		return rng.Perm(n)
	}
	perm := identity(n)
	for i := range perm {
		if j := i + rng.IntN(3); j < n {
			perm[i], perm[j] = perm[j], perm[i]
		}
	}
	return perm
}

// TestRestartAtEveryStep: a machine read back from what it wrote does what the
// one that wrote it goes on to do, to the byte, after any step.
func TestRestartAtEveryStep(t *testing.T) {
	t.Parallel()
	for i := range twinSeeds(t, 800) {
		rng := rand.New(rand.NewPCG(uint64(i), 21))
		h := oracle.Random(rng, oracle.Wide())
		cfg := windowed(rng)
		if rng.IntN(4) == 0 {
			cfg.LiveCap = 2 + rng.IntN(4)
		}
		if rng.IntN(4) == 0 {
			cfg.Memory = little(cfg, rng)
		}
		if rng.IntN(3) == 0 {
			cfg.Contract = window.Contract{Existing: true, UnmonitoredWriters: rng.IntN(2) == 0}
		}
		perm := arrival(rng, len(h))
		fails := func(h oracle.History, perm []int) string { return restarts(t, cfg, batchOf(t, h, perm), asWritten) }
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
}

// restarts says where a machine that is restarted before every step, from its state in that form,
// departs from one that is not.
func restarts(t *testing.T, cfg window.Config, b *event.Batch, form func(*testing.T, []byte) []byte) string {
	t.Helper()
	one, other := window.New(cfg), window.New(cfg)
	var want, got window.Effects
	for i := range b.Txns {
		fresh := window.New(cfg)
		if err := fresh.ReadState(form(t, other.AppendState(nil))); err != nil {
			return fmt.Sprintf("before transaction %d: %v", i, err)
		}
		other = fresh
		if a, b := len(one.AppendState(nil)), len(other.AppendState(nil)); a != b {
			return fmt.Sprintf("before transaction %d: a state of %d bytes, want %d", i, b, a)
		}
		if why := otherMemory(one, other); why != "" {
			return fmt.Sprintf("before transaction %d: %s", i, why)
		}
		one.Step(b, []int32{int32(i)}, 0, &want)
		other.Step(b, []int32{int32(i)}, 0, &got)
	}
	one.Close(&want)
	other.Close(&got)
	if w, g := effectsText(t, &want), effectsText(t, &got); w != g {
		return firstDifference(w, g)
	}
	if w, g := one.Totals(), other.Totals(); w != g {
		return fmt.Sprintf("counters %+v, want %+v", g, w)
	}
	return ""
}

// otherMemory says that a machine takes another amount than the one that it is a copy of. It would then freeze other
// transactions.
func otherMemory(one, other *window.Machine) string {
	a, b := [2]int64{}, [2]int64{}
	a[0], a[1] = one.Memory()
	if b[0], b[1] = other.Memory(); a != b {
		return fmt.Sprintf("%d bytes of memory are used, want %d", b, a)
	}
	return ""
}

// little is so little memory that a random history does not fit.
func little(cfg window.Config, rng *rand.Rand) int64 {
	empty, _ := window.New(cfg).Memory()
	return empty + 1000 + rng.Int64N(20_000)
}

// asWritten is a state in the form that it has.
func asWritten(_ *testing.T, state []byte) []byte { return state }

func readBack(t *testing.T, cfg window.Config, m *window.Machine) *window.Machine {
	t.Helper()
	fresh := window.New(cfg)
	if err := fresh.ReadState(m.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	return fresh
}

func effectsText(t *testing.T, e *window.Effects) string {
	t.Helper()
	var b strings.Builder
	for i := range e.Findings {
		text, err := json.Marshal(&e.Findings[i])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	for i := range e.Panes {
		p := e.Panes[i]
		fmt.Fprintf(&b, "%d..%d r%d %d %d %v %v\n", p.Start, p.End, p.Revision, p.Transactions, p.Horizon, p.Findings, p.Verdicts)
	}
	return b.String()
}

// TestLiveCap: transactions that freeze early make horizon findings, never a
// violation that is none, and nothing is missed without a flag.
func TestLiveCap(t *testing.T) {
	t.Parallel()
	freezeEarly(t, 22, func(cfg *window.Config, rng *rand.Rand) { cfg.LiveCap = 2 + rng.IntN(4) },
		func(c *window.Counters) int64 { return c.Frozen })
}

// TestMemory: the same of transactions that freeze for want of memory.
func TestMemory(t *testing.T) {
	t.Parallel()
	freezeEarly(t, 28, func(cfg *window.Config, rng *rand.Rand) { cfg.Memory = little(*cfg, rng) },
		func(c *window.Counters) int64 { return c.Squeezed })
}

// freezeEarly compares machines with the oracle whose transactions freeze early, for what bound sets.
func freezeEarly(t *testing.T, stream uint64, bound func(*window.Config, *rand.Rand), count func(*window.Counters) int64) {
	frozen := int64(0)
	for i := range seeds(t, 2000) {
		rng := rand.New(rand.NewPCG(uint64(i), stream))
		opt := oracle.Wide()
		if i%3 == 0 {
			opt = oracle.Small()
		}
		h := oracle.Random(rng, opt)
		cfg := windowed(rng)
		bound(&cfg, rng)
		perm := arrival(rng, len(h))
		fails := func(h oracle.History, perm []int) string {
			m, _, err := run(cfg, batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			frozen += count(&m.Counters)
			return disagreement(m, oracle.Check(h))
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
	if enough(t, 2000) && frozen == 0 {
		t.Error("no transaction was frozen")
	}
}

// TestLoss: of a history that loses records, everything that is said for certain
// is true of the whole of it.
func TestLoss(t *testing.T) {
	t.Parallel()
	said := 0
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 23))
		opt := oracle.Wide()
		opt.Repeat, opt.Blind = 0, 0.2
		h := oracle.Random(rng, opt)
		whole := oracle.Check(h)
		cfg := windowed(rng)
		cfg.Unbounded = rng.IntN(2) == 0
		cfg.Contract = window.Contract{Existing: rng.IntN(2) == 0, UnmonitoredWriters: rng.IntN(2) == 0}
		kept := lose(rng, h, i%2 == 0)
		m, found, err := run(cfg, batchOf(t, kept, arrival(rng, len(kept))), true)
		if err != nil {
			t.Fatalf("history %d: %v\n%s", i, err, kept.Text())
		}
		for l, v := range verdicts(m) {
			if v == window.OK {
				t.Fatalf("history %d: %s is ok for a partial capture", i, l)
			}
			if v == window.Violated {
				said++
			}
			if strings.HasSuffix(string(l), "read-uncommitted") && slices.Contains(whole.Names(), "incompatible-order") ||
				whole.Torn && strings.HasSuffix(string(l), oracle.AtomicView) {
				continue // of what contradicts itself in the whole, the rest may say more
			}
			if v == window.Violated && !whole.Violated[l] {
				t.Fatalf("history %d: %s violated, not so the whole history\n%swhole\n%s%s", i, l, kept.Text(), h.Text(), lines(found))
			}
		}
	}
	if enough(t, 3000) && said == 0 {
		t.Error("no history that lost records was violated")
	}
}

// lose drops records at random, or all that began before a point in time.
func lose(rng *rand.Rand, h oracle.History, midway bool) oracle.History {
	at := h[rng.IntN(len(h))].Start
	var kept oracle.History
	for _, x := range h {
		if midway && x.Start >= at || !midway && rng.IntN(4) > 0 {
			kept = append(kept, x)
		}
	}
	return kept
}

func lines(fs []finding.Finding) string {
	var b strings.Builder
	for i := range fs {
		b.WriteString(summary(&fs[i]) + "\n")
	}
	return b.String()
}

// TestOutcomesComeLater: unknown outcomes that become known, duplicates and
// records that contradict the first, at any time. What counts is the history of
// the outcomes that were accepted.
func TestOutcomesComeLater(t *testing.T) {
	t.Parallel()
	upgrades := 0
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 24))
		opt := oracle.Wide()
		opt.Unknown, opt.Aborted = 0, 0.15
		h := oracle.Random(rng, opt)
		arrived, n := outcomesLater(rng, h)
		upgrades += n
		cfg := exact()
		if i%2 == 0 {
			cfg = windowed(rng)
		}
		b := &event.Batch{Partitions: []string{"sim"}}
		var d event.Decoder
		for k := range arrived {
			d.Decode(b, event.Position{Offset: int64(k)}, workload.AppendJSON(nil, &arrived[k]))
		}
		m, found, err := run(cfg, b, true)
		if err == nil {
			if s := disagreement(m, oracle.Check(h)); s != "" {
				err = fmt.Errorf("%s", s)
			}
		}
		if err != nil {
			t.Fatalf("history %d, window %v: %v\narrived\n%s%scounters %+v", i, cfg.Window, err, arrived.Text(), lines(found), m.Totals())
		}
	}
	if enough(t, 3000) && upgrades == 0 {
		t.Error("no outcome became known")
	}
}

// outcomesLater is an order of arrival in which a third of the records come as
// unknown first, and some come twice.
func outcomesLater(rng *rand.Rand, h oracle.History) (arrived oracle.History, upgrades int) {
	for _, p := range arrival(rng, len(h)) {
		arrived = append(arrived, h[p])
	}
	for i := len(h) - 1; i >= 0; i-- {
		final := arrived[i]
		switch rng.IntN(4) {
		case 0:
			upgrades++
			arrived[i].Status = event.Unknown
			arrived = slices.Insert(arrived, i+1+rng.IntN(len(arrived)-i), final)
		case 1:
			arrived = slices.Insert(arrived, i+1+rng.IntN(len(arrived)-i), final)
		}
	}
	return arrived, upgrades
}

// TestPartitions: several partitions at their own speed, with ticks: the
// watermark never goes back, nothing false, nothing missed without a flag.
func TestPartitions(t *testing.T) {
	t.Parallel()
	for i := range seeds(t, 2000) {
		rng := rand.New(rand.NewPCG(uint64(i), 25))
		h := oracle.Random(rng, oracle.Wide())
		cfg := windowed(rng)
		cfg.Idle = 15 * time.Millisecond
		m := window.New(cfg)
		var eff window.Effects
		var d event.Decoder
		now, mark := int64(1), m.Watermark()
		for _, p := range arrival(rng, len(h)) {
			b := &event.Batch{Partitions: []string{"a", "b", "c"}[:1+rng.IntN(3)]}
			d.Decode(b, event.Position{Partition: uint32(rng.IntN(len(b.Partitions)))}, workload.AppendJSON(nil, &h[p]))
			now += int64(rng.IntN(10)) * int64(time.Millisecond)
			m.Step(b, []int32{0}, now, &eff)
			for _, p := range b.Partitions {
				m.Stand(p, window.Standing(rng.IntN(int(window.Left)+1)))
			}
			if err := m.Check(); err != nil {
				t.Fatalf("history %d: %v", i, err)
			}
			if m.Watermark() < mark {
				t.Fatalf("history %d: watermark went from %d to %d", i, mark, m.Watermark())
			}
			mark = m.Watermark()
		}
		m.Close(&eff)
		if s := disagreement(m, oracle.Check(h)); s != "" || m.Counters.Unverified > 0 {
			t.Fatalf("history %d: %s %v\n%s%s", i, s, m.Unverified(), h.Text(), lines(eff.Findings))
		}
	}
}

// TestEpochsDoNotMeet: histories of two epochs in one stream are judged as each by
// itself: keys, values and sessions of one are none of the other's.
func TestEpochsDoNotMeet(t *testing.T) {
	t.Parallel()
	for i := range seeds(t, 1500) {
		rng := rand.New(rand.NewPCG(uint64(i), 26))
		hs := [2]oracle.History{oracle.Random(rng, oracle.Wide()), oracle.Random(rng, oracle.Wide())}
		cfg := exact()
		if i%2 == 0 {
			cfg = windowed(rng)
		}
		b := &event.Batch{Partitions: []string{"sim"}}
		var d event.Decoder
		at := [2]int{}
		for at[0] < len(hs[0]) || at[1] < len(hs[1]) {
			e := rng.IntN(2)
			if at[e] == len(hs[e]) {
				e = 1 - e
			}
			text := workload.AppendJSON(nil, &hs[e][at[e]])
			if e == 1 {
				text = append([]byte(`{"epoch":"second","txn":"S`), text[len(`{"txn":"`):]...)
			}
			d.Decode(b, event.Position{}, text)
			at[e]++
		}
		m, found, err := run(cfg, b, true)
		if err != nil {
			t.Fatalf("history %d: %v", i, err)
		}
		if s := disagreement(m, both(hs)); s != "" {
			t.Fatalf("history %d, window %v: %s\nfirst epoch\n%ssecond epoch\n%s%scounters %+v", i, cfg.Window, s,
				hs[0].Text(), hs[1].Text(), lines(found), m.Totals())
		}
	}
}

// both returns what the oracle says of two epochs, of which each is judged by itself.
func both(hs [2]oracle.History) oracle.Verdicts {
	o := oracle.Check(hs[0]).Beside(oracle.Check(hs[1]))
	g := *o.Graph
	g.History = slices.Clone(g.History)
	for i := range hs[1] { // nothing of one epoch meets what is of the other
		t := hs[1][i].Clone()
		t.ID += " second"
		if t.Session != "" {
			t.Session += " second"
		}
		for j := range t.Ops {
			t.Ops[j].Key += " second"
		}
		g.History = append(g.History, t)
	}
	o.Graph = &g
	return o
}

// TestContinued: an input ends in the middle of a history, and another one
// continues it, after a restart or not: what was decided at the end of the first
// is taken back where the second speaks against it.
func TestContinued(t *testing.T) {
	t.Parallel()
	for i := range seeds(t, 2000) {
		rng := rand.New(rand.NewPCG(uint64(i), 27))
		h := oracle.Random(rng, oracle.Wide())
		cfg := exact()
		if i%2 == 0 {
			cfg = windowed(rng)
		}
		b := batchOf(t, h, arrival(rng, len(h)))
		m := window.New(cfg)
		var eff window.Effects
		ends := []int{rng.IntN(len(h) + 1), rng.IntN(len(h) + 1)}
		for n := range b.Txns {
			for range 2 {
				if slices.Contains(ends, n) {
					m.Close(&eff)
				}
			}
			if slices.Contains(ends, n) && rng.IntN(2) == 0 {
				state := m.AppendState(nil)
				m = window.New(cfg)
				if err := m.ReadState(state); err != nil {
					t.Fatal(err)
				}
			}
			m.Step(b, []int32{int32(n)}, 0, &eff)
			if err := m.Check(); err != nil {
				t.Fatalf("history %d: %v", i, err)
			}
		}
		m.Close(&eff)
		s := disagreement(m, oracle.Check(h))
		if s == "" && m.Counters.Unverified > 0 {
			s = m.Unverified().Error()
		}
		if s != "" {
			t.Fatalf("history %d ends at %v: %s\n%s%s", i, ends, s, h.Text(), lines(eff.Findings))
		}
	}
}
