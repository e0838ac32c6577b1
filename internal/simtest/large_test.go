package simtest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/isowatch/isowatch/window"
)

// Sizes at which work that grows with their square shows as minutes: this file is
// a second or two when it does not. No time is asserted.
const (
	bulkKeys    = 50_000
	sameWrites  = 50_000
	blindWrites = 50_000
)

// TestLarge feeds histories with one large dimension each through a window that
// retires all of it, and expects no finding.
func TestLarge(t *testing.T) {
	var txns int
	record := func(end int64, ops string) []byte {
		txns++
		return fmt.Appendf(nil, `{"txn":"t%d","status":"committed","start":%d,"end":%d,"ops":[%s]}`, txns, end-500, end, ops)
	}
	later := func(records [][]byte, end int64) [][]byte {
		for i := range int64(20) {
			records = append(records, record(end+i*int64(time.Second), fmt.Sprintf(`{"op":"w","key":"later","value":%d}`, i)))
		}
		return records
	}
	bulk := func() [][]byte {
		var records [][]byte
		for round := range int64(2) {
			var ops bytes.Buffer
			for k := range bulkKeys {
				if k > 0 {
					ops.WriteByte(',')
				}
				fmt.Fprintf(&ops, `{"op":"w","key":"k%d","value":"%d.%d"}`, k, round, k)
			}
			records = append(records, record((round+1)*int64(time.Second), ops.String()))
		}
		return later(records, int64(5*time.Second))
	}
	writes := func(n int, op string) [][]byte {
		var records [][]byte
		for i := range n {
			text := op
			if text == "" {
				text = fmt.Sprintf(`{"op":"w","key":"x","value":%d}`, i)
			}
			records = append(records, record(int64(i+1)*1000, text))
		}
		return later(records, int64(time.Second))
	}
	for _, c := range []struct {
		name    string
		records [][]byte
	}{
		{"keys of one transaction", bulk()},
		{"writes of one value", writes(sameWrites, `{"op":"w","key":"x","value":"done"}`)},
		{"blind writes of one key", writes(blindWrites, "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := window.Config{Window: window.For(time.Second), Lateness: window.For(time.Millisecond), MaxTxn: time.Second}
			out := runConfigured(t, cfg, c.records, cut{name: c.name, step: 1000})
			for _, f := range out.findings {
				t.Errorf("%s: %s", f.Anomaly, f.Explanation)
			}
			if got, want := out.counters.Committed, int64(len(c.records)); got != want {
				t.Errorf("%d transactions, want %d", got, want)
			}
		})
	}
}
