package isolation

import (
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// TestBasis: what aborted and future reads rest on.
func TestBasis(t *testing.T) {
	read := event.RecordOp{Kind: event.Read, Key: "x", Value: "1"}
	told, list := read, event.RecordOp{Kind: event.Read, Key: "x", Flags: event.IsArray, Elems: []string{"1"}}
	told.Version = "7"
	for _, x := range []struct {
		name     string
		kind     finding.AnomalyKind
		read     event.RecordOp
		identity []string
	}{
		{"an aborted read of a plain value", finding.G1a, read, []string{"x"}},
		{"of a version that is told", finding.G1a, told, nil},
		{"of a list", finding.G1a, list, nil},
		{"a future read", finding.FutureRead, read, []string{"x"}},
		{"a value that nobody wrote", finding.GarbageRead, read, nil},
	} {
		w := &finding.Witness{Anomaly: x.kind, Key: "x", Value: "1", Txns: []event.Record{{ID: "T", Ops: []event.RecordOp{read}}}}
		w.Txns[0].Ops[0] = x.read
		if b := BasisOf(w, always); !b.Absence || !slices.Equal(b.Identity, x.identity) {
			t.Errorf("%s: %+v, want absence and the identity of %v", x.name, b, x.identity)
		}
	}
}

// TestBasisOfLists: lists that share no element may have a delete between them, a read of nothing may
// have one before it, and an element of unknown outcome may have been appended again.
func TestBasisOfLists(t *testing.T) {
	read := func(elems ...string) event.RecordOp {
		o := event.RecordOp{Kind: event.Read, Key: "l", Flags: event.IsArray, Elems: elems}
		if len(elems) == 0 {
			o.Flags = event.NotFound
		}
		return o
	}
	add := event.RecordOp{Kind: event.Append, Key: "l", Value: "2"}
	of := func(anomaly finding.AnomalyKind, unknown bool, txns ...[]event.RecordOp) *finding.Witness {
		w := &finding.Witness{Anomaly: anomaly, Key: "l"}
		for _, ops := range txns {
			r := event.Record{Ops: ops}
			if unknown {
				r.Status = event.Unknown
			}
			w.Txns = append(w.Txns, r)
		}
		return w
	}
	type ops = []event.RecordOp
	for _, x := range []struct {
		name           string
		w              *finding.Witness
		absence, retry bool
		list           bool
	}{
		{"in two orders", of(finding.IncompatibleOrder, false, ops{read("1", "2")}, ops{read("2", "1")}), false, false, false},
		{"without a common element", of(finding.IncompatibleOrder, false, ops{read("1")}, ops{read("2")}), true, false, true},
		{"the same, one shows it twice", of(finding.IncompatibleOrder, false, ops{read("1"), read("1")}, ops{read("2")}), true, false, true},
		{"beside a read of nothing", of(finding.Divergence, false, ops{read("1"), add}, ops{read(), add}), true, false, true},
		{"both read the list", of(finding.Divergence, false, ops{read("1"), add}, ops{read("1"), add}), false, false, true},
		{"of unknown outcome", of(finding.Divergence, true, ops{read("1"), add}, ops{read("1"), add}), false, true, true},
	} {
		if b := BasisOf(x.w, always); b.Absence != x.absence || b.Retry != x.retry || b.List != x.list {
			t.Errorf("%s: %+v, want absence %v, retry %v, list %v", x.name, b, x.absence, x.retry, x.list)
		}
	}
}

// TestBasisOfKinds: the version of a cas that succeeded is the new one. An array is of a set if the witness adds to it.
func TestBasisOfKinds(t *testing.T) {
	cas := func(expected, version, prev string) []event.RecordOp {
		return []event.RecordOp{{Kind: event.CAS, Key: "x", Flags: event.Success, Expected: expected, Value: "2", Version: version, PrevVersion: prev}}
	}
	edge := []finding.Dependency{{From: 0, To: 1, Label: finding.RW, Key: "x", Shown: -1}}
	write := event.Record{Ops: []event.RecordOp{{Kind: event.Write, Key: "x", Value: "1", Version: "6"}}}
	array := event.RecordOp{Kind: event.Read, Key: "x", Flags: event.IsArray, Elems: []string{"1"}}
	empty := event.RecordOp{Kind: event.Read, Key: "x", Flags: event.IsArray}
	added := []event.RecordOp{{Kind: event.Add, Key: "x", Value: "1"}, {Kind: event.Remove, Key: "x", Value: "1"}, empty}
	for _, x := range []struct {
		name     string
		w        finding.Witness
		absence  bool
		identity []string
		lists    []string
	}{
		{"a cas on nothing", finding.Witness{Edges: edge, Txns: []event.Record{{Ops: cas("null", "7", "")}, write}}, true, []string{"x"}, nil},
		{"a cas on a value", finding.Witness{Edges: edge, Txns: []event.Record{{Ops: cas("1", "7", "")}, write}}, false, []string{"x"}, nil},
		{"a cas that tells what it replaced", finding.Witness{Edges: edge, Txns: []event.Record{{Ops: cas("1", "7", "6")}, write}}, false, nil, nil},
		{"an element of a set that is read without its kind", finding.Witness{Anomaly: finding.G1b, Key: "x", Value: "1", Txns: []event.Record{{Ops: []event.RecordOp{array}}, {Ops: added}}}, true, []string{"x"}, nil},
	} {
		if b := BasisOf(&x.w, always); b.Absence != x.absence || !slices.Equal(b.Identity, x.identity) || !slices.Equal(b.Lists, x.lists) {
			t.Errorf("%s: %+v, want absence %v, identity of %v, lists %v", x.name, b, x.absence, x.identity, x.lists)
		}
	}
}

func always(string, string) bool { return true }

// TestApart: whether the reads of a list by two transactions have an element in common: not of
// another key, not of one transaction, and not what others did to the list.
func TestApart(t *testing.T) {
	read := func(key string, elems ...string) event.RecordOp {
		return event.RecordOp{Kind: event.Read, Key: key, Elems: elems}
	}
	for _, c := range []struct {
		name string
		txns [][]event.RecordOp
		want bool
	}{
		{"nothing in common", [][]event.RecordOp{{read("l", "1")}, {read("l", "2", "3")}}, true},
		{"one in common", [][]event.RecordOp{{read("l", "1", "2")}, {read("l", "2")}}, false},
		{"in common elsewhere", [][]event.RecordOp{{read("l", "1"), read("m", "7")}, {read("l", "2"), read("m", "7")}}, true},
		{"read twice by one", [][]event.RecordOp{{read("l", "1"), read("l", "1")}, {read("l", "2")}}, true},
		{"written by one", [][]event.RecordOp{{{Kind: event.Write, Key: "l", Elems: []string{"1"}}}, {read("l", "1")}}, true},
	} {
		w := &finding.Witness{Key: "l"}
		for _, ops := range c.txns {
			w.Txns = append(w.Txns, event.Record{Ops: ops})
		}
		if got := apart(w, func(string) bool { return true }); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
