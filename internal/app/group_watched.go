package app

import (
	"context"
	"maps"
	"time"
)

// unwatched knows how long each unit was not watched, as far as this member can tell. If another living
// member has the unit, that member tells it.
type unwatched struct {
	since map[string]time.Time // by unit: when somebody last watched it, or when this member first met it
	told  map[string]bool      // by unit: this member has to tell it
	free  int                  // units without a living owner
	// looked is when this member looked last. paused is the longest time between two looks within the last two leases.
	looked, pausedAt time.Time
	paused           time.Duration
	owns             int                  // how many units this member owns by the store, and does not watch
	mine             map[string]time.Time // by unit: since when this member owns it and does not watch it
	stuck            map[string]bool      // units that this member owns, and has not watched for longer than patience; true: it was logged
}

// followUnits looks four times in a lease who watches what.
func (g *Group) followUnits(ctx context.Context) {
	for {
		now := time.Now()
		g.mu.Lock()
		g.watched.note(now, g.config.Group.Lease)
		g.mu.Unlock()
		if g.lookAtUnits(now) {
			g.about.begins()
		}
		g.lookAtLease()
		g.reserve()
		select {
		case <-ctx.Done():
			return
		case <-time.After(g.config.Group.Lease / 4):
		}
	}
}

// patience is how many leases an owner may take to begin a unit. After that the member tells that
// nobody watches the unit.
const patience = 2

// lookAtUnits says whether other units are stuck than at the look before.
func (g *Group) lookAtUnits(now time.Time) (changed bool) {
	runs, has, asking := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, u := range g.running() {
		u.mu.Lock()
		runs[u.name], has[u.name], asking[u.name] = u.app != nil, true, u.asking.Load()
		u.mu.Unlock()
	}
	all := g.member.Units()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watched.free, g.watched.owns = 0, 0
	stuck := map[string]bool{}
	for _, x := range all {
		watches, mine := runs[x.Unit], x.Mine
		if _, met := g.watched.since[x.Unit]; !met || watches || !mine && x.Alive {
			g.watched.since[x.Unit] = now
		}
		g.watched.told[x.Unit] = mine || !x.Alive
		if !mine && !x.Alive {
			g.watched.free++
		}
		if mine && !has[x.Unit] {
			g.watched.owns++
		}
		if !mine || watches {
			delete(g.watched.mine, x.Unit)
			continue
		}
		if g.watched.mine[x.Unit].IsZero() {
			g.watched.mine[x.Unit] = now
		}
		since := now.Sub(g.watched.mine[x.Unit])
		if since <= patience*g.config.Group.Lease {
			continue
		}
		told := g.watched.stuck[x.Unit]
		tells := !told && !asking[x.Unit] && !g.leaving.Load()
		if stuck[x.Unit] = told || tells; tells {
			g.log.Error(
				"this member has the unit, and does not watch it: its log says why. If it does not, stop this member, and another one takes the unit",
				"unit",
				x.Unit,
				"term",
				x.Term,
				"for",
				since.Round(time.Second).String(),
			)
		}
	}
	changed = !maps.Equal(stuck, g.watched.stuck)
	g.watched.stuck = stuck
	return changed
}

// stuck are the units that this member owns and does not watch, and for how long.
func (g *Group) stuck(now time.Time) map[string]time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[string]time.Duration{}
	for unit := range g.watched.stuck {
		all[unit] = now.Sub(g.watched.mine[unit])
	}
	return all
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
