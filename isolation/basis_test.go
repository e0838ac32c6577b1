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
		if b := BasisOf(w); !b.Absence || !slices.Equal(b.Identity, x.identity) {
			t.Errorf("%s: %+v, want absence and the identity of %v", x.name, b, x.identity)
		}
	}
}
