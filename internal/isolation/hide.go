package isolation

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// hashDigits of a hidden value are shown.
const hashDigits = 8

// Hidden stands in the place of a text that would tell values.
const Hidden = "The values are hidden (show-values: false)."

// HideValue is a text in place of a value in canonical JSON: equal values have equal texts. The key
// keeps strangers from finding a value by trying. The elements of a list are hidden one by one. An
// empty text and null stay.
func HideValue(key, value string) string {
	switch {
	case value == "" || value == "null":
		return value
	case value[0] == '[':
		var elements []json.RawMessage
		if json.Unmarshal([]byte(value), &elements) == nil {
			texts := make([]string, len(elements))
			for i, e := range elements {
				texts[i] = hash(key, string(e))
			}
			return "[" + strings.Join(texts, ",") + "]"
		}
	}
	return hash(key, value)
}

func hash(key, value string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(value)) // a hash takes everything
	return `"#` + hex.EncodeToString(h.Sum(nil)[:hashDigits/2]) + `"`
}

// HideRecord hides the values of a record. It makes copies of lists that others may share.
func HideRecord(key string, t *event.Record) {
	t.Ops = slices.Clone(t.Ops)
	for i := range t.Ops {
		o := &t.Ops[i]
		for _, text := range []*string{&o.Value, &o.Expected, &o.Seen} {
			*text = HideValue(key, *text)
		}
		o.Elems = slices.Clone(o.Elems)
		for j := range o.Elems {
			o.Elems[j] = hash(key, o.Elems[j])
		}
		o.Rows = slices.Clone(o.Rows)
		for j := range o.Rows {
			o.Rows[j].Value = HideValue(key, o.Rows[j].Value)
		}
	}
}

// FillHidden is Fill with hidden values. The witness stays as it is.
func (n Name) FillHidden(f *finding.Finding, of *finding.Witness, expect Level, key string) {
	w := *of
	w.Txns = slices.Clone(of.Txns)
	for i := range w.Txns {
		HideRecord(key, &w.Txns[i])
	}
	if !of.ByVersion { // else values of edges are versions
		w.Value = HideValue(key, of.Value)
		w.Edges, w.Links = hideEdges(key, of.Edges), hideEdges(key, of.Links)
	}
	n.Fill(f, &w, expect)
	f.Hidden = true
	if of.Anomaly == finding.OutOfBounds || of.Anomaly == finding.WrongTotal { // sums of hashes say nothing
		Withhold(f)
	}
}

func hideEdges(key string, edges []finding.Dependency) []finding.Dependency {
	edges = slices.Clone(edges)
	for i := range edges {
		edges[i].Value = HideValue(key, edges[i].Value)
		edges[i].Past = hideEdges(key, edges[i].Past)
	}
	return edges
}

// Withhold takes out the texts that may tell values.
func Withhold(f *finding.Finding) {
	f.Headline, f.Explanation, f.Hidden = "", Hidden, true
	f.Edges = withheld(f.Edges)
	if c := f.Core; c != nil {
		f.Core = &finding.Core{Ops: c.Ops, Edges: withheld(c.Edges)}
	}
}

func withheld(edges []finding.Edge) []finding.Edge {
	edges = slices.Clone(edges)
	for i := range edges {
		edges[i].Value, edges[i].Evidence = "", Hidden
	}
	return edges
}
