package alert

import (
	"context"
	"time"
)

// Keeper is a sink that remembers what it was given: it groups, holds back, or sends
// again. Its memory is stored together with its cursor. So after a crash at any
// instant it knows the findings that it had been given, and no more.
//
// Its methods are called by one goroutine at a time.
type Keeper interface {
	Sink
	// Restore puts back what State gave in an earlier life, and is called before
	// anything else; nil when nothing was stored. It forgets a state that it cannot read,
	// and gives an error.
	Restore(state []byte) error
	// State returns the state that is to be stored. After an error of Deliver or Flush it is as
	// before.
	State() ([]byte, error)
	// Due is when Flush is to be called; the zero time: not before the next delivery.
	Due() time.Time
	// Flush sends what is due.
	Flush(ctx context.Context) error
}

// Digester is a sink that takes digests of findings that were held back.
type Digester interface {
	Sink
	Digest(ctx context.Context, held []Held) error
}
