package app

import (
	"context"
	"time"
)

// unwatched is how long each unit was not watched, as far as this member can tell. A unit that another living member has is not
// its business: that member tells.
type unwatched struct {
	since map[string]time.Time // by unit: when somebody watched it, or when this member met it
	told  map[string]bool      // by unit: it is this member's to tell
	free  int                  // units without a living owner
	// looked is when this member looked last, and paused the longest time between two looks within the last two leases.
	looked, pausedAt time.Time
	paused           time.Duration
}

// followUnits looks four times in a lease who watches what.
func (g *Group) followUnits(ctx context.Context) {
	for {
		now := time.Now()
		g.mu.Lock()
		g.watched.note(now, g.config.Group.Lease)
		g.mu.Unlock()
		g.lookAtUnits(now)
		g.lookAtLease()
		g.reserve()
		select {
		case <-ctx.Done():
			return
		case <-time.After(g.config.Group.Lease / 4):
		}
	}
}

func (g *Group) lookAtUnits(now time.Time) {
	runs := map[string]bool{}
	for _, u := range g.running() {
		u.mu.Lock()
		runs[u.name] = u.app != nil
		u.mu.Unlock()
	}
	all := g.member.Units()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watched.free = 0
	for _, x := range all {
		watches, mine := runs[x.Unit], x.Mine
		if _, met := g.watched.since[x.Unit]; !met || watches || !mine && x.Alive {
			g.watched.since[x.Unit] = now
		}
		g.watched.told[x.Unit] = mine || !x.Alive
		if !mine && !x.Alive {
			g.watched.free++
		}
	}
}

// lacking is how long each unit was not watched.
func (w *unwatched) lacking(now time.Time, lease time.Duration) map[string]time.Duration {
	all := map[string]time.Duration{}
	for unit, since := range w.since {
		if w.told[unit] {
			if all[unit] = max(now.Sub(since), 0); all[unit] <= lease/2 { // the next look may show that it is watched
				all[unit] = 0
			}
		}
	}
	return all
}
