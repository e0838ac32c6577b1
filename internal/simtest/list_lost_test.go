package simtest

import (
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
		arrives, perm := arrivals(rng, h), arrival(rng, len(h))
		fails := func(h oracle.History, perm []int) string {
			all := toldAsArrived(cfg, h, perm, arrives)
			for j := range all {
				f := &all[j]
				if f.Kind == finding.KindViolation && !f.Certain {
					told++
				}
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
	t.Logf("%d records lost, %d uncertain findings", lost, told)
	if enough(t, 1500) && told == 0 {
		t.Error("no finding was uncertain")
	}
}
