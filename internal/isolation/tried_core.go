package isolation

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// maxCoreOps bounds the operations of a core that a finding names.
const maxCoreOps = 256

// coreOf has the operations and the dependencies of w, whose orders were all tried. told is w as texts name it, and raw
// gives its keys as they were recorded.
func coreOf(w, told *witness, raw func(key string) string) *finding.Core {
	if w.Anomaly == finding.UnattributedRead {
		return unattributed(w)
	}
	if len(w.Essential) == 0 {
		return nil
	}
	c := &finding.Core{}
	for _, p := range w.Essential[:min(len(w.Essential), maxCoreOps)] {
		c.Ops = append(c.Ops, finding.Op{Txn: w.Txns[p.Txn].ID, Op: p.Op})
	}
	for i := range told.Links {
		e := &told.Links[i]
		c.Edges = append(c.Edges, finding.Edge{
			From: w.Txns[e.From].ID, To: w.Txns[e.To].ID, Type: e.Label.String(),
			Key: raw(e.Key), Value: Cut(e.Value, maxValue), Evidence: Cut(told.shorten(linkSentence(told, e)), maxValue), Derived: e.Label == finding.RW,
		})
	}
	return c
}

// unattributed has the operations that saw or replaced the value, nil where none is known.
func unattributed(w *witness) *finding.Core {
	c := &finding.Core{}
	for i := range w.Txns[0].Ops {
		o := &w.Txns[0].Ops[i]
		row := func(r event.RecordRow) bool { return r.Key == w.Key && r.Value == w.Value }
		about := o.Key == w.Key && (o.Value == w.Value || o.Expected == w.Value || o.Seen == w.Value || slices.Contains(o.Elems, w.Value))
		if about || slices.ContainsFunc(o.Rows, row) {
			c.Ops = append(c.Ops, finding.Op{Txn: w.Txns[0].ID, Op: i})
		}
	}
	if len(c.Ops) == 0 || len(c.Ops) > maxCoreOps {
		return nil
	}
	return c
}

// linkSentence is why a dependency holds in each order.
func linkSentence(w *witness, e *finding.Dependency) string {
	from, to := w.short(e.From), w.short(e.To)
	switch e.Label {
	case finding.WR:
		return fmt.Sprintf("%s saw what %s wrote: %s", to, from, holds(e.Key, withVersion(w, e.To, e.Key, e.Value)))
	case finding.RW:
		return fmt.Sprintf("%s did not see %s: in each order, that came behind all that %s can have seen of %s", from, changed(w, e), from, keyName(e.Key))
	}
	return because(w, e)
}

// changed names the change at the end of an anti-dependency: of a key, or of an element of a set.
func changed(w *witness, e *finding.Dependency) string {
	for i := range w.Txns[e.To].Ops {
		o := &w.Txns[e.To].Ops[i]
		switch {
		case o.Key != e.Key || o.Value != e.Value:
		case o.Kind == event.Add:
			return fmt.Sprintf("that %s added %s to %s", w.short(e.To), clip(e.Value), keyName(e.Key))
		case o.Kind == event.Remove:
			return fmt.Sprintf("that %s removed %s from %s", w.short(e.To), clip(e.Value), keyName(e.Key))
		}
	}
	return change(w, e)
}

// essential are the keys of the operations that matter.
func essential(w *witness) (keys []string) {
	for _, p := range w.Essential {
		o := &w.Txns[p.Txn].Ops[p.Op]
		if o.Kind != event.Range {
			keys = addName(keys, o.Key)
		}
		for _, row := range o.Rows {
			keys = addName(keys, row.Key)
		}
	}
	return keys
}
