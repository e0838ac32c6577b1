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
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// TestLostDeletesOfLists: a store that runs transactions one after the other raises no alert where
// records are lost and the capture is declared partial, although no writer is without a record and
// deletes have records otherwise.
func TestLostDeletesOfLists(t *testing.T) {
	t.Parallel()
	lost, told := 0, 0
	for i := range seeds(t, 1500) {
		rng := rand.New(rand.NewPCG(uint64(i), 179))
		h := deletedLists(rng)
		h = slices.DeleteFunc(h, func(d workload.Txn) bool {
			gone := rng.IntN(8) == 0 || rng.IntN(2) == 0 && slices.ContainsFunc(d.Ops, func(o workload.Op) bool { return o.Kind == event.Delete })
			if gone {
				lost++
			}
			return gone
		})
		cfg := window.Config{
			Levels: isolation.Encoded(), Expect: isolation.Level{Base: isolation.Serializable, Family: isolation.Strong}, Named: true,
			Contract: window.Contract{Existing: rng.IntN(2) == 0, Observed: rng.IntN(2) == 0}, Window: window.For(time.Minute), Lateness: window.For(50 * time.Millisecond), MaxTxn: 20 * time.Millisecond,
		}
		if rng.IntN(4) == 0 {
			cfg.Unbounded = true
		}
		arrives := map[string]int64{}
		for j := range h {
			arrives[h[j].ID] = h[j].End + rng.Int64N(int64(50*time.Millisecond))
		}
		perm := arrival(rng, len(h))
		fails := func(h oracle.History, perm []int) string {
			perm = slices.Clone(perm)
			slices.SortStableFunc(perm, func(a, b int) int { return cmp.Compare(arrives[h[a].ID], arrives[h[b].ID]) })
			m, eff := window.New(cfg), window.Effects{}
			for k, p := range perm {
				b := &event.Batch{Partitions: []string{"sim"}}
				new(event.Decoder).Decode(b, event.Position{Offset: int64(k)}, workload.AppendJSON(nil, &h[p]))
				m.Step(b, []int32{0}, 0, &eff)
			}
			m.Close(&eff)
			for j := range eff.Findings {
				f := &eff.Findings[j]
				if f.Kind == finding.KindViolation && !f.Certain {
					told++
				}
				if f.Kind == finding.KindViolation && f.Certain && (f.State == finding.Final || f.State == finding.Provisional && f.Revision == 1) {
					return fmt.Sprintf("%s\n%s", f.Headline, lines(eff.Findings))
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
	t.Logf("%d records lost, %d uncertain findings", lost, told)
	if enough(t, 1500) && told == 0 {
		t.Error("no finding was uncertain")
	}
}
