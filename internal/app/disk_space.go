package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/pulse"
)

// spaceCheckEvery is how often the disk is looked at, beside the look before each commit.
const spaceCheckEvery = time.Second

// diskSpace says whether there is space on the data folder's disk. Below the reserve no step
// is committed, and so no input taken: Badger writes through shared mappings, where a
// full disk kills the process.
type diskSpace struct {
	free    func() (int64, error)
	reserve int64
	told    func(paused bool, free int64)

	mu     sync.Mutex
	paused bool
	left   bool          // nobody waits any more
	last   int64         // free bytes at the last look
	opened chan struct{} // closed when there is room; a new one while there is none
}

func newDiskSpace(reserve config.Size, free func() (int64, error), told func(paused bool, free int64)) *diskSpace {
	r := &diskSpace{free: free, reserve: int64(reserve), told: told, last: math.MaxInt64, opened: make(chan struct{})}
	close(r.opened)
	return r
}

// look measures the free space. A disk that cannot be measured counts as having room: its kind may not
// report it.
func (r *diskSpace) look() {
	free, err := r.free()
	if err != nil {
		free = math.MaxInt64
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = free
	switch {
	case r.left:
	case !r.paused && free < r.reserve:
		r.paused, r.opened = true, make(chan struct{})
		r.told(true, free)
	case r.paused && free >= r.reserve+r.reserve/8: // not in and out with every file
		r.paused = false
		close(r.opened)
		r.told(false, free)
	}
}

// wait returns when there is room, when ctx ends, or after leave. In the last two cases it returns
// false unless a quarter of the reserve is left, which is for the last steps.
func (r *diskSpace) wait(ctx context.Context) bool {
	r.look() // it takes a microsecond, and somebody else may fill the disk
	r.mu.Lock()
	opened := r.opened
	r.mu.Unlock()
	select {
	case <-opened:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last >= r.reserve/4
}

// leave ends all waiting, for good: the reserve is for the last steps.
func (r *diskSpace) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused && !r.left {
		close(r.opened)
	}
	r.left = true
}

// has says whether so many bytes leave half of the reserve.
func (r *diskSpace) has(bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last-r.reserve/2 >= bytes
}

func (r *diskSpace) state() (paused bool, free int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paused, r.last
}

// run looks until ctx ends.
func (r *diskSpace) run(ctx context.Context) {
	tick := time.NewTimer(pulse.Next(spaceCheckEvery))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			tick.Reset(pulse.Next(spaceCheckEvery))
			r.look()
		case <-ctx.Done():
			return
		}
	}
}

// pausingOutbox moves no cursor while the disk is full: what was delivered then comes
// again, with its id.
type pausingOutbox struct {
	alert.Outbox
	room *diskSpace
}

var errDiskFull = errors.New("the disk is full")

// Advance implements [alert.Outbox].
func (o pausingOutbox) Advance(sink string, seq uint64, state []byte) error {
	if !o.room.has(int64(len(state))) {
		return errDiskFull
	}
	return o.Outbox.Advance(sink, seq, state)
}

// Keep implements [alert.Outbox].
func (o pausingOutbox) Keep(sink string, state []byte) error {
	if !o.room.has(int64(len(state))) {
		return errDiskFull
	}
	return o.Outbox.Keep(sink, state)
}

// watchRoom waits until there is room to open the store, and then looks on.
func (a *App) watchRoom(ctx context.Context) error {
	a.diskSpace = newDiskSpace(a.config.MinFree, a.freeSpace, func(paused bool, free int64) {
		if paused {
			a.log.Error("the disk is nearly full: no input is taken until there is room", "folder", a.config.Data, "free", config.Size(free), "min-free", a.config.MinFree)
		} else {
			a.log.Info("there is room on the disk again", "folder", a.config.Data, "free", config.Size(free))
		}
	})
	a.diskSpace.look()
	looking, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { a.diskSpace.run(looking) })
	a.cleanups.push("disk", func(context.Context) error { stop(); done.Wait(); return nil })
	if paused, _ := a.diskSpace.state(); paused {
		stop, err := a.serveWhileWaiting()
		if err != nil {
			return err
		}
		a.diskSpace.wait(ctx)
		stop()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: the disk of %s has less than %v free (min-free): %w", ErrStore, a.config.Data, a.config.MinFree, context.Cause(ctx))
	}
	return nil
}
