package engine

import (
	"encoding/json"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/store"
)

// recover brings the machines to where the last commit left them.
func (e *Engine) recover() error {
	if err := e.readHead(); err != nil {
		return err
	}
	from, err := e.readSnapshot()
	if err != nil {
		return err
	}
	if err := e.replay(from + 1); err != nil {
		return err
	}
	text, err := e.store.Get(spaceHead, []byte("assembler"))
	if err == nil && text != nil {
		err = e.assembler.LoadState(text)
	}
	if err != nil {
		return fmt.Errorf("open transactions: %w", err)
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
	text, err := e.store.Get(spaceHead, []byte("head"))
	if err != nil {
		return err
	}
	if text == nil {
		e.head = head{Version: layoutVersion, Began: e.opt.Now()}
		return nil
	}
	if err := json.Unmarshal(text, &e.head); err != nil {
		return fmt.Errorf("head: %w", err)
	}
	if e.head.Version != layoutVersion {
		return fmt.Errorf("%w: layout %d, this program reads %d", store.ErrFormat, e.head.Version, layoutVersion)
	}
	return nil
}

// replay does the committed steps again, without their effects.
func (e *Engine) replay(first uint64) error {
	var st step
	var d event.Decoder
	var delta []byte
	var current uint64
	run := func() error {
		if current == 0 {
			return nil
		}
		if err := readDelta(&d, &st, delta); err != nil {
			return fmt.Errorf("step %d: %w", current, err)
		}
		e.sources.run(&st)
		e.sinceSnapshot += int64(len(delta))
		return nil
	}
	err := e.store.Scan(spaceDelta, deltaKey(first, 0), deltaKey(e.head.Step+1, 0), func(key, value []byte) error {
		if n := order64(key); n != current {
			if err := run(); err != nil {
				return err
			}
			current, delta = n, delta[:0]
		}
		delta = append(delta, value...)
		return nil
	})
	if err != nil {
		return err
	}
	return run()
}
