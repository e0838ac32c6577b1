package app

import (
	"context"
	"sync"
	"time"
)

// refreshWait bounds what a member that ends spends on new copies of its units' states. It watches them meanwhile.
const refreshWait = 15 * time.Second

// refresh makes new copies of states behind which much was committed.
func (g *Group) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	var all sync.WaitGroup
	for _, u := range g.running() {
		u.mu.Lock()
		keeper, runs := u.keeper, u.app != nil
		u.mu.Unlock()
		if runs {
			all.Go(func() {
				if keeper.Refresh(ctx) {
					u.log.Info("made a new copy of the state, before it hands the unit over")
				}
			})
		}
	}
	all.Wait()
}
