package window

import (
	"testing"

	"github.com/isowatch/isowatch/event"
)

// Operations on a kind of data that is new are not taken for those of a register or list.
func TestLinearStepOfNewKind(t *testing.T) {
	const unheardOf = event.Counter + 1
	for _, o := range []event.RecordOp{{Kind: event.Write, Data: unheardOf, Key: "x", Value: "1"}, {Kind: event.Read, Data: unheardOf, Key: "x", Flags: event.IsArray}} {
		if s, ok := linearStep(&o, false); s != nil || ok {
			t.Errorf("%s of a new kind is %v", o.Kind, s)
		}
	}
}
