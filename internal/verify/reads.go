package verify

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// wroteValue says whether t wrote or appended value to key at any time.
func wroteValue(t *event.Record, key, value string) bool {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key == key && o.Value == value && (o.Kind == event.Write || o.Kind == event.Append) {
			return true
		}
	}
	return false
}

// listReads are the values of all reads of key in t, as lists. Every other operation, and a read
// that found nothing, is the empty list: it shows no element, and contradicts no list.
func listReads(t *event.Record, key string) [][]string {
	var reads [][]string
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Key == key {
			reads = append(reads, o.Elems)
		}
	}
	return reads
}

// externalLists are the reads of key in t without what t had appended itself by
// then: what the others had left there.
func externalLists(t *event.Record, key string) [][]string {
	var reads [][]string
	var own []string
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key != key {
			continue
		}
		if o.Kind == event.Append {
			own = append(own, o.Value)
		}
		// A delete, too, leaves no element. Those who call it ask first whether the key was written over.
		if o.Flags&(event.IsArray|event.NotFound) == 0 || t.Status == event.Unknown && o.Nothing() {
			continue
		}
		list := o.Elems
		if endsWith(list, own) {
			list = list[:len(list)-len(own)]
		}
		reads = append(reads, list)
	}
	return reads
}

// another is a writer of the value beside those named. A reader may have read from it. It is
// nil if every such writer aborted. A cycle may pass one transaction twice.
func another(w *finding.Witness, key, value string, but ...*event.Record) *event.Record {
	for i := range w.Txns {
		t := &w.Txns[i]
		same := slices.ContainsFunc(but, func(b *event.Record) bool { return b.ID == t.ID })
		if !same && t.Status != event.Aborted && wroteValue(t, key, value) {
			return t
		}
	}
	return nil
}

// severalWrote says whether two transactions wrote the value.
func severalWrote(w *finding.Witness, key, value string) bool {
	one := another(w, key, value)
	return one != nil && another(w, key, value, one) != nil
}
