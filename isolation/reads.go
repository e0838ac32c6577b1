package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// externalRead is the first read of key that t did before writing it; ok is
// false when there is none.
func externalRead(t *event.Record, key string) (op *event.RecordOp, ok bool) {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key != key {
			continue
		}
		if o.Kind == event.Read {
			if t.Status == event.Unknown && o.Nothing() {
				continue // without a note, something may still have been seen
			}
			return o, true
		}
		if o.Kind == event.Write || o.Kind == event.Append {
			return nil, false
		}
	}
	return nil, false
}

// finalWrite is the last write of key in t.
func finalWrite(t *event.Record, key string) (op *event.RecordOp, ok bool) {
	for i := len(t.Ops) - 1; i >= 0; i-- {
		if o := &t.Ops[i]; o.Key == key && o.Kind == event.Write {
			return o, true
		}
	}
	return nil, false
}

// appended says whether t appended value to key.
func appended(t *event.Record, key, value string) bool {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key == key && o.Value == value && o.Kind == event.Append {
			return true
		}
	}
	return false
}

func endsWith(list, suffix []string) bool {
	return len(list) >= len(suffix) && slices.Equal(list[len(list)-len(suffix):], suffix)
}
