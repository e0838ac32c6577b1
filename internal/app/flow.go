package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
)

// flow is the way from the inputs through the engine into the store. It ends
// when it is stopped, when all inputs have ended, or when something failed.
type flow struct {
	stopInputs context.CancelFunc
	done       chan struct{}
	err        error // valid once done is closed
}

// startFlow runs the inputs and the engine. finite inputs end by themselves, and
// with them the history: the watermark then passes everything.
func startFlow(e *engine.Engine, inputs []*input, finite bool) *flow {
	reading, stopInputs := context.WithCancel(context.Background())
	stepping, stopEngine := context.WithCancel(context.Background())
	f := &flow{stopInputs: stopInputs, done: make(chan struct{})}
	chunks := make(chan ingest.Chunk)
	stepped := make(chan struct{})
	var engineErr error
	go func() {
		defer close(stepped)
		defer stopInputs()
		if engineErr = e.Run(stepping, chunks, finite); engineErr != nil && !errors.Is(engineErr, engine.ErrStopped) {
			engineErr = fmt.Errorf("%w: %w", ErrStore, engineErr)
		}
	}()
	var readers sync.WaitGroup
	faults := make([]error, len(inputs))
	cursors := e.Cursors()
	for n, i := range inputs {
		readers.Go(func() {
			if err := i.run(reading, cursors, chunks, stepped); err != nil {
				faults[n] = fmt.Errorf("%w: %w", ErrInput, err)
				stopInputs()
			}
		})
	}
	go func() {
		defer close(f.done)
		defer stopEngine()
		readers.Wait()
		left := reading.Err() != nil
		if finite && left {
			stopEngine() // the input was left in the middle: its end is not known
		} else {
			close(chunks)
		}
		<-stepped
		if engineErr == nil && (left || !finite) {
			stopEngine() // it waits for no room
			if err := e.Pause(stepping); err != nil {
				engineErr = fmt.Errorf("%w: %w", ErrStore, err)
			}
		}
		f.err = errors.Join(append(faults, engineErr)...)
	}()
	return f
}

// stop ends reading, and returns when what was read is committed.
func (f *flow) stop(ctx context.Context) error {
	f.stopInputs()
	select {
	case <-f.done:
		return nil // f.err is told by App.Err
	case <-ctx.Done():
		return fmt.Errorf("what was read is not committed yet: %w", context.Cause(ctx))
	}
}
