package window

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
	"github.com/isowatch/isowatch/internal/testrun"
)

// serial is a serial history of 1,200 transactions by 4 sessions over 20 keys. The read of one
// in the middle shows what was there by 30 writes before, or, with future, what is written
// 200 transactions later.
func serial(future bool) string {
	const n, wrong, keys = 1200, 600, 20
	rng := rand.New(rand.NewPCG(7, 7))
	type txn struct{ session, a, b int }
	txns := make([]txn, n)
	for i := range txns {
		a := rng.IntN(keys)
		txns[i] = txn{rng.IntN(4), a, (a + 1 + rng.IntN(keys-1)) % keys}
	}
	var b strings.Builder
	var writers [keys][]int
	seq := [4]int{}
	for i, x := range txns {
		read := func(k int, stale bool) string {
			w := writers[k]
			switch {
			case stale && future:
				for j := i + 200; ; j++ {
					if j%2 == 0 && txns[j].b == k {
						return fmt.Sprintf(`{"op":"r","key":"x%d","value":%d}`, k, j)
					}
				}
			case len(w) == 0:
				return fmt.Sprintf(`{"op":"r","key":"x%d","found":false}`, k)
			case stale:
				w = w[:max(1, len(w)-30)]
			}
			return fmt.Sprintf(`{"op":"r","key":"x%d","value":%d}`, k, w[len(w)-1])
		}
		ops := read(x.a, i == wrong) + "," + read(x.b, false)
		if i%2 == 0 {
			ops += fmt.Sprintf(`,{"op":"w","key":"x%d","value":%d}`, x.b, i)
			writers[x.b] = append(writers[x.b], i)
		}
		seq[x.session]++
		fmt.Fprintf(&b, `{"txn":"T%d","session":"s%d","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[%s]}`+"\n", i, x.session, seq[x.session], i*1000, i*1000+900, ops)
	}
	return b.String()
}

// told runs the machine over the history, restarted behind the record with the number, and
// returns what it told.
func told(t *testing.T, cfg Config, lines string, restart int) (violations int, all []string) {
	t.Helper()
	var b event.Batch
	var d event.Decoder
	b.Partitions = append(b.Partitions, "stdin")
	d.DecodeMessage(&b, event.Position{}, []byte(strings.TrimSpace(lines)))
	m, eff := New(cfg), &Effects{}
	for i := range b.Txns {
		m.Step(&b, []int32{int32(i)}, 0, eff)
		if i == restart {
			again := New(cfg)
			if err := again.ReadState(m.AppendState(nil)); err != nil {
				t.Fatal(err)
			}
			m = again
		}
	}
	m.Close(eff)
	stands := map[string]bool{}
	for _, f := range eff.Findings {
		if f.State != finding.Waiting {
			all = append(all, fmt.Sprintf("%s %s r%d of %d, %s refutes %v", f.ID, f.State, f.Revision, f.Count, f.Anomaly, f.Refutes))
			stands[f.ID] = f.Kind == finding.KindViolation && f.State != finding.Withdrawn
		}
	}
	for _, is := range stands {
		if is {
			violations++
		}
	}
	return violations, all
}

// One wrong read is at most five findings, on whatever levels: in a whole history, and in a
// stream, where a restart changes nothing.
func TestOneWrongRead(t *testing.T) {
	for _, future := range []bool{false, true} {
		lines := serial(future)
		for i, cfg := range []Config{
			{Levels: isolation.AllLevels(), Unbounded: true, Contract: Contract{Complete: true}},
			{Levels: isolation.AllLevels(), Contract: Contract{Complete: true}, Lateness: For(10 * time.Microsecond), Window: For(500 * time.Microsecond), MaxTxn: 20 * time.Microsecond},
		} {
			n, all := told(t, cfg, lines, -1)
			if n == 0 || n > 5 {
				t.Errorf("future %v, whole %v: %d findings of one wrong read: %v", future, cfg.Unbounded, n, all)
			}
			for j, restart := range []int{650, 820} {
				if testrun.LeavesOut(i+j, 2) {
					continue
				}
				if _, again := told(t, cfg, lines, restart); !slices.Equal(again, all) {
					t.Errorf("future %v, whole %v, restarted behind %d: told %v, not %v", future, cfg.Unbounded, restart, again, all)
				}
			}
		}
	}
}
