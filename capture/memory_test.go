package capture

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// memory is a sink that keeps what it gets.
type memory struct {
	mu      sync.Mutex
	text    bytes.Buffer
	records int
}

func (m *memory) Write(_ context.Context, lines [][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range lines {
		m.text.Write(line)
		m.text.WriteByte('\n')
	}
	m.records += len(lines)
	return nil
}

func (m *memory) Close() error { return nil }

// recorded runs f on a recorder and returns the lines of its records.
func recorded(t testing.TB, f func(r *Recorder), opts ...Option) string {
	t.Helper()
	var m memory
	r, err := New(&m, "bank", opts...)
	if err != nil {
		t.Fatal(err)
	}
	f(r)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m.text.String()
}

// decoded are the records in lines, which must all be transactions.
func decoded(t testing.TB, lines string) []event.Record {
	t.Helper()
	var d event.Decoder
	var b event.Batch
	d.DecodeMessage(&b, event.Position{}, []byte(lines))
	for _, bad := range b.Bad {
		t.Errorf("%s: %s", bad.Reason, b.Text(bad.Raw))
	}
	all := make([]event.Record, len(b.Txns))
	for i := range b.Txns {
		all[i] = b.Record(&b.Txns[i])
	}
	return all
}

// one is the only record in lines.
func one(t testing.TB, lines string) event.Record {
	t.Helper()
	all := decoded(t, lines)
	if len(all) != 1 {
		t.Fatalf("%d records, want one:\n%s", len(all), strings.TrimSpace(lines))
	}
	return all[0]
}
