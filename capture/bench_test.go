package capture

import (
	"context"
	"testing"

	"github.com/isowatch/isowatch/event/record"
)

// nowhere is a sink that takes everything.
type nowhere struct{}

func (nowhere) Write(context.Context, [][]byte) error { return nil }
func (nowhere) Close() error                          { return nil }

// stored is a value as a driver gives it: it is an interface already.
var stored = []any{int64(184411), int64(184467), "184411", "184467"}

func benchRecorder(tb testing.TB, opts ...Option) (*Recorder, *Session) {
	r, err := New(nowhere{}, "bank", opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Close(context.Background()) })
	return r, r.Session("worker")
}

// transfer records a transaction of two reads and two writes.
func transfer(r *Recorder, s *Session) {
	t := r.Begin(Begin{Session: s, Isolation: "serializable", Name: "pay"})
	t.Read("accounts/421", stored[0], Version(int64(7001)))
	t.Read("accounts/422", stored[2], Version(int64(7002)))
	t.Write("accounts/421", stored[1], Version(int64(7005)))
	t.Write("accounts/422", stored[3], Version(int64(7005)))
	t.End(Committed)
}

// BenchmarkCapture measures what a transaction of two reads and two writes costs the
// goroutine that runs it. Encoding alone is what any producer of the format pays;
// hashed minus encoding must stay below 2 us and 2 allocations.
func BenchmarkCapture(b *testing.B) {
	for _, c := range []struct {
		name string
		opts []Option
	}{
		{"hashed", []Option{WithKey(make([]byte, 32))}},
		{"plain", []Option{WithPlainValues()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, s := benchRecorder(b, c.opts...)
			b.ReportAllocs()
			for b.Loop() {
				transfer(r, s)
			}
		})
	}
	b.Run("encoding", func(b *testing.B) {
		rec := record.Record{
			ID: "55prbc2pfxgmw-184467", Source: "bank", Session: "worker/55prbc2pfxgmw.1", Name: "pay", Isolation: "serializable", Status: Committed,
			Flags: record.HasTimes | record.HasSeq, Seq: 184467, Start: 1760000000123456789, End: 1760000000125456789,
			Ops: []record.Op{
				{Kind: record.Read, Key: "accounts/421", Value: `"b_NXFTLke3K3H-18gpiaVA"`, Version: "7001"},
				{Kind: record.Read, Key: "accounts/422", Value: `"b_NXFTLke3K3H-18gpiaVA"`, Version: "7002"},
				{Kind: record.Write, Key: "accounts/421", Value: `"b_NXFTLke3K3H-18gpiaVA"`, Version: "7005"},
				{Kind: record.Write, Key: "accounts/422", Value: `"b_NXFTLke3K3H-18gpiaVA"`, Version: "7005"},
			},
		}
		var line []byte
		b.ReportAllocs()
		for b.Loop() {
			line = record.AppendJSON(line[:0], &rec)
		}
	})
}
