package finding

import (
	"encoding/json"
	"slices"
	"time"
)

// EndedBetween is when the first and the last transaction of f ended by their records, ns since the Unix epoch. ok is
// false where no record has times, or none is there.
func (f *Finding) EndedBetween() (first, last int64, ok bool) {
	if len(f.Ended) == 2 {
		from, wrong := time.Parse(time.RFC3339Nano, f.Ended[0])
		to, also := time.Parse(time.RFC3339Nano, f.Ended[1])
		return from.UnixNano(), to.UnixNano(), wrong == nil && also == nil
	}
	for _, raw := range f.History {
		var r struct {
			Txn string          `json:"txn"`
			End json.RawMessage `json:"end"`
		}
		if json.Unmarshal(raw, &r) != nil || !slices.Contains(f.Txns, r.Txn) {
			continue
		}
		at, timed := Instant(r.End)
		if !timed {
			continue
		}
		if !ok {
			first, last, ok = at, at, true
		}
		first, last = min(first, at), max(last, at)
	}
	return first, last, ok
}

// Instant reads a time of a record: ns since the Unix epoch, or RFC 3339.
func Instant(raw json.RawMessage) (ns int64, ok bool) {
	if json.Unmarshal(raw, &ns) == nil {
		return ns, len(raw) > 0 && raw[0] != 'n' // null says nothing
	}
	var at time.Time
	if json.Unmarshal(raw, &at) != nil {
		return 0, false
	}
	return at.UnixNano(), true
}
