package engine

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// Reader reads the store of an engine, whether or not an engine runs on it.
type Reader struct{ Store *store.Store }

// Check says whether this program reads what is stored.
func (r Reader) Check() error {
	_, _, err := readHead(r.Store)
	return err
}

// errStop ends a scan early.
var errStop = errors.New("enough")

// List calls fn for findings, newest first, beginning behind the cursor before
// ("" is the newest), until fn says no. It returns the cursor behind the last.
func (r Reader) List(before string, fn func(f *finding.Finding) bool) (next string, err error) {
	var to []byte
	if before != "" {
		n, err := strconv.ParseUint(before, 10, 64)
		if err != nil {
			return "", fmt.Errorf("cursor %q: %w", before, err)
		}
		to = key64(n)
	}
	err = r.Store.ScanReverse(spaceOrder, nil, to, func(key, id []byte) error {
		f, ok, err := r.Get(string(id))
		if err != nil || !ok {
			return err
		}
		next = strconv.FormatUint(order64(key), 10)
		if !fn(&f) {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		return next, nil
	}
	return "", err
}

// Each calls fn for every finding, oldest first.
func (r Reader) Each(fn func(f *finding.Finding) error) error {
	return r.Store.Scan(spaceOrder, nil, nil, func(_, id []byte) error {
		f, ok, err := r.Get(string(id))
		if err != nil || !ok {
			return err
		}
		return fn(&f)
	})
}

// Get is the finding with this id in its latest revision.
func (r Reader) Get(id string) (f finding.Finding, ok bool, err error) {
	value, err := r.Store.Get(spaceFinding, []byte(id))
	if err != nil || len(value) < 8 {
		return f, false, err
	}
	if err := json.Unmarshal(value[8:], &f); err != nil {
		return f, false, fmt.Errorf("finding %s: %w", id, err)
	}
	return f, true, nil
}

// Raw returns the records of a finding as they came in, as far as they are kept.
func (r Reader) Raw(id string) (list []finding.Raw, err error) {
	value, err := r.Store.Get(spaceRaw, []byte(id))
	if err != nil || value == nil {
		return nil, err
	}
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, fmt.Errorf("records of finding %s: %w", id, err)
	}
	return list, nil
}

// Stored returns the stored finding with this id as JSON, and its order.
func (r Reader) Stored(id string) (order uint64, text []byte, ok bool, err error) {
	value, err := r.Store.Get(spaceFinding, []byte(id))
	if err != nil || len(value) < 8 {
		return 0, nil, false, err
	}
	return order64(value), value[8:], true, nil
}

// At is the finding of that order.
func (r Reader) At(order uint64) (f finding.Finding, ok bool, err error) {
	id, err := r.Store.Get(spaceOrder, key64(order))
	if err != nil || id == nil {
		return f, false, err
	}
	return r.Get(string(id))
}

// Before calls fn for findings as they are stored, the newest first, of those with a lesser order
// (0: all), until fn says no.
func (r Reader) Before(order uint64, fn func(order uint64, text []byte) bool) error {
	var to []byte
	if order > 0 {
		to = key64(order)
	}
	err := r.Store.ScanReverse(spaceOrder, nil, to, func(key, id []byte) error {
		_, text, ok, err := r.Stored(string(id))
		if err == nil && ok && !fn(order64(key), text) {
			err = errStop
		}
		return err
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// Secret is a random text of 128 bits and more that the store keeps. It is made when it is first asked for.
func (r Reader) Secret() (string, error) {
	text, err := r.Store.Get(spaceHead, []byte("secret"))
	if err != nil || len(text) > 0 {
		return string(text), err
	}
	secret := rand.Text()
	return secret, r.Store.Commit([]store.Entry{{Space: spaceHead, Key: []byte("secret"), Value: []byte(secret)}})
}

// Marks calls fn for what people said of groups of findings.
func (r Reader) Marks(fn func(group string, text []byte) error) error {
	return r.Store.Scan(spaceMark, nil, nil, func(key, value []byte) error { return fn(string(key), value) })
}

// Mark stores what people said of a group; nil removes it.
func (r Reader) Mark(group string, text []byte) error {
	return r.Store.Commit([]store.Entry{{Space: spaceMark, Key: []byte(group), Value: text, Delete: text == nil}})
}

// DeadLetters calls fn for every dead letter, oldest first.
func (r Reader) DeadLetters(fn func(d *DeadLetter) error) error {
	return r.Store.Scan(spaceDead, nil, nil, func(_, value []byte) error {
		var d DeadLetter
		if err := json.Unmarshal(value, &d); err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		return fn(&d)
	})
}

// Panes calls fn for the closed panes of all sources, by source and time.
func (r Reader) Panes(fn func(p *window.Pane) error) error {
	return r.Store.Scan(spacePane, nil, nil, func(_, value []byte) error {
		var p window.Pane
		if err := json.Unmarshal(value, &p); err != nil {
			return fmt.Errorf("pane: %w", err)
		}
		return fn(&p)
	})
}

// Pending implements [alert.Outbox]: what the sink has not been given yet, of
// what is committed.
func (r Reader) Pending(sink string, most int) ([]alert.Delivery, error) {
	h, ok, err := readHead(r.Store)
	if err != nil || !ok {
		return nil, err
	}
	done, err := r.delivered(sink)
	if err != nil {
		return nil, err
	}
	var out []alert.Delivery
	done = max(done, h.Trimmed)
	err = r.Store.Scan(spaceOutbox, key64(done+1), key64(h.Outbox+1), func(key, value []byte) error {
		d := alert.Delivery{Seq: order64(key), JSON: append([]byte(nil), value...)}
		if err := json.Unmarshal(value, &d.Finding); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		if out = append(out, d); len(out) == most {
			return errStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return nil, err
	}
	return out, nil
}

// Advance implements [alert.Outbox].
func (r Reader) Advance(sink string, seq uint64, state []byte) error {
	return r.Store.Commit([]store.Entry{{Space: spaceSink, Key: []byte(sink), Value: append(key64(seq), state...)}})
}

// Keep implements [alert.Outbox].
func (r Reader) Keep(sink string, state []byte) error {
	seq, err := r.delivered(sink)
	if err != nil {
		return err
	}
	return r.Advance(sink, seq, state)
}

// Kept implements [alert.Outbox].
func (r Reader) Kept(sink string) ([]byte, error) {
	value, err := r.Store.Get(spaceSink, []byte(sink))
	if err != nil || len(value) <= 8 {
		return nil, err
	}
	return value[8:], nil
}

func (r Reader) delivered(sink string) (uint64, error) {
	value, err := r.Store.Get(spaceSink, []byte(sink))
	if err != nil || len(value) < 8 {
		return 0, err
	}
	return order64(value), nil
}

// LastTick is when the last step was committed, ns since the Unix epoch; 0: never, or it is not known.
func (r Reader) LastTick() (int64, error) {
	h, _, err := readHead(r.Store)
	return h.Tick, err
}

// maxIncidents of one instant are kept.
const maxIncidents = 1 << 10

// AddIncident stores what happened at an instant, ns since the Unix epoch, and removes some incidents that
// began before the instant oldest.
func (r Reader) AddIncident(at, oldest int64, text []byte) error {
	for n := range uint16(maxIncidents) {
		key := binary.BigEndian.AppendUint16(key64(uint64(at)), n)
		old, err := r.Store.Get(spaceIncident, key)
		if err != nil {
			return err
		}
		if old != nil {
			continue
		}
		entries := []store.Entry{{Space: spaceIncident, Key: key, Value: text}}
		err = r.Store.Scan(spaceIncident, nil, key64(uint64(max(oldest, 0))), func(key, _ []byte) error {
			entries = append(entries, store.Entry{Space: spaceIncident, Key: append([]byte(nil), key...), Delete: true})
			if len(entries) > 100 {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			return err
		}
		return r.Store.Commit(entries)
	}
	return nil
}

// Incidents calls fn for what happened in [from, to), ns since the Unix epoch, the oldest first.
func (r Reader) Incidents(from, to int64, fn func(text []byte) error) error {
	return r.Store.Scan(spaceIncident, key64(uint64(max(from, 0))), key64(uint64(max(to, 0))), func(_, text []byte) error { return fn(text) })
}

// VerdictsOf calls fn for the closed panes of a source that begin in [from, to), ns since the Unix epoch, by time. byContract
// are the levels that are unknown only for what the contract leaves open.
func (r Reader) VerdictsOf(source string, from, to int64, fn func(start int64, verdicts map[string]string, byContract []string) error) error {
	prefix := append([]byte(source), 0)
	return r.Store.Scan(spacePane, paneKey(prefix, from), paneKey(prefix, to), func(_, value []byte) error {
		var p struct { // a part of window.Pane: nothing else is decoded
			Start      int64             `json:"start"`
			Verdicts   map[string]string `json:"verdicts"`
			ByContract []string          `json:"by_contract"`
		}
		if err := json.Unmarshal(value, &p); err != nil {
			return fmt.Errorf("pane: %w", err)
		}
		return fn(p.Start, p.Verdicts, p.ByContract)
	})
}
