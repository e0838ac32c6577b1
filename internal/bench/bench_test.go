package bench

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
	natssource "github.com/isowatch/isowatch/ingest/nats"
	"github.com/isowatch/isowatch/ingest/tail"
	broker "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
	"github.com/nats-io/nats.go/jetstream"
)

// events is how many transactions each input holds.
const events = 600_000

// lines are the events as JSON.
func lines(tb testing.TB, cfg workload.Config) [][]byte {
	tb.Helper()
	cfg.Kind, cfg.Count, cfg.Interval = workload.Registers, cmp.Or(cfg.Count, events), cmp.Or(cfg.Interval, 50*time.Microsecond)
	gen, err := workload.NewGenerator(cfg, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		tb.Fatal(err)
	}
	arrivals := workload.NewArrivals(gen, 20*time.Millisecond, rand.New(rand.NewPCG(2, 2)))
	var out [][]byte
	for {
		t, ok := arrivals.Next()
		if !ok {
			return out
		}
		out = append(out, workload.AppendJSON(nil, &t))
	}
}

// levels list what a row's engine watches.
var levels = []struct {
	name   string
	levels []isolation.Level
}{
	{"one-level", []isolation.Level{{Base: isolation.Serializable}}},
	{"four-levels", isolation.Watched()},
}

// measure reads n events from the source, once only decoding and once for each
// set of levels to durable verdict.
func measure(b *testing.B, src func() ingest.Source, n int) {
	b.Run("decode-only", func(b *testing.B) {
		report(b, n, func(in <-chan ingest.Chunk) int {
			var d event.Decoder
			var batch event.Batch
			seen := 0
			for c := range in {
				batch.Reset()
				for i := range c.Messages {
					d.DecodeMessage(&batch, event.Position{}, c.Messages[i].Value)
				}
				if seen += len(batch.Txns); seen >= n {
					break
				}
			}
			return seen
		}, src)
	})
	for _, l := range levels {
		b.Run(l.name, func(b *testing.B) {
			report(b, n, func(in <-chan ingest.Chunk) int { return verdict(b, in, n, l.levels) }, src)
		})
	}
}

func report(b *testing.B, n int, consume func(<-chan ingest.Chunk) int, src func() ingest.Source) {
	for range b.N {
		ctx, cancel := context.WithCancel(b.Context())
		chunks, done := make(chan ingest.Chunk, 4), make(chan error, 1)
		s := src()
		go func() { done <- s.Run(ctx, nil, chunks) }()
		if got := consume(chunks); got < n {
			b.Fatalf("%d events, want %d", got, n)
		}
		cancel()
		if err := <-done; err != nil && ctx.Err() == nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "txn/s")
}

// verdict runs an engine until n events are committed.
func verdict(b *testing.B, in <-chan ingest.Chunk, n int, ls []isolation.Level) int {
	st, err := store.Open(b.TempDir(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var e *engine.Engine
	e, err = engine.Open(st, engine.Options{
		Configure: func(string) window.Config {
			return window.Config{
				Levels: ls, Contract: window.Contract{Complete: true},
				Window: window.For(2 * time.Second), Lateness: window.For(25 * time.Millisecond),
			}
		},
		Now: func() int64 { return time.Now().UnixNano() },
		Committed: func(int) {
			if e.Status().Records >= int64(n) {
				cancel()
			}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Run(ctx, in, false); err != nil {
		b.Fatal(err)
	}
	s := e.Status()
	for _, x := range s.Sources {
		if len(x.Findings) > 0 {
			b.Fatalf("findings on a valid stream: %+v", x)
		}
	}
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
	return int(s.Records)
}

func BenchmarkFile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "events.jsonl")
	all := lines(b, workload.Config{})
	if err := os.WriteFile(path, append(bytes.Join(all, []byte("\n")), '\n'), 0o644); err != nil {
		b.Fatal(err)
	}
	measure(b, func() ingest.Source {
		s, err := tail.New(tail.Options{Globs: []string{path}, Follow: true})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}, len(all))
}

func BenchmarkNATS(b *testing.B) {
	readFirst := lines(b, workload.Config{})
	for _, c := range []struct {
		name  string
		per   int
		blind bool // half of the operations are writes, and none follows a read
	}{{"1-a-message", 1, false}, {"100-a-message", 100, false}, {"blind/100-a-message", 100, true}} {
		b.Run(c.name, func(b *testing.B) {
			all := readFirst
			if c.blind {
				all = lines(b, workload.Config{Blind: 1, WriteRatio: 0.5})
			}
			server, err := broker.StartEmbedded(b.Context(), broker.EmbeddedOptions{
				Dir: b.TempDir(), Port: -1, Stream: "BENCH", Subjects: []string{"bench.>"},
			})
			if err != nil {
				b.Fatal(err)
			}
			defer server.Close()
			conn, err := broker.Connect(broker.Options{URLs: []string{server.URL()}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			js, err := jetstream.New(conn)
			if err != nil {
				b.Fatal(err)
			}
			for i := 0; i < len(all); i += c.per {
				if _, err := js.PublishAsync("bench.a", bytes.Join(all[i:min(i+c.per, len(all))], []byte("\n"))); err != nil {
					b.Fatal(err)
				}
				if i/c.per%500 == 0 {
					<-js.PublishAsyncComplete()
				}
			}
			<-js.PublishAsyncComplete()
			measure(b, func() ingest.Source {
				s, err := natssource.New(natssource.Options{Conn: conn, Stream: "BENCH"})
				if err != nil {
					b.Fatal(err)
				}
				return s
			}, len(all))
		})
	}
}
