package probe

import (
	"math/rand/v2"
	"time"
)

// atOnce is within which sessions begin transactions that are due at the same time.
const atOnce = 500 * time.Microsecond

// pace says when a session's transactions are due: at the same times as in all other sessions.
// Anomalies need transactions that overlap. At a low rate, sessions that each went their own
// way would hardly ever meet.
type pace struct {
	mean time.Duration // between two transactions of a session; 0: there is none
	rng  *rand.Rand    // the same for all sessions
	due  time.Time
}

func newPace(o *Options, began time.Time) pace {
	p := pace{rng: rand.New(rand.NewPCG(o.Seed, 1<<63)), due: began}
	if o.Rate > 0 {
		p.mean = time.Duration(float64(o.Sessions) / o.Rate * float64(time.Second))
	}
	return p
}

// next is how long to wait for the next transaction. A missed transaction is not made good. The
// times between are from half to one and a half of the mean.
func (p *pace) next(now time.Time) time.Duration {
	if p.mean == 0 {
		return 0
	}
	for first := true; first || p.due.Before(now); first = false {
		p.due = p.due.Add(time.Duration(float64(p.mean) * (0.5 + p.rng.Float64())))
	}
	return p.due.Sub(now)
}

// late is how much later than the others the session begins.
func (c *client) late() time.Duration {
	if c.pace.mean == 0 {
		return 0
	}
	return min(time.Duration(c.rng.Int64N(int64(atOnce))), c.pace.mean/2)
}
