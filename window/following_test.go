package window

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/workload"
)

// TestOneOrder: while a valid stream runs, with outcomes that are not known, one order
// stands for all levels.
func TestOneOrder(t *testing.T) {
	for _, kind := range []workload.Kind{workload.Registers, workload.Lists} {
		gen, err := workload.NewGenerator(workload.Config{Kind: kind, Keys: 300, Sessions: 16, Count: 6000, Aborted: 0.02}, rand.New(rand.NewPCG(5, 1)))
		if err != nil {
			t.Fatal(err)
		}
		arrivals := workload.NewArrivals(gen, 2*time.Millisecond, rand.New(rand.NewPCG(5, 2)))
		m := New(Config{Levels: isolation.Encoded(), Contract: Contract{Complete: true}, Lateness: For(3 * time.Millisecond), Window: For(10 * time.Millisecond)})
		var d event.Decoder
		var eff Effects
		retired := 0
		for i := int64(0); ; i++ {
			txn, ok := arrivals.Next()
			if !ok {
				break
			}
			var b event.Batch
			b.Partitions = []string{"p"}
			d.Decode(&b, event.Position{Offset: i}, workload.AppendJSON(nil, &txn))
			before := m.Live()
			m.Step(&b, []int32{0}, 0, &eff)
			retired += max(0, before-m.Live())
			if m.Orders() != 1 || !m.saturated.idle {
				t.Fatalf("%v: after %d transactions there are %d orders, forced ones are not looked at: %v", kind, i+1, m.Orders(), m.saturated.idle)
			}
		}
		m.Close(&eff)
		if m.Orders() != 1 || retired < 4000 || len(eff.Findings) > 0 {
			t.Errorf("%v: %d orders, %d transactions retired, %d findings", kind, m.Orders(), retired, len(eff.Findings))
		}
		for _, l := range isolation.Encoded() {
			if v, why := m.Verdict(l); v != OK {
				t.Errorf("%v: %s is %s: %s", kind, l, v, why)
			}
		}
	}
}

// TestDivided: each way in which levels get orders of their own, and how many there are then.
func TestDivided(t *testing.T) {
	const skew = `
{"txn":"T1","start":1,"end":9,"status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"y","value":1}]}
{"txn":"T2","start":2,"end":8,"status":"committed","ops":[{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}]}`
	const fork = `
{"txn":"W1","start":1,"end":9,"status":"committed","ops":[{"op":"append","key":"x","value":1}]}
{"txn":"W2","start":1,"end":9,"status":"committed","ops":[{"op":"append","key":"y","value":1}]}
{"txn":"R1","start":2,"end":8,"status":"committed","ops":[{"op":"r","key":"x","value":[1]},{"op":"r","key":"y","value":[]}]}
{"txn":"R2","start":2,"end":8,"status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"r","key":"y","value":[1]}]}`
	const stale = `
{"txn":"T1","start":1,"end":9,"status":"committed","ops":[{"op":"append","key":"x","value":1}]}
{"txn":"T2","start":20,"end":28,"status":"committed","ops":[{"op":"r","key":"x","value":[]}]}`
	const far = `
{"txn":"W","start":100,"end":101,"status":"committed","ops":[]}
{"txn":"T3","start":102,"end":103,"status":"committed","ops":[{"op":"r","key":"x","value":[1]},{"op":"append","key":"z","value":1}]}`
	const behind = `
{"txn":"T1","start":1,"end":2,"status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"y","value":1}]}
{"txn":"W","start":100,"end":101,"status":"committed","ops":[]}
{"txn":"T2","start":102,"end":103,"status":"committed","ops":[{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}]}`
	const blind = `
{"txn":"T1","start":1,"end":2,"status":"committed","ops":[{"op":"w","key":"x","value":1}]}
{"txn":"T2","start":1,"end":2,"status":"committed","ops":[{"op":"w","key":"x","value":2}]}
{"txn":"W","start":100,"end":101,"status":"committed","ops":[]}`
	ordered := 0 // those that ask for an order of the writers
	for _, l := range isolation.Encoded() {
		if v, ok := l.View(); ok && (v.Split || v.Anti != 0) && !l.Underlying().Selects() {
			ordered++
		}
	}
	windowed := Config{Levels: isolation.Encoded(), Contract: Contract{Complete: true}, Window: For(10), Lateness: For(0)}
	whole := Config{Levels: isolation.Encoded(), Contract: Contract{Complete: true}, Unbounded: true}
	for _, c := range []struct {
		name, lines  string
		cfg          Config
		least, most  int
		horizon      int64
		holds, falls string
		idle         bool // forced orders are still not looked at
	}{
		{"write skew", skew, windowed, 14, 14, 0, "strong-snapshot-isolation", "serializable", true}, // the serializable ones, repeatable read, those with a limit, the strongest cursor stability, and that which the others follow
		{"write skew, then more", skew + far, windowed, 14, 14, 0, "strong-snapshot-isolation", "serializable", true},
		{"write skew, all read", skew, whole, ordered, ordered + 12, 0, "strong-snapshot-isolation", "serializable", true},
		{"long fork", fork, whole, 11, 26, 0, "strong-read-committed", "prefix", false},
		{"stale read", stale, whole, 3, 26, 0, "serializable", "strong-read-atomic", false},
		{"behind the window", behind, windowed, 2, 25, 1, "", "", false},
		{"blind writes", blind, windowed, ordered, ordered + 3, 0, "serializable", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := check(t, c.cfg, c.lines)
			if n := m.Orders(); n < c.least || n > c.most {
				t.Errorf("%d orders, want %d to %d", n, c.least, c.most)
			}
			if m.saturated.idle != c.idle {
				t.Errorf("forced orders are not looked at: %v", m.saturated.idle)
			}
			if (m.Counters.Horizon > 0) != (c.horizon > 0) {
				t.Errorf("%d dependencies on transactions that had left the window", m.Counters.Horizon)
			}
			for want, name := range map[string]string{OK: c.holds, Violated: c.falls} {
				if name == "" {
					continue
				}
				l, err := isolation.ParseLevel(name)
				if err != nil {
					t.Fatal(err)
				}
				if v, why := m.Verdict(l); v != want {
					t.Errorf("%s is %s (%s), want %s", name, v, why, want)
				}
			}
		})
	}
}

// TestDividedInTime: ranks of a timed order need not agree with real time, and it is real
// time that the order has from which another level goes on. T2 saw nothing of what was over
// when it began, and wrote the same key: no order of the two commits allows that.
func TestDividedInTime(t *testing.T) {
	cfg := Config{Named: true, Contract: Contract{Complete: true}, Window: For(20), Lateness: For(0)}
	for _, l := range isolation.Encoded() {
		if l.RealTime() {
			cfg.Levels = append(cfg.Levels, l)
		}
	}
	m, _ := check(t, cfg, `
{"txn":"T1","start":1015,"end":1045,"status":"committed","ops":[{"op":"w","key":"x","value":1}]}
{"txn":"T2","start":1049,"end":1091,"status":"committed","ops":[{"op":"r","key":"x","value":null},{"op":"w","key":"x","value":2}]}`)
	if v, why := m.Verdict(isolation.Level{Special: isolation.GeneralizedSI}); v != Violated {
		t.Errorf("%s (%s)", v, why)
	}
}
