package verify

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/external"
)

// anyOp is an operation whose parts are drawn one by one, whether they fit each other or not.
func anyOp(rng *rand.Rand) event.RecordOp {
	text := func() string { return []string{"", "1", "2", "3"}[rng.IntN(4)] }
	some := func() bool { return rng.IntN(3) == 0 }
	o := event.RecordOp{Kind: event.OpKind(rng.IntN(int(event.Range) + 1)), Key: []string{"x", "y"}[rng.IntN(2)], Value: text()}
	if rng.IntN(2) == 0 {
		o.Kind = []event.OpKind{event.Read, event.Write, event.Append}[rng.IntN(3)]
	}
	for range rng.IntN(3) {
		o.Elems = append(o.Elems, text())
	}
	for range rng.IntN(3) {
		o.Rows = append(o.Rows, event.RecordRow{Key: text()})
	}
	if some() {
		o.Flags |= event.NotFound
	}
	if some() {
		o.Flags |= event.IsArray
	}
	if some() {
		o.Data = []event.DataKind{event.Register, event.List, event.Set, event.Counter}[rng.IntN(4)]
	}
	if some() {
		o.Version = text()
	}
	if some() {
		o.PrevVersion = text()
	}
	o.HasFrom, o.From, o.HasTo, o.To = some(), text(), some(), text()
	o.Limit, o.Desc = int64(rng.IntN(3)), some()
	return o
}

// TestVerifyMeets: the verifier and package external say the same of random transactions and a key. The
// tests of package external say by hand which answers are right.
func TestVerifyMeets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for range 20_000 {
		r := &event.Record{Status: []event.Status{event.Committed, event.Unknown}[rng.IntN(2)]}
		for range rng.IntN(6) {
			r.Ops = append(r.Ops, anyOp(rng))
		}
		same := func(what string, got, want any) {
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s of %+v: %v, want %v", what, r.Ops, got, want)
			}
		}
		type found struct {
			op *event.RecordOp
			ok bool
		}
		gotRead, gotIs := externalRead(r, "x")
		wantRead, wantIs := external.Read(r, "x")
		same("read", found{gotRead, gotIs}, found{wantRead, wantIs})
		gotWrite, gotIs := finalWrite(r, "x")
		wantWrite, wantIs := external.FinalWrite(r, "x")
		same("final write", found{gotWrite, gotIs}, found{wantWrite, wantIs})
		gotFirst, gotLast, gotIs := visited(r, "x")
		wantFirst, wantLast, wantIs := external.Visited(r, "x")
		same("visited", []any{gotFirst, gotLast, gotIs}, []any{wantFirst, wantLast, wantIs})
		got, want := observations(r, "x"), external.Reads(r, "x")
		same("reads", len(got), len(want))
		for i, x := range got {
			if y := want[i]; x.at != y.At || x.nothing != y.Nothing || x.value != y.Value || x.isList != y.IsList || len(x.list) != len(y.List) || x.isList && !endsWith(x.list, y.List) {
				t.Fatalf("read %d of %+v: %+v, want %+v", i, r.Ops, x, y)
			}
		}
		for _, value := range []string{"", "1", "2"} {
			same("appended", appended(r, "x", value), external.Appended(r, "x", value))
			same("last showing", lastShowing(r, "x", value), external.LastShowing(r, "x", value))
		}
		for i := range r.Ops {
			o := &r.Ops[i]
			same("versioned", versioned(o), external.Versioned(o))
			same("tells version", tellsVersion(o), external.TellsVersion(o))
			same("covers", covers(o, "2"), external.Covers(o, "2"))
			same("ends with", endsWith(o.Elems, []string{"1"}), external.EndsWith(o.Elems, []string{"1"}))
		}
	}
}
