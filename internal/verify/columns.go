package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// checkColumns: the finding does not rest on a version that a transaction here gave to another column of
// the row. A client may record columns under keys of their own, with the version of their row.
func checkColumns(raw, plain *finding.Witness) error {
	if len(raw.Txns) == 0 {
		return nil
	}
	a := &plain.Txns[0]
	key, value := plain.Key, plain.Value
	switch plain.Anomaly {
	case finding.GarbageRead, finding.FutureRead:
	case finding.Internal, finding.Nonrepeatable:
		if plain.Op >= len(a.Ops) {
			return nil // checkInternal says so
		}
		key, value = a.Ops[plain.Op].Key, a.Ops[plain.Op].Value
		if o, ok := externalRead(a, key); ok && ofAnotherColumn(raw, key, o.Value) {
			value = o.Value
		}
	default:
		return nil
	}
	if ofAnotherColumn(raw, key, value) {
		return fmt.Errorf("version %s of %s is of a write of another column", value, key)
	}
	return nil
}

// ofAnotherColumn says whether somebody here wrote the version at another column of the key's row, and
// nobody at the key.
func ofAnotherColumn(w *finding.Witness, key, version string) bool {
	wrote := func(at func(key string) bool) bool {
		return slices.ContainsFunc(w.Txns, func(t event.Record) bool {
			return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool { return o.Writes() && o.Version == version && at(o.Key) })
		})
	}
	here := func(k string) bool { return k == key }
	return version != "" && wrote(func(k string) bool { return columns(k, key) }) && !wrote(here)
}

// columns says whether the keys are of two columns of one row. They differ in the last segment. Where
// both have digits there, they are two rows.
func columns(a, b string) bool {
	i, j := strings.LastIndexAny(a, "/:."), strings.LastIndexAny(b, "/:.")
	const digits = "0123456789"
	return a != b && i > 0 && j > 0 && a[:i] == b[:j] && !(strings.ContainsAny(a[i:], digits) && strings.ContainsAny(b[j:], digits))
}
