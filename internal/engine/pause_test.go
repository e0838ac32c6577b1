package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// BenchmarkPause is how long a step stands still for a snapshot, kept by a child and copied.
func BenchmarkPause(b *testing.B) {
	for _, live := range []int{100_000, 1_000_000} {
		st, err := store.Open(b.TempDir(), store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		e, err := Open(st, Options{SnapshotBytes: 1 << 40, Configure: func(string) window.Config {
			return window.Config{Window: window.For(time.Hour), Lateness: window.For(25 * time.Millisecond)}
		}})
		if err != nil {
			b.Fatal(err)
		}
		gen, err := workload.NewGenerator(workload.Config{Count: live}, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			b.Fatal(err)
		}
		in := make(chan ingest.Chunk)
		go func() {
			defer close(in)
			c := ingest.Chunk{Partition: "p"}
			for n := int64(0); ; n++ {
				t, ok := gen.Next()
				if len(c.Messages) == 1000 || !ok {
					c.Cursor.Next = n
					in <- c
					c.Messages = nil
				}
				if !ok {
					return
				}
				c.Messages = append(c.Messages, ingest.Message{Offset: n, Value: workload.AppendJSON(nil, &t)})
			}
		}()
		if err := e.Run(context.Background(), in, false); err != nil {
			b.Fatal(err)
		}
		for _, c := range []struct {
			name string
			from int64
		}{{"kept", 1}, {"copied", 1 << 60}} {
			b.Run(fmt.Sprintf("live=%d/%s", live, c.name), func(b *testing.B) {
				before := instantFrom
				instantFrom = c.from
				defer func() { instantFrom = before }()
				longest := time.Duration(0)
				for range b.N {
					began := time.Now()
					s := e.takeSnapshot()
					longest = max(longest, time.Since(began))
					b.StopTimer()
					b.ReportMetric(float64(s.size)/(1<<20), "state-MiB")
					s.drop()
					b.StartTimer()
				}
				b.ReportMetric(float64(longest.Microseconds())/1000, "max-ms")
			})
		}
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
