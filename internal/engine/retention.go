package engine

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// Retention bounds the store. Each commit removes some records beyond either bound of their kind, the
// oldest first. A finding that some sink has not taken yet has a copy in the outbox.
type Retention struct {
	Findings, DeadLetters Keep
	Panes                 time.Duration // age, by the watermark of their source; 0: no bound
	Evidence              time.Duration // age at which a finding loses its records; 0: with the finding
}

// Keep is an age and a size; 0 of either: no bound.
type Keep struct {
	Age   time.Duration
	Bytes int64
}

const (
	retainEvery = int64(time.Second)
	// retainMost entries are removed with one commit: at one commit a second, faster
	// than findings can be made for long.
	retainMost = 500
	// bareMost findings lose their records with one commit: each is written again.
	bareMost = 100
)

// Removed counts what retention removed since the store was made.
type Removed struct {
	Findings    uint64 `json:"findings"`
	DeadLetters uint64 `json:"dead_letters"`
	Panes       uint64 `json:"panes"`
}

// retain removes what is beyond its bounds at the tick. written are the ids of the step's
// own findings, which stay.
func (e *Engine) retain(h *head, tick int64, written func(id string) bool, put func(store.Entry)) error {
	if tick == 0 || tick-e.retained < retainEvery && e.retained <= tick {
		return nil
	}
	e.retained = tick
	for _, job := range []func(*head, int64, func(string) bool, func(store.Entry)) error{e.retainFindings, e.retainEvidence, e.retainDead, e.retainPanes} {
		if err := job(h, tick, written, put); err != nil && !errors.Is(err, errStop) {
			return err
		}
	}
	return nil
}

// beyond says whether a record of the age and a kind of the size are beyond their bounds.
func (k Keep) beyond(age int64, bytes int64) bool {
	return k.Age > 0 && age > int64(k.Age) || k.Bytes > 0 && bytes > k.Bytes
}

func (e *Engine) retainFindings(h *head, tick int64, written func(string) bool, put func(store.Entry)) error {
	k := e.opt.Retention.Findings
	if k == (Keep{}) || e.head.Order == h.Forgotten {
		return nil
	}
	left := retainMost
	return e.store.Scan(spaceOrder, key64(h.Forgotten+1), key64(e.head.Order+1), func(order, id []byte) error {
		value, err := e.store.Get(spaceFinding, id)
		if err != nil {
			return err
		}
		var f struct {
			At time.Time `json:"detected_at"`
		}
		if len(value) >= 8 {
			if json.Unmarshal(value[8:], &f) != nil || f.At.IsZero() {
				f.At = time.Unix(0, tick) // it says no time: only the size counts
			}
		}
		if left--; left < 0 || written(string(id)) || len(value) >= 8 && !k.beyond(tick-f.At.UnixNano(), h.FindingBytes) {
			return errStop
		}
		put(store.Entry{Space: spaceOrder, Key: append([]byte(nil), order...), Delete: true})
		put(store.Entry{Space: spaceFinding, Key: append([]byte(nil), id...), Delete: true})
		if err := e.dropRaw(id, h, func(x store.Entry) error { put(x); return nil }); err != nil {
			return err
		}
		h.Forgotten = order64(order)
		h.FindingBytes = max(0, h.FindingBytes-int64(len(value)))
		h.Removed.Findings++
		return nil
	})
}

// retainEvidence takes the records off old findings, the oldest first. Words, edges and counts stay.
func (e *Engine) retainEvidence(h *head, tick int64, written func(string) bool, put func(store.Entry)) error {
	k := Keep{Age: e.opt.Retention.Evidence}
	from := max(h.Forgotten, h.Bare)
	if k.Age == 0 || e.head.Order <= from {
		return nil
	}
	left := bareMost
	return e.store.Scan(spaceOrder, key64(from+1), key64(e.head.Order+1), func(order, id []byte) error {
		value, err := e.store.Get(spaceFinding, id)
		if err != nil {
			return err
		}
		if left--; left < 0 || written(string(id)) {
			return errStop
		}
		var f finding.Finding
		if len(value) < 8 || json.Unmarshal(value[8:], &f) != nil {
			h.Bare = order64(order)
			return nil
		}
		at, err := time.Parse(time.RFC3339Nano, f.DetectedAt)
		if err == nil && !k.beyond(tick-at.UnixNano(), 0) {
			return errStop
		}
		h.Bare = order64(order)
		if err := e.dropRaw(id, h, func(x store.Entry) error { put(x); return nil }); err != nil {
			return err
		}
		if len(f.History) == 0 {
			return nil
		}
		if first, last, ok := f.EndedBetween(); ok {
			f.Ended = []string{time.Unix(0, first).UTC().Format(time.RFC3339Nano), time.Unix(0, last).UTC().Format(time.RFC3339Nano)}
		}
		f.History, f.NoEvidence = nil, true
		text, err := json.Marshal(&f)
		if err != nil {
			return err
		}
		text = append(append([]byte(nil), value[:8]...), text...)
		h.FindingBytes = max(0, h.FindingBytes+int64(len(text)-len(value)))
		put(store.Entry{Space: spaceFinding, Key: append([]byte(nil), id...), Value: text})
		return nil
	})
}

func (e *Engine) retainDead(h *head, tick int64, _ func(string) bool, put func(store.Entry)) error {
	k := e.opt.Retention.DeadLetters
	if k == (Keep{}) || e.head.Dead == h.DeadForgotten {
		return nil
	}
	left := retainMost
	return e.store.Scan(spaceDead, key64(h.DeadForgotten+1), key64(e.head.Dead+1), func(key, value []byte) error {
		var d struct {
			At int64 `json:"at"`
		}
		if json.Unmarshal(value, &d) != nil || d.At == 0 {
			d.At = tick
		}
		if left--; left < 0 || !k.beyond(tick-d.At, h.DeadBytes) {
			return errStop
		}
		put(store.Entry{Space: spaceDead, Key: append([]byte(nil), key...), Delete: true})
		h.DeadForgotten = order64(key)
		h.DeadBytes = max(0, h.DeadBytes-int64(len(value)))
		h.Removed.DeadLetters++
		return nil
	})
}

// retainPanes looks at the oldest panes of each source, by the source's own time: old input that is
// read now is not old. Panes of sources without times count transactions and have no age; they are
// small numbers.
func (e *Engine) retainPanes(h *head, _ int64, _ func(string) bool, put func(store.Entry)) error {
	age := int64(e.opt.Retention.Panes)
	if age == 0 {
		return nil
	}
	sources := e.status.Load().Sources
	for i := range sources {
		left, until := retainMost/10, sources[i].Watermark-age
		if until <= window.PaneTimes {
			continue
		}
		prefix := append([]byte(sources[i].Source), 0)
		err := e.store.Scan(spacePane, paneKey(prefix, window.PaneTimes), paneKey(prefix, until), func(key, value []byte) error {
			var p window.Pane
			if json.Unmarshal(value, &p) != nil {
				p.End = 0
			}
			if left--; left < 0 || p.End > until {
				return errStop
			}
			put(store.Entry{Space: spacePane, Key: append([]byte(nil), key...), Delete: true})
			h.Removed.Panes++
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			return err
		}
	}
	return nil
}
