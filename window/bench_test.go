package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/isolation"
)

// feed is an endless generated stream, decoded batch by batch as the engine would:
// registers by read-modify-write, 4 operations, 10,000 keys, 64 sessions, arrivals
// disordered by up to 20 ms.
type feed struct {
	b        *testing.B
	arrivals *workload.Arrivals
	decoder  event.Decoder
	text     []byte
	offset   int64
}

// fed is a batch of the feed.
type fed struct {
	event.Batch
	txns []int32
}

// feedBatch is how many transactions a batch has.
const feedBatch = 2048

func newFeed(b *testing.B) *feed {
	b.Helper()
	cfg := workload.Config{Kind: workload.Registers, Keys: 10_000, Sessions: 64, Count: 1 << 40}
	gen, err := workload.NewGenerator(cfg, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		b.Fatal(err)
	}
	return &feed{b: b, arrivals: workload.NewArrivals(gen, 20*time.Millisecond, rand.New(rand.NewPCG(2, 2)))}
}

// next decodes n transactions into b.
func (f *feed) next(b *fed, n int) {
	b.Reset()
	b.Partitions = append(b.Partitions[:0], "bench")
	b.txns = b.txns[:0]
	for i := range n {
		t, ok := f.arrivals.Next()
		if !ok {
			f.b.Fatal("the stream has ended")
		}
		f.text = workload.AppendJSON(f.text[:0], &t)
		f.decoder.Decode(&b.Batch, event.Position{Offset: f.offset}, f.text)
		f.offset++
		b.txns = append(b.txns, int32(i))
	}
	b.Pack()
	if len(b.Bad) > 0 {
		f.b.Error(b.Bad[0].Reason)
	}
}

// run sends the next n transactions in batches, made by another goroutine, as the
// engine's are.
func (f *feed) run(n int) (batches <-chan *fed, done chan<- *fed) {
	out, back := make(chan *fed, 2), make(chan *fed, 4)
	for range 4 {
		back <- &fed{}
	}
	go func() {
		defer close(out)
		for n > 0 {
			b := <-back
			f.next(b, min(feedBatch, n))
			n -= feedBatch
			out <- b
		}
	}()
	return out, back
}

// span is the event time that n transactions of the feed take.
func (f *feed) span(n int) time.Duration {
	probe := newFeed(f.b)
	var b fed
	probe.next(&b, 20_000)
	t := b.Txns
	return time.Duration(float64(t[len(t)-1].End-t[0].End) / float64(len(t)) * float64(n))
}

// BenchmarkCore is infer and order together, one core, with the window set so
// that about live transactions are in memory, from the moment on at which twice
// as many have passed. Only the steps are timed: another goroutine generates and
// decodes the batches meanwhile, as the engine's does. The stream is valid, and
// nothing may be found.
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
			f := newFeed(b)
			m := New(Config{
				Levels: c.levels, Contract: Contract{Complete: true}, LiveCap: 4 << 20,
				Lateness: For(25 * time.Millisecond), Window: For(f.span(c.live) - 25*time.Millisecond),
			})
			var eff Effects
			batches, done := f.run(2 * c.live)
			for batch := range batches {
				m.Step(&batch.Batch, batch.txns, 0, &eff)
				done <- batch
			}
			var took time.Duration
			b.ReportAllocs()
			b.ResetTimer()
			batches, done = f.run(b.N)
			for batch := range batches {
				t := time.Now()
				m.Step(&batch.Batch, batch.txns, 0, &eff)
				took += time.Since(t)
				done <- batch
			}
			b.StopTimer()
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/op")
			b.ReportMetric(float64(b.N)/took.Seconds(), "txn/s")
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
