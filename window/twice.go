package window

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/pattern"
)

// maxTwice patterns have an example each. Values of other patterns are not told.
const maxTwice = 50

// WrittenTwice is a value that two transactions wrote to a key, as an example for the keys of a pattern.
type WrittenTwice struct {
	Pattern string   `json:"pattern"`
	Key     string   `json:"key"`
	Value   string   `json:"value"` // canonical JSON
	Txns    []string `json:"txns"`  // the first two, or the second one alone
	Count   int64    `json:"count"` // writes of a value that was written before, at keys of the pattern
}

// writtenTwice is for whole histories. It is not stored.
type writtenTwice struct {
	all []*WrittenTwice // in the order in which they were met
	by  map[string]*WrittenTwice
}

// noteTwice counts a value that was written again.
func (o *core) noteTwice(t *infer.Twice) {
	second := o.record(t.Second)
	key := o.infer.Key(t.Version)
	name := isolation.Cut(string(pattern.AppendNormal(nil, []byte(key))), maxSessionText)
	x := &o.twice
	if of := x.by[name]; of != nil {
		of.Count++
		return
	}
	if len(x.all) >= maxTwice {
		return
	}
	of := &WrittenTwice{
		Pattern: name, Count: 1, Key: isolation.Cut(key, maxSessionText), Value: isolation.Cut(o.infer.Value(t.Version, &o.scratch), maxSessionText), Txns: []string{second.ID},
	}
	if o.cfg.Hide != "" {
		of.Value = isolation.HideValue(o.cfg.Hide, of.Value)
	}
	if t.First != 0 {
		of.Txns = slices.Insert(of.Txns, 0, o.record(t.First).ID)
	}
	if x.by == nil {
		x.by = map[string]*WrittenTwice{}
	}
	x.by[name], x.all = of, append(x.all, of)
}

// example says who wrote what.
func (x *WrittenTwice) example() string {
	who := "an earlier transaction and " + x.Txns[0]
	if len(x.Txns) > 1 {
		who = x.Txns[0] + " and " + x.Txns[1]
	}
	return finding.OneLine(fmt.Sprintf("%s wrote %s to %s", who, x.Value, isolation.KeyName(x.Key)))
}

// Reason says it beside other reasons.
func (x *WrittenTwice) Reason() string {
	return "values of keys " + finding.OneWord(x.Pattern) + " repeat (" + x.example() + ")"
}

// String says what it means for a reader, and what to do, in the words of [Repeats].
func (x *WrittenTwice) String() string {
	r := Repeats{Pattern: finding.OneWord(x.Pattern), Why: pattern.TwoWriters.String()}
	more := ""
	if x.Count > 1 {
		more = fmt.Sprintf(", and %s a value that was there before", finding.Counted(x.Count-1, "more write repeats", "more writes repeat"))
	}
	return r.repeat() + ": " + x.example() + more + ". " + recordVersions
}
