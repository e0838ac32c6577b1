package app

import (
	"context"
	"time"
)

// backoff waits ever longer between attempts: from least on, twice as long each time, to
// most, and of that from half to all.
type backoff struct {
	least, most time.Duration
	jitter      func() float64 // in [0, 1)

	next time.Duration // 0: least
}

// wait returns when the next attempt is due, or ctx has ended.
func (b *backoff) wait(ctx context.Context) {
	d := max(b.next, b.least)
	b.next = min(2*d, b.most)
	timer := time.NewTimer(d/2 + time.Duration(float64(d/2)*b.jitter()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// reset begins again with least, after an attempt that succeeded.
func (b *backoff) reset() { b.next = 0 }
