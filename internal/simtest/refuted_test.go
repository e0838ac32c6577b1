package simtest

import (
	"fmt"
	"math/rand/v2"
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

// deletedAndRepeated is a history, or the end of two, whose keys are deleted and whose values are few.
func deletedAndRepeated(rng *rand.Rand, i int) oracle.History {
	k := oracle.Kinds{Deletes: true, Corrupt: []float64{0, 0.3, 0.6}[i%3], Blind: []float64{0, 0.2, 0.5}[i/3%3]}
	k.CAS, k.Ranges = i%4 == 1, i%5 == 1
	if i%2 == 0 {
		k.Aborted, k.Unknown = 0.05, 0.05
	}
	h := oracle.RandomKinds(rng, k)
	if i%3 > 0 { // a second one behind it
		g := oracle.RandomKinds(rng, k)
		end, seq := int64(0), map[string]int64{}
		for _, t := range h {
			end = max(end, t.End)
			if t.Session != "" {
				seq[t.Session] = max(seq[t.Session], t.Seq+1)
			}
		}
		for _, t := range g {
			t.ID = "b" + t.ID
			t.Start += end + 1
			t.End += end + 1
			t.Seq += seq[t.Session]
			h = append(h, t)
		}
		for len(h) > 7 {
			h = append(h[:0], h[1:]...)
		}
	}
	m := int64(2 + rng.IntN(6))
	for a := range h {
		for b := range h[a].Ops {
			o := &h[a].Ops[b]
			if o.Value != 0 {
				o.Value = 1 + o.Value%m
			}
			for _, x := range []*workload.Maybe{&o.Expected, &o.Seen} {
				if x.Known && !x.Nothing {
					x.Value = 1 + x.Value%m
				}
			}
			if o.Kind == event.CAS && !o.Success {
				*o = workload.ReadAbsent(o.Key)
			}
			for r := range o.Rows {
				o.Rows[r].Value = 1 + o.Rows[r].Value%m
			}
		}
	}
	return h
}

// TestRefutedWithDeletes: in streams whose keys are deleted and whose values repeat, what each finding
// refutes is impossible by trial of all orders, and what is said to hold is possible. Two histories stand
// one behind the other, so that the first has left memory when the second is decided.
func TestRefutedWithDeletes(t *testing.T) {
	t.Parallel()
	tried, checked := 0, 0
	for i := range seeds(t, 1000) {
		rng := rand.New(rand.NewPCG(uint64(i), 777))
		h := deletedAndRepeated(rng, i)
		cfg := exactAt(rng.IntN(8))
		smallWindow(&cfg, rng)
		if i%2 == 0 {
			cfg.Window, cfg.MaxTxn = window.For(time.Duration(rng.IntN(300))*time.Millisecond), 100*time.Millisecond
		}
		perm, restarts := identity(len(h)), i%5 == 0
		if i%3 == 0 {
			perm = arrival(rng, len(h))
		}
		fails := func(h oracle.History, perm []int) string {
			m, found, why := kindsFound(t, cfg, h, perm, restarts)
			if why != "" {
				return why
			}
			for l, verdict := range verdicts(m) {
				if possible, err := oracle.PossibleAt(h, l); verdict == window.OK && err == nil && !possible && !selects(l) {
					return fmt.Sprintf("%s: said ok, and no order exists", l)
				}
			}
			return refutesPossible(h, found, &tried, &checked)
		}
		if why := fails(h, perm); why != "" {
			reportKinds(t, i, h, perm, why, fails)
		}
	}
	if t.Logf("%d findings by trial, %d refuted levels", tried, checked); enough(t, 1000) && (tried == 0 || checked == 0) {
		t.Error("too few")
	}
}

// refutesPossible says which level a standing finding refutes that has an order. Findings that are not by
// trial are asked from prefix up, where the orders of all kinds are tried. A stream
// knows that cause precedes effect.
func refutesPossible(h oracle.History, found []finding.Finding, tried, checked *int) string {
	for _, f := range last(found) {
		if f.State == finding.Withdrawn || f.State == finding.Waiting || f.Kind != finding.KindViolation || !f.Certain {
			continue
		}
		byTrial := isolation.IsTried(f.Title)
		if byTrial {
			*tried++
		}
		for _, l := range f.Refutes {
			if !byTrial && !fromPrefix(l) || selects(oracle.Level(l)) {
				continue
			}
			possible, err := oracle.PossibleAt(causes(h, &f), oracle.Level(l))
			if possible && err == nil && fromPrefix(l) {
				possible, err = oracle.PossibleByCause(h, oracle.Level(l), false)
			}
			if err != nil {
				return err.Error()
			}
			if *checked++; possible {
				return fmt.Sprintf("%s refutes %s, and an order exists", f.Anomaly, l)
			}
		}
	}
	return ""
}

// causes are the transactions of which those of f may have read: who began when all of these had ended
// is none.
func causes(h oracle.History, f *finding.Finding) (before oracle.History) {
	end := int64(0)
	for _, t := range h {
		if slices.Contains(f.Txns, t.ID) {
			end = max(end, t.End)
		}
	}
	for _, t := range h {
		if t.Start <= end {
			before = append(before, t)
		}
	}
	return before
}

func fromPrefix(l string) bool {
	return strings.Contains(l, "prefix") || strings.Contains(l, "snapshot") || strings.Contains(l, "serializable")
}
