package isolation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// otherOperation is an operation that is not one of a plain register or list.
func otherOperation(o *event.RecordOp) string {
	switch o.Kind {
	case event.Delete:
		return "delete " + oneWord(o.Key)
	case event.CAS:
		text := fmt.Sprintf("cas %s %s to %s", oneWord(o.Key), clip(o.Expected), clip(o.Value))
		if o.Flags&event.Success != 0 {
			return text
		}
		if o.Seen != "" {
			return text + ": failed, saw " + clip(o.Seen)
		}
		return text + ": failed"
	case event.Range:
		return "range " + bounds(o) + " " + clip(rows(o))
	}
	return fmt.Sprintf("%s %s %s", o.Kind, oneWord(o.Key), clip(o.Value))
}

// bounds are the bounds of a range, with its limit.
func bounds(o *event.RecordOp) string {
	from, to := "", ""
	if o.HasFrom {
		from = boundName(o.From)
	}
	if o.HasTo {
		to = boundName(o.To)
	}
	text := fmt.Sprintf("[%s, %s)", from, to)
	if o.Limit > 0 {
		text = fmt.Sprintf("%s limit %d", text, o.Limit)
	}
	if o.Desc {
		text += " desc"
	}
	return text
}

// boundName is a key at the end of a range, and rowName one before the value of its row. Besides blanks, commas and quotes,
// the signs that end it are quoted.
func boundName(key string) string { return wordWithout(key, "[])") }

func rowName(key string) string { return wordWithout(key, "[]=") }

func rows(o *event.RecordOp) string {
	texts := make([]string, len(o.Rows))
	for i, r := range o.Rows {
		texts[i] = rowName(r.Key) + "=" + r.Value + versionText(&event.RecordOp{Version: r.Version})
	}
	return "[" + strings.Join(texts, " ") + "]"
}

// otherBecause is the evidence for an edge whose ends use operations of other
// kinds, "" if plain ones prove it.
func otherBecause(w *witness, e *finding.Dependency) string {
	from, to := &w.Txns[e.From], &w.Txns[e.To]
	a, b := w.short(e.From), w.short(e.To)
	value := clip(e.Value)
	switch {
	case e.Label&finding.WR == 0 && (w.Numeric || w.ByCommit) && !isSet(to, e.Key) && !isSet(from, e.Key):
		return givenBecause(w, e)
	case !special(*from) && !special(*to):
		return ""
	case isSet(to, e.Key) || isSet(from, e.Key):
		switch {
		case e.Label&finding.WR != 0 && e.Label&finding.WW != 0:
			return fmt.Sprintf("%s saw %s in %s, which %s added, and removed it", b, value, keyName(e.Key), a)
		case e.Label&finding.WR != 0:
			return fmt.Sprintf("%s saw %s in %s, which %s added", b, value, keyName(e.Key), a)
		case e.Label&finding.RW != 0 && saw(from, e.Key, e.Value) && removed(to, e.Key, e.Value):
			return fmt.Sprintf("%s saw %s in %s, which %s removed", a, value, keyName(e.Key), b)
		case e.Label&finding.RW != 0:
			return fmt.Sprintf("%s read %s without %s, which %s added", a, keyName(e.Key), value, b)
		case e.Label&finding.WW != 0 && w.ByCommit:
			return fmt.Sprintf("%s added or removed %s in %s, and %s did so later, by the commit timestamps", a, value, keyName(e.Key), b)
		}
	case e.Label&finding.RW != 0 && e.Value == "":
		return fmt.Sprintf("%s read %s = %s, which %s deleted", a, keyName(e.Key), clip(readText(w, e)), b)
	case e.Label&finding.RW != 0 && unseen(from, e.Key) != nil:
		return fmt.Sprintf("%s read the range %s without %s, which %s set to %s", a, bounds(unseen(from, e.Key)), keyName(e.Key), b, value)
	}
	return ""
}

func isSet(t *event.Record, key string) bool {
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Key == key && o.OfParts() {
			return true
		}
	}
	return false
}

