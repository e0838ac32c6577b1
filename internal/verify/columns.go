package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// checkColumns: the finding, which is not a cycle, does not rest on a version that a transaction here gave to
// another column of the row. A client may record columns under keys of their own, with the version of their row.
func checkColumns(raw, plain *finding.Witness) error {
	a := &plain.Txns[0]
	switch plain.Anomaly {
	case finding.GarbageRead:
		return notOfRow(raw.Txns, plain.Key, plain.Value)
	case finding.FutureRead: // what a wrote before it read
		before := raw.Txns[0]
		at := slices.IndexFunc(before.Ops, func(o event.RecordOp) bool { return o.Key == plain.Key && o.Version == plain.Value })
		before.Ops = before.Ops[:max(at, 0)]
		return notOfRow([]event.Record{before}, plain.Key, plain.Value)
	case finding.Internal, finding.Nonrepeatable:
		o := &a.Ops[plain.Op]
		if first, ok := externalRead(a, o.Key); ok {
			if err := notOfRow(raw.Txns, o.Key, first.Value); err != nil {
				return err
			}
		}
		return notOfRow(raw.Txns, o.Key, o.Value)
	}
	return nil
}

// notOfRow: nobody wrote the version at another column of the key's row, or somebody wrote it at the key too.
func notOfRow(txns []event.Record, key, version string) error {
	wrote := func(at func(key string) bool) bool {
		return slices.ContainsFunc(txns, func(t event.Record) bool {
			return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
				return version != "" && o.Writes() && o.Version == version && at(o.Key)
			})
		})
	}
	if wrote(func(k string) bool { return columns(k, key) }) && !wrote(func(k string) bool { return k == key }) {
		return fmt.Errorf("version %s of %s is of a write of another column", version, key)
	}
	return nil
}

// columns says whether two keys that differ are of two columns of one row. They differ in the last segment.
// Where both have digits there, they are two rows.
func columns(a, b string) bool {
	i, j := strings.LastIndexAny(a, "/:."), strings.LastIndexAny(b, "/:.")
	const digits = "0123456789"
	return i > 0 && j > 0 && a[:i] == b[:j] && !(strings.ContainsAny(a[i:], digits) && strings.ContainsAny(b[j:], digits))
}
