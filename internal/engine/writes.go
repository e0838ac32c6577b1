package engine

import "github.com/isowatch/isowatch/store"

// writes are the entries of a step on their way into transactions. Those that only
// the head makes count come early: a full transaction of them is written and makes
// room for more. Those that count by themselves come behind close, and go into one
// transaction with the head: they are few, whatever the step is.
type writes struct {
	store                *store.Store
	entries              []store.Entry
	bytes                int
	maxEntries, maxBytes int // of a transaction of early entries
}

// newWrites are none yet. Half of what a transaction can hold is left to the last one.
func (e *Engine) newWrites() *writes {
	entries, bytes := e.store.Limits()
	return &writes{store: e.store, maxEntries: int(entries / 2), maxBytes: int(bytes / 2)}
}

func (w *writes) add(x store.Entry) {
	w.entries = append(w.entries, x)
	w.bytes += len(x.Key) + len(x.Value) + store.EntryOverhead
}

func (w *writes) put(sp store.Space, key, value []byte) {
	w.add(store.Entry{Space: sp, Key: key, Value: value})
}

// early is put for what only the head makes count.
func (w *writes) early(sp store.Space, key, value []byte) error {
	return w.earlyEntry(store.Entry{Space: sp, Key: key, Value: value})
}

func (w *writes) earlyEntry(x store.Entry) error {
	if n := len(w.entries); n >= w.maxEntries || n > 0 && w.bytes+len(x.Key)+len(x.Value) > w.maxBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.add(x)
	return nil
}

// flush writes what there is. The entries are forgotten: their keys may be reused.
func (w *writes) flush() error {
	err := w.store.Commit(w.entries)
	w.entries, w.bytes = w.entries[:0], 0
	return err
}

// close ends the early entries, and leaves half a transaction to the last ones.
func (w *writes) close() error {
	if w.bytes <= w.maxBytes {
		return nil
	}
	return w.flush()
}