// removed says whether t removed the element, whatever else it did to it.
func removed(t *event.Record, set, elem string) bool {
	return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
		return o.Key == set && o.Kind == event.Remove && o.Value == elem
	})
}

// saw says whether a read of the set shows the element.
func saw(t *event.Record, set, elem string) bool {
	return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
		return o.Key == set && o.Kind == event.Read && slices.Contains(o.Elems, elem)
	})
}

// unseen is the range that covers the key and did not return it. It is nil if there is none, or
// if another operation of t saw the key.
func unseen(t *event.Record, key string) *event.RecordOp {
	for i := range t.Ops {
		switch o := &t.Ops[i]; {
		case o.Kind == event.Range:
			if slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == key }) {
				return nil
			}
			if external.Covers(o, key) {
				return o
			}
		case o.Key == key:
			return nil
		}
	}
	return nil
}

// readText is the value that the reader of an anti-dependency found.
func readText(w *witness, e *finding.Dependency) string {
	p := plainly(w)
	if o, ok := external.Read(&p.Txns[e.From], e.Key); ok && o.Flags&event.NotFound == 0 {
		return o.Value
	}
	return "nothing"
}

// predicates says whether an anti-dependency of the cycle comes from a range that did not
// return the key (Adya's predicate anti-dependency). The names of Elle then have no "-item".
func predicates(w *witness) bool {
	return slices.ContainsFunc(w.Edges, func(e finding.Dependency) bool {
		return e.Label&finding.RW != 0 && unseen(&w.Txns[e.From], e.Key) != nil
	})
}

// givenBecause is the evidence for an edge that the given order of versions proves,
// "" for one that reads prove.
func givenBecause(w *witness, e *finding.Dependency) string {
	p := plainly(w)
	from, to := &p.Txns[e.From], &p.Txns[e.To]
	switch {
	case e.Label&finding.RW != 0:
		for _, x := range external.Reads(from, e.Key) {
			if read := &from.Ops[x.At]; givenOrder(p, from, to, e, read) {
				return given(w, e, read, to)
			}
		}
	case e.Label&(finding.WW|finding.OtherRow) != 0 && givenOrder(p, from, to, e, nil):
		before, _ := external.FinalWrite(from, e.Key)
		return given(w, e, before, to)
	}
	return ""
}

// given says that the version that o read or left is before the version of the edge's end, to.
func given(w *witness, e *finding.Dependency, o *event.RecordOp, to *event.Record) string {
	a, b, by := w.short(e.From), w.short(e.To), "by their numbers"
	if !w.Numeric {
		by = "by the commit timestamps"
	}
	first, that := fmt.Sprintf("%s wrote version %s of %s", a, clip(o.Value), keyName(e.Key)), "that"
	switch {
	case o.Kind == event.Read:
		first = fmt.Sprintf("%s read version %s of %s", a, clip(o.Value), keyName(e.Key))
	case o.Flags&event.NotFound != 0:
		first, that = fmt.Sprintf("%s deleted %s", a, keyName(e.Key)), "the version"
	}
	if left, ok := external.FinalWrite(to, e.Key); ok && left.Flags&event.NotFound != 0 {
		return fmt.Sprintf("%s, and %s deleted it later, %s", first, b, by)
	}
	return fmt.Sprintf("%s, and %s of %s, %s, is later %s", first, that, b, clip(e.Value), by)
}

// versionText says which version o read or left: "(version 2)", or "(version 2 after 1)" with the one that it replaced.
func versionText(o *event.RecordOp) string {
	version, before := versionName(o.Version), versionName(o.PrevVersion)
	switch {
	case version != "" && before != "":
		return " (version " + version + " after " + before + ")"
	case before != "":
		return " (after version " + before + ")"
	case version != "":
		return " (version " + version + ")"
	}
	return ""
}

// versionName is a version without the quotes of JSON, where it is a plain word: PostgreSQL's xmin is one.
func versionName(text string) string {
	if len(text) < 3 || text[0] != '"' || text[len(text)-1] != '"' {
		return text
	}
	word := text[1 : len(text)-1]
	for _, c := range []byte(word) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == ':' || c == '/') {
			return text
		}
	}
	return word
}
