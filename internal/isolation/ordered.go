package isolation

import (
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// givenOrder says whether the contract gives the order of two versions. One is the version that
// from wrote, or read with the operation read. The other is to's version. For a read under
// trusted commit timestamps, the transaction e.Shown wrote the version that was read.
func givenOrder(w *witness, from, to *event.Record, e *finding.Dependency, read *event.RecordOp) bool {
	write, ok := external.FinalWrite(to, e.Key)
	before, found := external.FinalWrite(from, e.Key)
	if read != nil {
		before, found = read, read.Flags&event.NotFound == 0
	}
	if !ok || !found || write.Value != e.Value {
		return false
	}
	if numeric(w, e.Key) {
		a, okA := versionNumber(before.Value)
		b, okB := versionNumber(write.Value)
		return okA && okB && a < b
	}
	writer := from
	if read != nil {
		if e.Shown < 0 {
			return false
		}
		writer = &w.Txns[e.Shown]
		if x, ok := external.FinalWrite(writer, e.Key); !ok || x.Value != before.Value {
			return false
		}
	}
	return w.ByCommit && writer.Flags&to.Flags&event.HasCommitTS != 0 && writer.CommitTS < to.CommitTS
}

// overwritten says whether what was read is a version that the write of e came behind.
func overwritten(w *witness, from, to *event.Record, e *finding.Dependency, read *event.RecordOp) bool {
	write, ok := external.FinalWrite(to, e.Key)
	if !ok || write.Value != e.Value {
		return false
	}
	if givenOrder(w, from, to, e, read) {
		return true
	}
	if read.Flags&event.NotFound != 0 {
		return !deletes(w, e.Key)
	}
	before, none, ok := replaced(to, e.Key)
	return ok && !none && read.Value == before && read.Value != e.Value
}

// numeric says whether the key's versions are numbers in their order. Elements of sets have no versions.
func numeric(w *witness, key string) bool { return w.Numeric && !strings.Contains(key, cell) }

func versionNumber(text string) (int64, bool) {
	v, err := strconv.ParseInt(strings.Trim(text, `"`), 10, 64)
	return v, err == nil
}
