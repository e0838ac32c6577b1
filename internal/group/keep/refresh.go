package keep

import (
	"context"
	"time"
)

// refreshLook is between two looks at whether a snapshot or a copy is there.
const refreshLook = 10 * time.Millisecond

// Refresh makes a new copy, if the log behind the present one is long. An owner that is about to leave still watches meanwhile, and the
// next one has less to do again. It returns when the copy is in the state, or when ctx ends. It says whether there is a new copy.
func (k *Keeper) Refresh(ctx context.Context) bool {
	k.mu.Lock()
	behind, copies := k.from+uint64(len(k.log))-k.begins, k.copies
	k.mu.Unlock()
	if behind < k.sizes.refresh {
		return false
	}
	wait := func(ctx context.Context) bool {
		select {
		case <-ctx.Done():
		case <-k.done:
		case <-time.After(refreshLook):
			return true
		}
		return false
	}
	half := ctx // of the time: the copy takes as long as the snapshot
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		half, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	for k.o.Fresh != nil && !k.o.Fresh() {
		if !wait(half) {
			return false
		}
	}
	k.mu.Lock()
	k.asked = true
	k.mu.Unlock()
	k.poke()
	for k.count() == copies {
		if !wait(ctx) {
			return false
		}
	}
	return true
}

// count is how many copies have come into the state.
func (k *Keeper) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.copies
}
