package keep

import (
	"context"
	"io"
	"time"
)

// refreshLook is between two looks at whether a snapshot or a copy is there.
const refreshLook = 10 * time.Millisecond

// Refresh makes a new copy, if the log behind the present one is long. An owner that is about to leave still watches meanwhile, and the
// next one has less to do again. It returns when the copy is in the state, or when ctx ends. It says whether there is a new copy.
func (k *Keeper) Refresh(ctx context.Context) bool {
	k.mu.Lock()
	behind := k.from + uint64(len(k.log)) - k.begins
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
	want := k.copies.begun
	if k.copies.there == want { // else one is under way
		k.asked, want = true, want+1
	}
	k.mu.Unlock()
	k.poke()
	for {
		k.mu.Lock()
		named, failed := k.copies.named >= want, !k.asked && k.copies.begun < want
		k.mu.Unlock()
		if named || failed || !wait(ctx) {
			return named
		}
	}
}

// copies counts them: those that were begun, the latest that was written, and the latest that the state names.
type copies struct{ begun, there, named int }

// copied: the copy under way has ended.
func (k *Keeper) copied(well bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !well {
		k.copies.begun--
	}
	k.copies.there = k.copies.begun
}

// copied is a copy of a unit's store at an instant, which copying marks.
type copied interface {
	Write(ctx context.Context, to io.Writer) error
	Close() error
}

type copying func(marked func()) (copied, error)

// planted is a fault that a test puts into a keeper: the simulation must find it.
type planted int

// lateCopy takes the copy for one of its end, and drops the log up to there.
const lateCopy planted = 1
