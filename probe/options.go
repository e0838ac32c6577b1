package probe

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Options say how a workload runs. Zero fields take the default named.
type Options struct {
	Source    string // of every record; default event.DefaultSource
	Epoch     string // of every record; default none
	Isolation string // that every record says it asked for; default: they say nothing

	Sessions int           // concurrent clients; default 8
	Keys     int           // of each kind that are in use at a time, from 4; default 20
	Rate     float64       // transactions a second, of all sessions; default: as fast as it goes
	Think    time.Duration // mean pause between two operations; default none
	Aborted  float64       // share of transactions that the client gives up before commit; default 0
	Duration time.Duration // after which no transaction begins; default: until the context ends
	Timeout  time.Duration // of one transaction; default 10 s
	Seed     uint64        // of what the sessions choose; their interleaving is the database's

	// Observer is told how the run fares; default nobody.
	Observer Observer
	// Now is the clock of the records; default the machine's.
	Now func() time.Time
	// Sleep waits, and returns early when ctx ends; default the machine's clock.
	Sleep func(ctx context.Context, d time.Duration)
}

func (o Options) withDefaults() (Options, error) {
	if o.Sessions == 0 {
		o.Sessions = 8
	}
	if o.Keys == 0 {
		o.Keys = 20
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return o, o.validate()
}

func (o *Options) validate() error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("probe: "+format, args...))
		}
	}
	require(o.Sessions > 0, "sessions %d: must be positive", o.Sessions)
	require(o.Keys >= 4, "keys %d: must be at least 4", o.Keys)
	require(o.Rate >= 0, "rate %g: must not be negative", o.Rate)
	require(o.Think >= 0, "think %v: must not be negative", o.Think)
	require(o.Aborted >= 0 && o.Aborted <= 1, "aborted %g: must be a share of 1", o.Aborted)
	require(o.Duration >= 0, "duration %v: must not be negative", o.Duration)
	require(o.Timeout > 0, "timeout %v: must be positive", o.Timeout)
	return errors.Join(faults...)
}

// sleep waits for d of the machine's time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
