package window

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/isolation"
)

// stream decodes n generated transactions: registers by read-modify-write, 4
// operations, 10,000 keys, 64 sessions, arrivals disordered.
func stream(b *testing.B, n int, cfg workload.Config) *event.Batch {
	b.Helper()
	gen, err := workload.NewGenerator(cfg, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		b.Fatal(err)
	}
	arrivals := workload.NewArrivals(gen, 20*time.Millisecond, rand.New(rand.NewPCG(2, 2)))
	batch := &event.Batch{Partitions: []string{"bench"}}
	var d event.Decoder
	var text []byte
	for i := range n {
		t, ok := arrivals.Next()
		if !ok {
			break
		}
		text = workload.AppendJSON(text[:0], &t)
		d.Decode(batch, event.Position{Offset: int64(i)}, text)
	}
	if len(batch.Bad) > 0 {
		b.Fatal(batch.Bad[0].Reason)
	}
	return batch
}

// BenchmarkCore is infer and order together, one core, with the window set so
// that about live transactions are in memory. The stream is valid; it ends with
// the same verdict every time.
func BenchmarkCore(b *testing.B) {
	ser := isolation.Level{Base: isolation.Serializable}
	for _, c := range []struct {
		name   string
		levels []isolation.Level
		live   int
	}{
		{"SER/64k", []isolation.Level{ser}, 64 << 10},
		{"SER/1M", []isolation.Level{ser}, 1 << 20},
		{"four-levels/64k", isolation.Watched(), 64 << 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := max(b.N, 4*c.live)
			cfg := workload.Config{Kind: workload.Registers, Keys: 10_000, Sessions: 64, Count: n}
			batch := stream(b, n, cfg)
			span := batch.Txns[len(batch.Txns)-1].End - batch.Txns[0].End
			perTxn := float64(span) / float64(len(batch.Txns))
			m := New(Config{
				Levels: c.levels, Contract: Contract{Complete: true}, LiveCap: 4 << 20,
				Lateness: For(25 * time.Millisecond), Window: For(time.Duration(perTxn*float64(c.live)) - 25*time.Millisecond),
			})
			var eff Effects
			idx := make([]int32, 0, 4096)
			warm := len(batch.Txns) - b.N
			run := func(from, to int) {
				for from < to {
					idx = idx[:0]
					for ; from < to && len(idx) < cap(idx); from++ {
						idx = append(idx, int32(from))
					}
					m.Step(batch, idx, 0, &eff)
				}
			}
			run(0, max(warm, 0))
			b.ReportAllocs()
			cpu := cpuTime()
			b.ResetTimer()
			run(max(warm, 0), len(batch.Txns))
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "txn/s")
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(m.Live()), "live")
			z := m.Sizes()
			b.ReportMetric(float64(z.Bytes+m.graph.Bytes())/float64(max(m.Live(), 1)), "bytes/live")
			if len(eff.Findings) > 0 {
				b.Fatalf("findings on a valid stream: %v", eff.Findings[0].Explanation)
			}
			if s := fmt.Sprint(m.Totals()); testing.Verbose() {
				b.Log(s)
			}
		})
	}
}

// cpuTime is what this process has used of the processors: on a busy machine a
// steadier figure than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
