package nats

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"github.com/isowatch/isowatch/ingest"
)

// BenchmarkRead reads a stored stream to its end, server and reader in one
// process over TCP, nothing decoded. One operation is one event.
func BenchmarkRead(b *testing.B) {
	event := append(bytes.Repeat([]byte("x"), 339), '\n')
	for _, c := range []struct {
		name     string
		events   int // a message
		messages int // stored
	}{
		{"1 event a message", 1, 300_000},
		{"100 events a message", 100, 10_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newSite(b)
			payload := bytes.Repeat(event, c.events)
			for i := range c.messages {
				if _, err := s.js.PublishAsync("events.a", payload); err != nil {
					b.Fatal(err)
				}
				if i%500 == 0 {
					<-s.js.PublishAsyncComplete() // the client gives up at 4000 unanswered
				}
			}
			<-s.js.PublishAsyncComplete()
			src, err := New(Options{Conn: s.nc, Stream: testStream})
			if err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			b.ResetTimer()
			chunks := 0
			for left := b.N; left > 0; {
				messages := min((left+c.events-1)/c.events, c.messages)
				chunks += readMessages(b, src, messages)
				left -= messages * c.events
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(b.N)/float64(chunks), "events/chunk")
		})
	}
}

// readMessages reads the first n messages of the stream and counts the chunks.
func readMessages(b *testing.B, src *Source, n int) (chunks int) {
	ctx, cancel := context.WithCancel(b.Context())
	out, done := make(chan ingest.Chunk, 4), make(chan error, 1)
	go func() { done <- src.Run(ctx, nil, out) }()
	for n > 0 {
		c := <-out
		n -= len(c.Messages)
		chunks++
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	return chunks
}
