package simtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// deletedLists are transactions of a store that runs one after the other: lists that are read,
// appended to and deleted.
func deletedLists(rng *rand.Rand) (h oracle.History) {
	lists := map[string][]int64{}
	next := int64(1)
	clock := int64(time.Second)
	for i := range 4 + rng.IntN(12) {
		clock += 1 + rng.Int64N(int64(20*time.Millisecond))
		d := workload.Txn{ID: fmt.Sprintf("t%d", i), Session: fmt.Sprintf("s%d", rng.IntN(3)), Status: event.Committed, Start: clock}
		clock += 1 + rng.Int64N(int64(5*time.Millisecond))
		d.End = clock
		for range 1 + rng.IntN(2) {
			key := fmt.Sprintf("l%d", rng.IntN(2))
			switch rng.IntN(5) {
			case 0, 1:
				o := workload.Op{Kind: event.Read, Key: key, IsList: len(lists[key]) > 0, List: slices.Clone(lists[key])}
				o.Absent = !o.IsList
				d.Ops = append(d.Ops, o)
			case 2, 3:
				d.Ops = append(d.Ops, workload.Op{Kind: event.Append, Key: key, Value: next})
				lists[key] = append(lists[key], next)
				next++
			default:
				d.Ops = append(d.Ops, workload.Op{Kind: event.Delete, Key: key})
				lists[key] = nil
			}
		}
		h = append(h, d)
	}
	return h
}

// arrivals draws when each record arrives: up to 50 ms after its transaction was over.
func arrivals(rng *rand.Rand, h oracle.History) map[string]int64 {
	at := map[string]int64{}
	for j := range h {
		at[h[j].ID] = h[j].End + rng.Int64N(int64(50*time.Millisecond))
	}
	return at
}

// toldAsArrived are the findings of a stream in the order of arrival, a record a step. perm orders
// what arrives at once.
func toldAsArrived(cfg window.Config, h oracle.History, perm []int, arrives map[string]int64) []finding.Finding {
	perm = slices.Clone(perm)
	slices.SortStableFunc(perm, func(a, b int) int { return cmp.Compare(arrives[h[a].ID], arrives[h[b].ID]) })
	m, eff := window.New(cfg), window.Effects{}
	for k, p := range perm {
		b := &event.Batch{Partitions: []string{"sim"}}
		new(event.Decoder).Decode(b, event.Position{Offset: int64(k)}, workload.AppendJSON(nil, &h[p]))
		m.Step(b, []int32{0}, 0, &eff)
	}
	m.Close(&eff)
	return eff.Findings
}

// isAlert says whether the finding is the first that is told of a certain violation, or its last.
func isAlert(f *finding.Finding) bool {
	return f.Kind == finding.KindViolation && f.Certain && (f.State == finding.Final || f.State == finding.Provisional && f.Revision == 1)
}

// TestDeletedLists: a store that runs transactions one after the other, whose deletes of lists are
// recorded, raises no alert in whatever order records come within the lateness.
func TestDeletedLists(t *testing.T) {
	t.Parallel()
	for i := range seeds(t, 1500) {
		rng := rand.New(rand.NewPCG(uint64(i), 171))
		h := deletedLists(rng)
		cfg := window.Config{
			Levels: isolation.Encoded(), Expect: isolation.Level{Base: isolation.Serializable, Family: isolation.Strong}, Named: true,
			Contract: window.Contract{Complete: true}, Window: window.For(time.Minute), Lateness: window.For(50 * time.Millisecond), MaxTxn: 20 * time.Millisecond,
		}
		if rng.IntN(2) == 0 {
			cfg.Contract = defaults()
		}
		arrives, perm := arrivals(rng, h), arrival(rng, len(h))
		fails := func(h oracle.History, perm []int) string {
			all := toldAsArrived(cfg, h, perm, arrives)
			for j := range all {
				f := &all[j]
				if isAlert(f) {
					return fmt.Sprintf("%s\n%s", f.Headline, lines(all))
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
}

// TestListsAmongDeletes: of small histories of stores that promise less, with deletes of lists in any
// place of arrival, what is reported has no order. What no delete explains is reported all the same.
func TestListsAmongDeletes(t *testing.T) {
	t.Parallel()
	k := oracle.Kinds{Lists: true, ListDeletes: true, Aborted: 0.05, Unknown: 0.05, Corrupt: 0.1}
	violated := map[string]int{}
	for i := range seeds(t, 1500) {
		rng := rand.New(rand.NewPCG(uint64(i), 173))
		h := oracle.RandomKinds(rng, k)
		if slices.ContainsFunc(h, deletesAndAppends) {
			continue // of which the oracle knows only what was appended
		}
		cfg := exact()
		if i%2 == 0 {
			cfg = windowed(rng)
		}
		cfg.Levels = exactAt(i / 2).Levels
		perm := arrival(rng, len(h))
		deletes := slices.ContainsFunc(h, func(d workload.Txn) bool {
			return d.Status == event.Committed && slices.ContainsFunc(d.Ops, func(o workload.Op) bool { return o.Kind == event.Delete })
		})
		fails := func(h oracle.History, perm []int) string {
			m, why := kindsRun(t, cfg, h, perm, i%3 == 0)
			if why != "" {
				return why
			}
			for l, got := range verdicts(m) {
				if got != window.Violated || selects(l) {
					continue
				}
				possible, err := oracle.PossibleAt(h, l)
				if err != nil {
					return err.Error()
				}
				if possible {
					return fmt.Sprintf("%s: reported violated, and an order exists", l)
				}
				violated[fmt.Sprintf("with deletes %t", deletes)]++
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			reportKinds(t, i, h, perm, why, fails)
		}
	}
	t.Log(violated)
	if enough(t, 1500) && violated["with deletes true"] == 0 {
		t.Error("nothing was found among deletes")
	}
}

// deletesAndAppends says whether t deletes a list that it appends to.
func deletesAndAppends(t workload.Txn) bool {
	return slices.ContainsFunc(t.Ops, func(d workload.Op) bool {
		return d.Kind == event.Delete && slices.ContainsFunc(t.Ops, func(o workload.Op) bool { return o.Kind == event.Append && o.Key == d.Key })
	})
}
