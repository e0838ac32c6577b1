package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/external"
)

// Unshown says whether a range of t covers the key and lacks it, and no operation of t tells that the key is a
// register. O(n) time for n operations and rows.
func Unshown(t *event.Record, key string) bool {
	missing := false
	for i := range t.Ops {
		o := &t.Ops[i]
		switch {
		case o.Kind == event.Range && slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == key }):
			return false // it is a row
		case o.Kind == event.Range:
			missing = missing || external.Covers(o, key)
		case o.Key == key && (o.Kind != event.Read || o.Data == event.Register):
			return false
		}
	}
	return missing
}
