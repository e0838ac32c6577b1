package app

import (
	"context"
	"testing"
	"time"
)

// TestCredit: what does not fit waits, and a message that is larger than all waits until it is alone.
// At the end, nobody waits for ever.
func TestCredit(t *testing.T) {
	c := newCredit(10)
	ctx, stop := context.WithCancel(t.Context())
	if got := c.take(ctx, 6); got != 6 || c.bytes() != 6 {
		t.Fatalf("%d taken, %d held", got, c.bytes())
	}
	large := make(chan int64)
	go func() { large <- c.take(ctx, 99) }()
	select {
	case <-large:
		t.Fatal("a large message did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	c.give(6)
	if got := <-large; got != 10 || c.bytes() != 10 {
		t.Fatalf("%d taken, %d held", got, c.bytes())
	}
	go func() { large <- c.take(ctx, 1) }()
	stop()
	if got := <-large; got != 0 || c.bytes() != 10 {
		t.Fatalf("after the end %d taken, %d held", got, c.bytes())
	}
	c.give(0)
	c.give(10)
	if c.bytes() != 0 {
		t.Errorf("%d held", c.bytes())
	}
	var none *credit
	none.give(none.take(t.Context(), 5))
	if newCredit(0) != nil || none.bytes() != 0 {
		t.Error("no credit bounds something")
	}
}
