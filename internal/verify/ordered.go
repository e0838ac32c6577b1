package verify

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// checkGiven derives the order of two versions from the contract. One is the version that from
// wrote, or read with the operation read. The other is to's version. For a read under trusted
// commit timestamps, the transaction e.Shown wrote the version that was read.
func checkGiven(w *finding.Witness, from, to *event.Record, e *finding.Dependency, read *event.RecordOp) error {
	write, ok := finalWrite(to, e.Key)
	if !ok || write.Value != e.Value {
		return fmt.Errorf("%s did not leave %s = %s", to.ID, e.Key, e.Value)
	}
	before, found := finalWrite(from, e.Key)
	if read != nil {
		before, found = read, read.Flags&event.NotFound == 0
	}
	if !found {
		return fmt.Errorf("%s has no version of %s", from.ID, e.Key)
	}
	switch {
	case numeric(w, e.Key):
		a, okA := versionNumber(before.Value)
		b, okB := versionNumber(write.Value)
		if !okA || !okB || a >= b {
			return fmt.Errorf("version %s of %s is not before %s", before.Value, e.Key, write.Value)
		}
		return nil
	case w.ByCommit:
		writer := from
		if read != nil {
			if e.Shown < 0 {
				return fmt.Errorf("nobody is named who wrote %s of %s", before.Value, e.Key)
			}
			writer = &w.Txns[e.Shown]
			if x, ok := finalWrite(writer, e.Key); !ok || x.Value != before.Value {
				return fmt.Errorf("%s did not leave %s = %s", writer.ID, e.Key, before.Value)
			}
		}
		if writer.Flags&to.Flags&event.HasCommitTS == 0 || writer.CommitTS >= to.CommitTS {
			return fmt.Errorf("%s did not commit before %s by their timestamps", writer.ID, to.ID)
		}
		return nil
	}
	return fmt.Errorf("the order of %s is not given", e.Key)
}

// checkStep: a read or replaced a version of the key and wrote one that the given order has at
// the same place or before. b left the one that a replaced, and did not abort: a version that was never installed has
// no place in the order. A write that names what it replaced needs no b, where versions are numbers.
func checkStep(w *finding.Witness, a, b *event.Record) error {
	write, ok := finalWrite(a, w.Key)
	if !ok {
		return fmt.Errorf("%s did not write %s", a.ID, w.Key)
	}
	before, nothing, ok := replaced(a, w.Key)
	if !ok || nothing {
		return fmt.Errorf("%s replaced no version of %s", a.ID, w.Key)
	}
	switch {
	case numeric(w, w.Key):
		x, okX := versionNumber(before)
		y, okY := versionNumber(write.Value)
		if !okX || !okY || x < y {
			return fmt.Errorf("version %s of %s is before %s", before, w.Key, write.Value)
		}
		if left, ok := finalWrite(b, w.Key); replacedBy(a, w.Key) == "" && (!ok || left.Value != before || b.Status == event.Aborted) {
			return fmt.Errorf("no transaction that took effect left what %s replaced", a.ID)
		}
		return nil
	case w.ByCommit:
		if left, ok := finalWrite(b, w.Key); !ok || left.Value != before {
			return fmt.Errorf("%s did not leave what %s replaced", b.ID, a.ID)
		}
		if a.Flags&b.Flags&event.HasCommitTS == 0 || a.CommitTS > b.CommitTS {
			return fmt.Errorf("%s committed after %s", a.ID, b.ID)
		}
		return nil
	}
	return fmt.Errorf("the order of %s is not given", w.Key)
}

// numeric says whether the key's versions are numbers in their order. Elements of sets have no versions.
func numeric(w *finding.Witness, key string) bool { return w.Numeric && !strings.Contains(key, cell) }

func versionNumber(text string) (int64, bool) {
	v, err := strconv.ParseInt(strings.Trim(text, `"`), 10, 64)
	return v, err == nil
}
