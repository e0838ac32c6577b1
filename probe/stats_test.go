package probe

import (
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
)

// Each number is in the one bucket that ends at or above it, and begins above the one before.
func TestBuckets(t *testing.T) {
	for _, n := range []uint64{0, 1, 7, 8, 9, 15, 16, 17, 1000, 1 << 20, 1<<20 - 1, 1<<62 + 5, 1<<63 - 1} {
		b := bucket(n)
		if upper(b) < n || b > 0 && upper(b-1) >= n {
			t.Errorf("%d is counted in bucket %d, up to %d", n, b, upper(b))
		}
	}
}

func TestStats(t *testing.T) {
	var s Stats
	if got := s.Latency(0.5); got != 0 {
		t.Errorf("latency without transactions: %v", got)
	}
	for n := range 100 {
		status := event.Committed
		if n < 10 {
			status = event.Aborted
		}
		s.Add(&event.Record{Status: status, Start: 5, End: 5 + int64(n+1)*int64(time.Millisecond)})
	}
	s.Add(&event.Record{Status: event.Unknown, Start: 5, End: 4})
	committed, aborted, unknown := s.Outcomes()
	if committed != 90 || aborted != 10 || unknown != 1 {
		t.Errorf("%d, %d, %d", committed, aborted, unknown)
	}
	if got := s.Latency(0.5); got < 49*time.Millisecond || got > 57*time.Millisecond {
		t.Errorf("p50 %v", got)
	}
	if got := s.Latency(1); got != 100*time.Millisecond {
		t.Errorf("max %v", got)
	}
}
