package window

import (
	"runtime"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// countedBatches of feedBatch transactions are stepped by BenchmarkCounted.
const countedBatches = 20

// stepCounted is a function of its own, so that callgrind can be told to count
// nothing else: docs/design.md, what a step costs.
//
//go:noinline
func stepCounted(m *Machine, b *fed, eff *Effects) { m.Step(&b.Batch, b.txns, 0, eff) }

// BenchmarkCounted is BenchmarkCore for SER at 64,000 live on one thread, for a
// profiler that counts: once (-benchtime 1x) it steps countedBatches in stepCounted.
func BenchmarkCounted(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f := newFeed(b)
	m := New(Config{
		Levels: []isolation.Level{{Base: isolation.Serializable}}, Contract: Contract{Complete: true}, LiveCap: 4 << 20,
		Lateness: For(25e6), Window: For(f.span(benchLive) - 25e6),
	})
	var eff Effects
	var batch fed
	for range 2 * benchLive / feedBatch {
		f.next(&batch, feedBatch)
		m.Step(&batch.Batch, batch.txns, 0, &eff)
	}
	b.StopTimer()
	b.ResetTimer()
	for range b.N * countedBatches {
		f.next(&batch, feedBatch)
		b.StartTimer()
		stepCounted(m, &batch, &eff)
		b.StopTimer()
	}
	if len(eff.Findings) > 0 {
		b.Fatalf("findings on a valid stream: %v", eff.Findings[0].Explanation)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*countedBatches*feedBatch), "ns/txn")
}
