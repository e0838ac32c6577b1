package app

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// credit bounds the bytes that several hold at one time. The nil credit bounds nothing.
type credit struct {
	most int64
	all  *semaphore.Weighted
	held atomic.Int64
}

// newCredit is a credit of so many bytes; 0: nothing is bounded, nil.
func newCredit(most int64) *credit {
	if most == 0 {
		return nil
	}
	return &credit{most: most, all: semaphore.NewWeighted(most)}
}

// take waits for n bytes, in the order of the calls, and returns what it took. A larger n waits until
// it is alone. At the end of ctx it takes nothing.
func (c *credit) take(ctx context.Context, n int64) (taken int64) {
	if c == nil {
		return 0
	}
	if n = min(n, c.most); c.all.Acquire(ctx, n) != nil {
		return 0
	}
	c.held.Add(n)
	return n
}

// give gives back what take took.
func (c *credit) give(taken int64) {
	if c != nil {
		c.held.Add(-taken)
		c.all.Release(taken)
	}
}

// bytes are held now.
func (c *credit) bytes() int64 {
	if c == nil {
		return 0
	}
	return c.held.Load()
}
