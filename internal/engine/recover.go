package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/store"
)

// recover brings the machines to where the last commit left them.
func (e *Engine) recover(ctx context.Context) error {
	if err := e.readHead(); err != nil {
		return err
	}
	from, err := e.readSnapshot(ctx)
	if err != nil {
		return err
	}
	if err := e.replay(ctx, from+1); err != nil {
		return err
	}
	if err := e.readAssembly(); err != nil {
		return err
	}
	return e.store.Scan(spaceCursor, nil, nil, func(key, value []byte) error {
		var c ingest.Cursor
		if err := json.Unmarshal(value, &c); err != nil {
			return fmt.Errorf("cursor of %s: %w", key, err)
		}
		e.cursors[string(key)] = c
		return nil
	})
}

func (e *Engine) readHead() error {
	h, ok, err := readHead(e.store)
	if !ok {
		h = head{Version: layoutVersion}
	}
	e.head = h
	return err
}

// Readable says why this program cannot read the layout of what st holds.
func Readable(st *store.Store) error {
	_, _, err := readHead(st)
	return err
}

// readHead is the head of what st holds; ok is false if it holds nothing yet.
func readHead(st *store.Store) (h head, ok bool, err error) {
	text, err := st.Get(spaceHead, []byte("head"))
	if err != nil || text == nil {
		return h, false, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, true, fmt.Errorf("head: %w", err)
	}
	if h.Version < layoutVersion {
		return h, true, fmt.Errorf("%w: %w: layout %d, this program reads %d", store.ErrFormat, store.ErrOlder, h.Version, layoutVersion)
	}
	if h.Version != layoutVersion {
		return h, true, fmt.Errorf("%w: layout %d, this program reads %d", store.ErrFormat, h.Version, layoutVersion)
	}
	return h, true, nil
}

// replay does the committed steps again, without their effects. Each step was done before it was
// committed. So if one fails now, this is another program, or another computer.
func (e *Engine) replay(ctx context.Context, first uint64) error {
	return e.replayDeltas(first, func(st *step, delta []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := e.sources.apply(st.configs); err != nil {
			return err
		}
		for i := range st.batch.Txns {
			if name := st.batch.Bytes(st.batch.Txns[i].Source); e.sources.find(name) == nil {
				return fmt.Errorf("%w: no configuration of source %q", errDelta, name)
			}
		}
		for i := range st.batch.Marks {
			if name := st.batch.Marks[i].Source; e.sources.find([]byte(name)) == nil {
				return fmt.Errorf("%w: no configuration of source %q", errDelta, name)
			}
		}
		e.sources.split(st)
		if err := e.sources.run(st); err != nil {
			return err
		}
		e.sinceSnapshot += int64(len(delta))
		return nil
	})
}

// replayDeltas calls fn with each committed step from first on.
func (e *Engine) replayDeltas(first uint64, fn func(st *step, delta []byte) error) error {
	var st step
	var d event.Decoder
	return e.eachStep(spaceDelta, first, func(_ uint64, delta []byte) error {
		if err := readDelta(&d, &st, delta); err != nil {
			return err
		}
		return fn(&st, delta)
	})
}

// eachStep calls fn with what each committed step from first on left in the space, its
// pieces put together; the slice is reused. An error names the step.
func (e *Engine) eachStep(space store.Space, first uint64, fn func(n uint64, whole []byte) error) error {
	var whole []byte
	var current uint64                        // steps begin at 1
	next, every := first, space == spaceDelta // each step has a delta
	missing := func(n uint64) error {
		return fmt.Errorf("%w: step %d is missing, and the head is %d", store.ErrDamaged, n, e.head.Step)
	}
	end := func() error {
		if current == 0 {
			return nil
		}
		if err := fn(current, whole); err != nil {
			return fmt.Errorf("step %d: %w", current, err)
		}
		return nil
	}
	err := e.store.Scan(space, deltaKey(first, 0), deltaKey(e.head.Step+1, 0), func(key, value []byte) error {
		if n := order64(key); n != current {
			if err := end(); err != nil {
				return err
			}
			if every && n != next {
				return missing(next)
			}
			current, next, whole = n, n+1, whole[:0]
		}
		whole = append(whole, value...)
		return nil
	})
	if err != nil {
		return err
	}
	if err := end(); err != nil {
		return err
	}
	if every && next <= e.head.Step {
		return missing(next)
	}
	return nil
}
