package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/workload"
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
		{"all-levels/64k", isolation.Encoded(), 64 << 10},
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
			b.ReportMetric(float64(m.StateBytes())/float64(max(m.Live(), 1)), "bytes/live")
			if len(eff.Findings) > 0 {
				b.Fatalf("findings on a valid stream: %v", eff.Findings[0].Explanation)
			}
			if m.Orders() != 1 {
				b.Fatalf("%d orders on a valid stream", m.Orders())
			}
			if s := fmt.Sprint(m.Totals()); testing.Verbose() {
				b.Log(s)
			}
		})
	}
}

// benchLive is how many transactions BenchmarkInfer and BenchmarkOrder keep.
const benchLive = 64 << 10

// BenchmarkInfer is inference alone: transactions in, dependencies out, and each
// let go in its turn.
func BenchmarkInfer(b *testing.B) {
	f := newFeed(b)
	s := infer.New(Config{Contract: Contract{Complete: true}}.WithDefaults().inferOptions())
	var out infer.Out
	var live []uint32
	watermark := int64(0)
	step := func(batch *fed) {
		for at := range batch.txns {
			if at%warmAhead == 0 {
				s.Plan(&batch.Batch, batch.txns[at:min(at+warmAhead, len(batch.txns))])
			}
			t := &batch.Txns[at]
			out.Reset()
			live = append(live, s.Add(&batch.Batch, t, t.Start, t.End, &out))
			watermark = max(watermark, t.End-int64(25*time.Millisecond))
			if s.Undecided(watermark, math.MinInt64) {
				s.Decide(watermark, math.MinInt64, &out)
			}
		}
		for len(live) > benchLive {
			gone := live[:warmAhead]
			s.WarmRetire(gone)
			for _, n := range gone {
				out.Reset()
				s.Retire(n, &out)
			}
			live = live[warmAhead:]
		}
	}
	timeSteps(b, f, step, nil)
}

// ordered holds what inference gave for one transaction.
type ordered struct {
	vertex     incremental.Vertex
	start, end int64
	first, n   int // edges
}

// BenchmarkOrder is the order of one level alone, with the dependencies that
// inference gives for the same stream.
func BenchmarkOrder(b *testing.B) {
	f := newFeed(b)
	window := int64(f.span(benchLive))
	s := infer.New(Config{Contract: Contract{Complete: true}}.WithDefaults().inferOptions())
	view, _ := isolation.Level{Base: isolation.Serializable}.View()
	g := incremental.New(view)
	var out infer.Out
	var todo []ordered
	var edges []incremental.Arc
	var retired []incremental.Vertex
	newest := int64(0)
	// Off the clock: what has retired leaves inference, and the next batch enters it.
	prepare := func(batch *fed) {
		for _, v := range retired {
			out.Reset()
			s.Retire(uint32(v), &out)
		}
		todo, edges = todo[:0], edges[:0]
		for i := range batch.Txns {
			t := &batch.Txns[i]
			out.Reset()
			s.Add(&batch.Batch, t, t.Start, t.End, &out)
			for _, n := range out.Nodes {
				todo = append(todo, ordered{incremental.Vertex(n), t.Start, t.End, len(edges), len(out.Edges)})
			}
			for _, e := range out.Edges {
				edges = append(edges, incremental.Arc{
					From: incremental.Vertex(e.From), To: incremental.Vertex(e.To), Labels: incremental.Labels(e.Label), Note: [2]uint32{e.Version, e.Witness},
				})
			}
			newest = max(newest, t.End)
		}
		out.Reset()
		s.Decide(newest-int64(25*time.Millisecond), math.MinInt64, &out)
	}
	step := func(*fed) {
		for i := range todo {
			x := &todo[i]
			es := edges[x.first : x.first+x.n]
			done := g.AddWith(x.vertex, incremental.Place{Begin: x.start, Commit: x.end, Settle: x.end}, es)
			for _, a := range es[done:] {
				e := incremental.Edge{From: a.From, To: a.To, Labels: a.Labels, Note: a.Note}
				if _, ref := g.AddEdgeIn(&e, 1); ref != (incremental.Refusal{}) {
					b.Errorf("an edge of a valid stream was refused: %+v", ref)
				}
			}
		}
		retired = g.Retire(newest - window)
		for i, v := range retired {
			if i%warmAhead == 0 {
				g.Warm(retired[i:min(i+warmAhead, len(retired))])
			}
			g.Free(v)
		}
	}
	timeSteps(b, f, step, prepare)
	b.ReportMetric(float64(g.NumLive()), "live")
}

// timeSteps warms up with twice benchLive transactions and times the steps of b.N
// more, but not what prepare does before each.
func timeSteps(b *testing.B, f *feed, step, prepare func(*fed)) {
	var took time.Duration
	for _, n := range []int{2 * benchLive, b.N} {
		took = 0
		batches, done := f.run(n)
		for batch := range batches {
			if prepare != nil {
				prepare(batch)
			}
			t := time.Now()
			step(batch)
			took += time.Since(t)
			done <- batch
		}
	}
	b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/op")
	b.ReportMetric(float64(b.N)/took.Seconds(), "txn/s")
}

// BenchmarkDivide is a write cycle at all levels among 64,000 live transactions: the one
// order that stands for all is divided into one a level.
func BenchmarkDivide(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		m := New(Config{Levels: isolation.Encoded()})
		g := m.graph
		const n = benchLive
		for v := incremental.Vertex(1); v <= n; v++ {
			at := int64(v) * 10
			g.AddVertex(v, incremental.Place{Begin: at, Commit: at + 5, Settle: at, NotBefore: math.MinInt64, NotAfter: math.MaxInt64}, nil)
			if v > 3 {
				g.AddEdge(incremental.Edge{From: v - 1, To: v, Labels: incremental.Labels(infer.WW)})
				g.AddEdge(incremental.Edge{From: v - 3, To: v, Labels: incremental.Labels(infer.WR)})
			}
		}
		b.StartTimer()
		g.AddEdge(incremental.Edge{From: n, To: n - 5, Labels: incremental.Labels(infer.WW)})
		b.ReportMetric(float64(g.Orders()), "orders")
	}
}
