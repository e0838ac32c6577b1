package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/store"
)

// Limits of the outbox, when a sink does not take what it is given, and of the
// entries that one step removes.
const (
	defaultOutbox      = 100_000
	defaultOutboxBytes = 256 << 20
	trimMost           = 1000
)

// trim removes the entries that all sinks have taken, oldest first. Beyond the limits it also removes
// entries that some sink has not taken, and counts them. Without a sink, no entry counts as taken.
func (e *Engine) trim(h *head, put func(store.Entry)) error {
	if h.Outbox == h.Trimmed {
		return nil
	}
	given, err := e.givenToAll()
	if err != nil {
		return err
	}
	full := func() bool {
		return h.Outbox-h.Trimmed > uint64(e.opt.Outbox) || h.OutboxBytes > e.opt.OutboxBytes
	}
	if given <= h.Trimmed && !full() {
		return nil
	}
	left := trimMost
	// The entries that this step adds are not there yet.
	err = e.store.Scan(spaceOutbox, key64(h.Trimmed+1), key64(e.head.Outbox+1), func(key, value []byte) error {
		seq := order64(key)
		if left--; left < 0 || seq > given && !full() {
			return errStop
		}
		put(store.Entry{Space: spaceOutbox, Key: key64(seq), Delete: true})
		h.Trimmed = seq
		h.OutboxBytes -= int64(len(value))
		if seq > given {
			h.Dropped++
		}
		return nil
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// SetSinks names those that findings are delivered to from now on, before delivery
// to them begins. One that was never met begins at the present: behind what is in the
// outbox now. From then on it has a cursor, and misses nothing.
func (e *Engine) SetSinks(names []string) error {
	h, _, err := readHead(e.store)
	if err != nil {
		return err
	}
	for _, sink := range names {
		cursor, err := e.store.Get(spaceSink, []byte(sink))
		if err == nil && cursor == nil {
			err = Reader{Store: e.store}.Advance(sink, h.Outbox, nil)
		}
		if err != nil {
			return fmt.Errorf("sink %s: %w", sink, err)
		}
	}
	e.sinks.Store(&names)
	return nil
}

// givenToAll is the sequence up to which every sink was given what is in the
// outbox.
func (e *Engine) givenToAll() (uint64, error) {
	var least uint64
	for i, sink := range *e.sinks.Load() {
		seq, err := Reader{Store: e.store}.delivered(sink)
		if err != nil {
			return 0, err
		}
		if i == 0 || seq < least {
			least = seq
		}
	}
	return least, nil
}

// lament tells, once in a life, that findings are dropped.
func (e *Engine) lament(before, after *head) {
	if after.Dropped == before.Dropped || e.lamented {
		return
	}
	e.lamented = true
	e.log.Error("the outbox is full: a sink takes nothing, and the oldest findings are not sent to it any more. They stay stored",
		"kept", after.Outbox-after.Trimmed, "bytes", after.OutboxBytes, "sinks", *e.sinks.Load())
}

// Told reads what was committed. through is the number of the last delivery that the head counts, if the entries have the
// head. cursors says whether a sink was given something.
func Told(entries []store.Entry) (through uint64, known, cursors bool) {
	for i := range entries {
		switch e := &entries[i]; {
		case e.Space == spaceSink:
			cursors = true
		case e.Space == spaceHead && string(e.Key) == "head":
			var h struct{ Outbox uint64 }
			known = json.Unmarshal(e.Value, &h) == nil
			through = h.Outbox
		}
	}
	return through, known, cursors
}

// Finding reads an entry that holds a finding, as JSON. ok is false for any other entry.
func Finding(e *store.Entry) (id string, text []byte, ok bool) {
	if e.Space != spaceFinding || !e.Delete && len(e.Value) < 8 {
		return "", nil, false
	}
	if !e.Delete {
		text = e.Value[8:]
	}
	return string(e.Key), text, true
}

// DeadLetterIn reads an entry that holds a dead letter, as JSON, and PaneIn one that holds a pane. Keys are in the order of lists.
func DeadLetterIn(e *store.Entry) (key string, text []byte, ok bool) {
	return string(e.Key), e.Value, e.Space == spaceDead
}

// PaneIn is described at [DeadLetterIn].
func PaneIn(e *store.Entry) (key string, text []byte, ok bool) {
	return string(e.Key), e.Value, e.Space == spacePane
}
