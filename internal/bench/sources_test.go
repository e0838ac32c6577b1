//go:build linux

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/workload"
)

// BenchmarkSources splits one stream over 1, 64, 250 and 1,000 sources: the rate and the
// transactions in the window are the same together. It prints what a transaction costs, in
// microseconds of processor time: at full speed, and at 5,000 transactions a second, where most
// steps have no record of most sources.
func BenchmarkSources(b *testing.B) {
	for _, n := range []int{1, 64, 250, 1000} {
		all := manySources(b, n)
		for _, rate := range []int{0, 5_000} {
			name, lines := fmt.Sprintf("%d/full-speed", n), all
			if rate > 0 {
				name, lines = fmt.Sprintf("%d/%d-a-second", n, rate), all[:10*rate]
			}
			b.Run(name, func(b *testing.B) {
				began := processorTime()
				report(b, len(lines), func(in <-chan ingest.Chunk) int {
					return verdict(b, in, len(lines), []isolation.Level{{Base: isolation.Serializable}})
				}, func() ingest.Source { return paced{lines, rate} })
				b.ReportMetric(float64((processorTime()-began).Microseconds())/float64(len(lines)*b.N), "cpu-us/txn")
			})
		}
	}
}

// manySources has the lines of n sources that take turns.
func manySources(b *testing.B, n int) [][]byte {
	each := make([][][]byte, n)
	for i := range each {
		each[i] = lines(b, workload.Config{
			Count: events / n, Source: fmt.Sprintf("shop-%03d", i), Interval: time.Duration(n) * 50 * time.Microsecond,
			Sessions: max(4, 64/n), Keys: max(40, 10_000/n),
		})
	}
	var all [][]byte
	for at := range each[0] {
		for _, x := range each {
			all = append(all, x[at])
		}
	}
	return all
}

// paced gives its lines at a rate a second, 0: as fast as they are taken.
type paced struct {
	lines [][]byte
	rate  int
}

func (p paced) Run(ctx context.Context, _ map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	each := 1000
	if p.rate > 0 {
		each = p.rate / 1000 // a chunk a millisecond
	}
	began := time.Now()
	for at := 0; at < len(p.lines); {
		c := ingest.Chunk{Partition: "paced"}
		for ; at < len(p.lines) && len(c.Messages) < each; at++ {
			c.Messages = append(c.Messages, ingest.Message{Offset: int64(at), Value: p.lines[at]})
		}
		c.Cursor.Next = int64(at)
		if p.rate > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(at) * time.Second / time.Duration(p.rate))))
		}
		select {
		case out <- c:
		case <-ctx.Done():
			return nil
		}
	}
	<-ctx.Done()
	return nil
}
