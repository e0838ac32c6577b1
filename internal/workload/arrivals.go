package workload

import (
	"math/rand/v2"
	"time"
)

// Arrivals yields a generator's transactions as a broker would deliver them:
// each arrives a random time of at most lateness after its end. So when one
// arrives, no transaction that arrived before it ended more than lateness
// after it. With lateness 0 they arrive in the order of their ends.
type Arrivals struct {
	gen      *Generator
	rng      *rand.Rand
	lateness int64
	waiting  schedule[Txn] // by arrival
}

// NewArrivals returns the arrivals of gen's transactions. rng may be gen's own.
func NewArrivals(gen *Generator, lateness time.Duration, rng *rand.Rand) *Arrivals {
	return &Arrivals{gen: gen, rng: rng, lateness: int64(lateness)}
}

// Next returns the next transaction to arrive, or false when none is left.
func (a *Arrivals) Next() (Txn, bool) {
	for len(a.waiting.entries) == 0 || a.waiting.entries[0].at > a.gen.Clock() {
		t, ok := a.gen.Next()
		if !ok {
			break
		}
		at := t.End
		if a.lateness > 0 {
			at += a.rng.Int64N(a.lateness + 1)
		}
		a.waiting.push(at, t)
	}
	if len(a.waiting.entries) == 0 {
		return Txn{}, false
	}
	_, t := a.waiting.pop()
	return t, true
}
