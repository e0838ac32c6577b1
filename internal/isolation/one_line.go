package isolation

import (
	"maps"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// oneLine is the witness as texts name it: line ends in ids, sessions, names and keys are written
// out. raw gives a key as it was recorded. A witness without line ends is not copied. Values are JSON,
// which has none.
func (w *witness) oneLine() (told *witness, raw func(key string) string) {
	if !slices.ContainsFunc(w.Txns, hasLineEnds) {
		return w, func(key string) string { return key }
	}
	recorded := map[string]string{}
	line := func(key string) string {
		text := finding.OneLine(key)
		recorded[text] = key
		return text
	}
	of := *w.Witness
	of.Txns = recordsOf(of.Txns, line)
	of.Edges, of.Links = linesOf(of.Edges, line), linesOf(of.Links, line)
	of.Choices, of.Repeated, of.Deleted = slices.Clone(of.Choices), slices.Clone(of.Repeated), slices.Clone(of.Deleted)
	for i := range of.Choices {
		of.Choices[i].Key = line(of.Choices[i].Key)
	}
	for i := range of.Repeated {
		of.Repeated[i].Key = line(of.Repeated[i].Key)
	}
	for i := range of.Deleted {
		of.Deleted[i] = line(of.Deleted[i])
	}
	of.Key = line(of.Key)
	all := *w
	all.Witness, all.raw = &of, recordsOf(w.raw, line)
	return &all, func(key string) string { return recorded[key] }
}

func recordsOf(all []event.Record, line func(string) string) []event.Record {
	all = slices.Clone(all)
	for i := range all {
		t := &all[i]
		t.ID, t.Session, t.Epoch, t.Name = finding.OneLine(t.ID), finding.OneLine(t.Session), finding.OneLine(t.Epoch), finding.OneLine(t.Name)
		if on, ok := t.Labels[finding.EndpointLabel]; ok {
			t.Labels = maps.Clone(t.Labels)
			t.Labels[finding.EndpointLabel] = finding.OneLine(on)
		}
		t.Ops = slices.Clone(t.Ops)
		for j := range t.Ops {
			o := &t.Ops[j]
			o.Key, o.From, o.To = line(o.Key), line(o.From), line(o.To)
			o.Rows = slices.Clone(o.Rows)
			for k := range o.Rows {
				o.Rows[k].Key = line(o.Rows[k].Key)
			}
		}
	}
	return all
}

func linesOf(edges []finding.Dependency, line func(string) string) []finding.Dependency {
	edges = slices.Clone(edges)
	for i := range edges {
		edges[i].Key = line(edges[i].Key)
		edges[i].Past = linesOf(edges[i].Past, line)
	}
	return edges
}

// hasLineEnds says whether a text of the record that is printed as it is has one.
func hasLineEnds(t event.Record) bool {
	has := func(text string) bool { return strings.IndexByte(text, '\n') >= 0 }
	return has(t.ID) || has(t.Session) || has(t.Epoch) || has(t.Name) || has(t.Labels[finding.EndpointLabel]) ||
		slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
			return has(o.Key) || has(o.From) || has(o.To) || slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return has(r.Key) })
		})
}
