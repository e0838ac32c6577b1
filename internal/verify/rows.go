package verify

import (
	"github.com/isowatch/isowatch/event"
)

// deleted says whether t left no row at the key.
func deleted(t *event.Record, key string) bool {
	o, ok := finalWrite(t, key)
	return ok && o.Flags&event.NotFound != 0
}
