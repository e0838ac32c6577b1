package pulse

import (
	"testing"
	"time"
)

// TestNext: waits that begin at any time end at the same instants, and each is more than nothing.
func TestNext(t *testing.T) {
	for _, since := range []time.Duration{0, 1, 999, 1000, 1001, 123_456} {
		wait := next(since, 1000)
		if wait <= 0 || wait > 1000 || (since+wait)%1000 != 0 {
			t.Errorf("after %d: %d", since, wait)
		}
	}
}
