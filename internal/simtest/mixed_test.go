package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// arrived is a record on its way to the machine.
type arrived struct {
	txn       workload.Txn
	epoch     int // 0 or 1
	partition int
	tick      int64
	restart   bool              // before it is taken in
	levels    []isolation.Level // that are watched from it on; nil: those of before
}

// TestMixed: everything that can go wrong with records at once. Two epochs, several
// partitions, restarts, tiny windows and live caps; outcomes that are decided later,
// or by a record with other operations; duplicates, contradictions and retries with
// the same values, at any distance; sources without times. Nothing is reported that
// the accepted records do not show, and nothing is missed without a flag.
func TestMixed(t *testing.T) {
	t.Parallel()
	for i := range seeds(t, 1500) {
		mixedSeed(t, i)
	}
}

// TestMixedAgain: a list shows an element that two had appended, and one of them appended another one behind it.
//
// In the last one a committed record took the place of one of unknown outcome that counted. Its list, with an element twice, was known.
func TestMixedAgain(t *testing.T) {
	mixedSeed(t, 750)
	mixedSeed(t, 1752)
}

func mixedSeed(t *testing.T, i int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(i), 28))
	cfg := windowed(rng)
	cfg.Levels = exactAt(i).Levels
	cfg.Idle = 15 * time.Millisecond
	cfg.WindowTxns = int64(1 + rng.IntN(6))
	switch rng.IntN(4) {
	case 0:
		cfg.LiveCap = 2 + rng.IntN(4)
	case 1:
		cfg.Unbounded = true
	}
	if rng.IntN(2) == 0 {
		cfg.MaxTxn = time.Duration(1+rng.IntN(100)) * time.Millisecond
	}
	as := mixedArrivals(rng)
	if i%3 == 1 {
		for range 1 + rng.IntN(2) {
			as[rng.IntN(len(as))].levels = randomLevels(rng)
		}
	}
	if why := mixedRun(t, cfg, as); why != "" {
		t.Fatalf("history %d, window %v or %d, lateness %v, cap %d, unbounded %v, longest %v: %s\n%s", i,
			cfg.Window.D, cfg.WindowTxns, cfg.Lateness.D, cfg.LiveCap, cfg.Unbounded, cfg.MaxTxn, why, arrivedText(as))
	}
}

func arrivedText(as []arrived) string {
	var b strings.Builder
	for i := range as {
		a := &as[i]
		fmt.Fprintf(&b, "epoch %d partition %d tick %d restart %v levels %v: %s\n", a.epoch, a.partition, a.tick, a.restart, isolation.LevelNames(a.levels), a.txn.Text())
	}
	return b.String()
}

// mixedHistory is a random history of any composition, with retries.
func mixedHistory(rng *rand.Rand) oracle.History {
	opt := oracle.Wide()
	opt.Unknown = []float64{0, 0.1, 0.3}[rng.IntN(3)]
	opt.Aborted = []float64{0.08, 0.2}[rng.IntN(2)]
	opt.Repeat = []float64{0, 0.03, 0.1}[rng.IntN(3)]
	opt.Blind = []float64{0, 0.1}[rng.IntN(2)]
	opt.Keys, opt.Sessions = 1+rng.IntN(3), rng.IntN(4)
	opt.Lists, opt.Registers = rng.IntN(4) > 0, true
	if opt.Lists && rng.IntN(3) == 0 {
		opt.Registers = false
	}
	if rng.IntN(4) == 0 {
		opt.Min, opt.Max = 10, 30
	}
	h := oracle.Random(rng, opt)
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].Status == event.Committed || rng.IntN(4) > 0 {
			continue
		}
		again := h[i].Clone()
		again.ID += "again"
		again.Session, again.Seq, again.Status = "", 0, event.Status(1+rng.IntN(3))
		h = slices.Insert(h, i+1, again)
	}
	noSeq, noTimes := rng.IntN(3) == 0, rng.IntN(8) == 0
	for i := range h {
		if noSeq {
			h[i].Seq = 0
		}
		if noTimes {
			h[i].Start, h[i].End = 0, 0
		}
	}
	return h
}

// mixedArrivals are the records of one or two histories in an order of arrival.
func mixedArrivals(rng *rand.Rand) []arrived {
	var all []arrived
	for epoch := range 1 + rng.IntN(4)/3 {
		h := mixedHistory(rng)
		var as []arrived
		for _, p := range arrival(rng, len(h)) {
			as = append(as, arrived{txn: h[p], epoch: epoch})
		}
		for i := len(as) - 1; i >= 0; i-- {
			again := arrived{txn: as[i].txn.Clone(), epoch: epoch}
			switch k := rng.IntN(30); {
			case k < 3:
				as[i].txn = as[i].txn.Clone()
				as[i].txn.Status = event.Unknown
			case k < 9:
			case k == 9:
				again.txn.Ops = again.txn.Ops[:len(again.txn.Ops)-min(1, len(again.txn.Ops))]
				again.txn.Status = event.Status(1 + rng.IntN(3))
			default:
				continue
			}
			at := len(as)
			if rng.IntN(2) == 0 {
				at = i + 1 + rng.IntN(len(as)-i)
			}
			as = slices.Insert(as, at, again)
		}
		at := 0
		for _, a := range as { // epochs overlap
			at = min(len(all), at+rng.IntN(3))
			all = slices.Insert(all, at, a)
			at++
		}
	}
	partitions, ticks, now := 1+rng.IntN(3), rng.IntN(2), int64(1)
	for i := range all {
		now += int64(rng.IntN(10)) * int64(time.Millisecond)
		all[i].partition, all[i].tick, all[i].restart = rng.IntN(partitions), int64(ticks)*now, rng.IntN(12) == 0
	}
	return all
}

// accepted is the history of each epoch as its records say: the first of each id
// counts, and one that decides an unknown outcome takes its place.
func accepted(as []arrived) (hs [2]oracle.History) {
	for e := range hs {
		at := map[string]int{}
		for i := range as {
			x := as[i].txn
			if as[i].epoch != e {
				continue
			}
			if k, known := at[x.ID]; !known {
				at[x.ID] = len(hs[e])
				hs[e] = append(hs[e], x)
			} else if hs[e][k].Status == event.Unknown && x.Status != event.Unknown {
				hs[e][k] = x
			}
		}
	}
	return hs
}

// mixedRun says what is wrong with the machine's answer, "" if nothing is.
func mixedRun(t *testing.T, cfg window.Config, as []arrived) string {
	m := window.New(cfg)
	var eff window.Effects
	var d event.Decoder
	for i := range as {
		a := &as[i]
		if a.restart {
			m = readBack(t, m.Config(), m)
		}
		watch(m, a.levels)
		b := &event.Batch{Partitions: []string{"a", "b", "c"}[:a.partition+1]}
		text := workload.AppendJSON(nil, &a.txn)
		if a.epoch == 1 {
			text = append([]byte(`{"epoch":"second",`), text[1:]...)
		}
		d.Decode(b, event.Position{Partition: uint32(a.partition), Offset: int64(i)}, text)
		m.Step(b, []int32{0}, a.tick, &eff)
		if err := m.Check(); err != nil {
			return fmt.Sprintf("after record %d: %v", i, err)
		}
	}
	m.Close(&eff)
	if m.Counters.Unverified > 0 {
		return fmt.Sprintf("a witness is not verified: %v", m.Unverified())
	}
	if why := disagreement(m, both(accepted(as))); why != "" {
		return fmt.Sprintf("%s\n%s%+v", why, lines(eff.Findings), m.Totals())
	}
	return ""
}
