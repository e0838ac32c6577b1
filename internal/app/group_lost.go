package app

import (
	"context"
	"errors"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/keep"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
)

// The store of a group may lose what it had: somebody deletes a bucket, removes a folder, or purges
// records or objects. Members log that once, and write what they know. If a unit's state is gone, it
// begins without it.

// tellLost says what the store has lost, by an event that shows it.
func (g *Group) tellLost(e group.Event) {
	switch {
	case e.Kind == group.Rewritten:
		g.log.Error(
			"the group's store has lost the record of a unit: it is written again, and the unit goes on under this term. Look who removes records there",
			"unit",
			e.Unit,
			"term",
			e.Term,
		)
	case e.Kind == group.Ended && e.Missing:
		g.log.Error(
			"the group's store has lost the record of this member: it was emptied or made again. This member joins again by itself. Units whose state is gone begin without it. Look who removes records there",
			"state",
			config.ShownState(g.config.Group.State),
		)
		g.all.Go(g.noteAgain)
	}
}

// noteAgain writes what a member writes when it joins, if the store has lost it.
func (g *Group) noteAgain() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*g.config.Group.Lease)
	defer cancel()
	mine, err := settingsOf(&g.config)
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		err := g.note(ctx)
		if err == nil {
			_, err = g.store.Create(ctx, settingsKey, []byte(mine))
		}
		if err == nil || errors.Is(err, group.ErrConflict) { // another member was faster
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(g.config.Group.Lease / 6):
		}
	}
}

// lookAtStates is how often a member looks whether the store still has the states of its units. A read may be old. So after rereadAfter
// it looks again before it believes that something is gone.
const (
	lookAtStates = time.Minute
	rereadAfter  = 3 * time.Second
)

// hasNoState says whether the store has no record of the unit's state.
func (g *Group) hasNoState(ctx context.Context, unit string) bool {
	ctx, cancel := groupstore.Within(ctx, 0)
	defer cancel()
	_, err := g.store.Get(ctx, group.StateKey(unit))
	return errors.Is(err, group.ErrNotFound)
}

// followStates has the state of a unit written again if the store has lost a part of it.
func (g *Group) followStates(ctx context.Context, every, again time.Duration) {
	wait := func(d time.Duration) bool {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(d):
			return true
		}
	}
	for wait(every) {
		_ = g.note(ctx) // without a success the next look tries again
		if lacks := g.lacking(ctx, every); len(lacks) > 0 && wait(again) {
			for keeper, why := range g.lacking(ctx, every) {
				if lacks[keeper] != nil {
					keeper.Lost(why)
				}
			}
		}
	}
}

// lacking are the states of own units that the store does not have as a whole, and why. Records that were written recently are there.
func (g *Group) lacking(ctx context.Context, recently time.Duration) map[*keep.Keeper]error {
	named := map[*keep.Keeper][]string{}
	lacks := map[*keep.Keeper]error{}
	for _, u := range g.running() {
		u.mu.Lock()
		keeper, runs := u.keeper, u.app != nil
		u.mu.Unlock()
		if keeper == nil || !runs {
			continue
		}
		if time.Since(keeper.Status().At) > recently && g.hasNoState(ctx, u.name) { // else a write has just seen it
			lacks[keeper] = errors.New("its record is gone from the group's store")
		}
		if names := keeper.Names(); len(names) > 0 {
			named[keeper] = names
		}
	}
	if len(named) == 0 {
		return lacks
	}
	ctx, cancel := groupstore.Within(ctx, 0)
	defer cancel()
	all, err := g.store.ListObjects(ctx, "")
	if err != nil {
		return lacks // the store is away: that is told elsewhere
	}
	there := map[string]bool{}
	for _, name := range all {
		there[name] = true
	}
	for keeper, names := range named {
		for _, name := range names {
			if !there[name] && lacks[keeper] == nil {
				lacks[keeper] = errors.New("the object " + name + " is gone from the group's store")
			}
		}
	}
	return lacks
}
