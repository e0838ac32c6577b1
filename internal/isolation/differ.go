package isolation

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// mostDiffering operations are told one by one.
const mostDiffering = 3

// Differences names the fields in which two records of one transaction differ, a before b. It tells no values.
func Differences(a, b *event.Record) (all []string) {
	told := func(what, x, y string) {
		if x != y {
			all = append(all, fmt.Sprintf("%s (%s, then %s)", what, orNone(x), orNone(y)))
		}
	}
	told("outcome", a.Status.String(), b.Status.String())
	told("session", a.Session, b.Session)
	told("seq", seqOf(a), seqOf(b))
	told("isolation level", a.Isolation, b.Isolation)
	if a.Start != b.Start || a.End != b.End || (a.Flags^b.Flags)&event.HasTimes != 0 {
		all = append(all, "start or end")
	}
	if a.StartTS != b.StartTS || a.CommitTS != b.CommitTS {
		all = append(all, "timestamps of the database")
	}
	if n, m := len(a.Ops), len(b.Ops); n != m {
		told("number of operations", fmt.Sprint(n), fmt.Sprint(m))
	}
	differing := Differing(a, b)
	for _, i := range differing[:min(len(differing), mostDiffering)] {
		if i >= len(a.Ops) || i >= len(b.Ops) {
			continue // the number says it
		}
		x, y := opName(&a.Ops[i]), opName(&b.Ops[i])
		if x == y {
			all = append(all, fmt.Sprintf("content of operation %d (%s)", i+1, x))
			continue
		}
		told(fmt.Sprintf("operation %d", i+1), x, y)
	}
	if more := min(len(differing), len(a.Ops), len(b.Ops)) - mostDiffering; more > 0 {
		all = append(all, finding.Counted(int64(more), "more operation", "more operations"))
	}
	if len(all) == 0 {
		all = append(all, "fields that are not shown")
	}
	for i := range all {
		all[i] = finding.OneLine(all[i])
	}
	return all
}

// Differing are the places of the operations that two records do not have in common.
func Differing(a, b *event.Record) (all []int) {
	for i := range max(len(a.Ops), len(b.Ops)) {
		if i >= len(a.Ops) || i >= len(b.Ops) || !alike(&a.Ops[i], &b.Ops[i]) {
			all = append(all, i)
		}
	}
	return all
}

func alike(a, b *event.RecordOp) bool {
	x, y := *a, *b
	same := slices.Equal(x.Elems, y.Elems) && slices.Equal(x.Rows, y.Rows)
	x.Elems, y.Elems, x.Rows, y.Rows = nil, nil, nil, nil
	const own = event.HasExtra | event.ShortValue | event.ShortKey // of how a record is kept
	return same && Operation(&x) == Operation(&y) && x.Kind == y.Kind && x.Data == y.Data && (x.Flags^y.Flags)&^own == 0 && x.Value == y.Value &&
		x.Version == y.Version && x.PrevVersion == y.PrevVersion && x.Expected == y.Expected && x.Seen == y.Seen
}

func opName(o *event.RecordOp) string { return verbOf(o) + " " + Cut(keyName(o.Key), maxName) }

func verbOf(o *event.RecordOp) string {
	switch o.Kind {
	case event.Read:
		return "read"
	case event.Write:
		return "write"
	}
	return o.Kind.String()
}

func seqOf(r *event.Record) string {
	if r.Flags&event.HasSeq == 0 {
		return ""
	}
	return fmt.Sprint(r.Seq)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return Cut(text, maxName)
}
