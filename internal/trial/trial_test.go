package trial

import (
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testrun"
)

func writeOf(key, value string) event.RecordOp {
	return event.RecordOp{Kind: event.Write, Key: key, Value: value}
}

func readOf(key, value string) event.RecordOp {
	if value == "" {
		return event.RecordOp{Kind: event.Read, Key: key, Flags: event.NotFound}
	}
	return event.RecordOp{Kind: event.Read, Key: key, Value: value}
}

func remove(key string) event.RecordOp { return event.RecordOp{Kind: event.Delete, Key: key} }

func historyOf(t *testing.T, txns ...[]event.RecordOp) *History {
	t.Helper()
	in := Input{Maybe: make([]bool, len(txns))}
	for _, ops := range txns {
		in.Records = append(in.Records, event.Record{Status: event.Committed, Ops: ops})
	}
	h, err := Read(&in)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestCore: nothing can be left out of it, and it is found among many that do not matter.
func TestCore(t *testing.T) {
	var txns [][]event.RecordOp
	for i := range 40 {
		key := string(rune('a'+i%26)) + string(rune('a'+i/26))
		txns = append(txns, []event.RecordOp{writeOf(key, "1"), readOf(key, "1")})
	}
	txns = append(txns,
		[]event.RecordOp{writeOf("x", "1"), writeOf("z", "1")},
		[]event.RecordOp{readOf("x", "1"), remove("x")},
		[]event.RecordOp{readOf("z", "1"), readOf("x", ""), writeOf("y", "2")},
		[]event.RecordOp{readOf("y", "2"), readOf("x", "1")},
	)
	h := historyOf(t, txns...)
	verdict, core := h.Decide(Level{Base: causal})
	if verdict != Impossible || core == nil || !slices.Equal(core.Txns, []int{40, 41, 42, 43}) {
		t.Fatalf("%v, %+v, want the last four", verdict, core)
	}
	for _, left := range core.Txns {
		less := &Core{Txns: slices.DeleteFunc(slices.Clone(core.Txns), func(i int) bool { return i == left })}
		if h.Refutes(less, Level{Base: causal}) {
			t.Errorf("without %d it has no order either", left)
		}
	}
	if verdict, _ := h.Decide(Level{Base: readAtomic}); verdict != Possible {
		t.Errorf("read atomic: %v", verdict)
	}
}

// TestLong: where the records come about as they took effect, a long history is decided.
func TestLong(t *testing.T) {
	var txns [][]event.RecordOp
	for i := range testrun.Size(1_200, 4_000) {
		switch i % 4 {
		case 0:
			txns = append(txns, []event.RecordOp{readOf("x", ""), writeOf("x", string(rune('0'+i%10))+string(rune('A'+i/4%26))+string(rune('A'+i/104%26))+string(rune('A'+i/2704)))})
		case 1:
			txns = append(txns, []event.RecordOp{readOf("x", txns[i-1][1].Value)})
		case 2:
			txns = append(txns, []event.RecordOp{remove("x")})
		default:
			txns = append(txns, []event.RecordOp{readOf("x", "")})
		}
	}
	h := historyOf(t, txns...)
	for _, l := range []Level{{Base: serializable}, {Base: snapshotIsolation, Session: true}, {Base: prefix, Time: true}} {
		if verdict, _ := h.Decide(l); verdict != Possible {
			t.Errorf("%+v: %v", l, verdict)
		}
	}
	if verdict, _ := h.Decide(Level{Base: causal}); verdict != Unknown {
		t.Errorf("causal, of so many: %v", verdict)
	}
}

// TestOdd: what is not tried.
func TestOdd(t *testing.T) {
	for name, ops := range map[string][]event.RecordOp{
		"two kinds":                   {writeOf("x", "1"), {Kind: event.Append, Key: "x", Value: "1"}},
		"a version that nobody wrote": {{Kind: event.Write, Key: "x", Value: "1", PrevVersion: "7"}},
		"a new kind":                  {{Kind: event.Write, Data: event.Counter + 1, Key: "x", Value: "1"}},
		"no integer":                  {{Kind: event.Inc, Key: "c", Value: "1.5"}},
	} {
		if _, err := Read(&Input{Records: []event.Record{{Status: event.Committed, Ops: ops}}, Maybe: []bool{false}}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// TestKindsUntold: writes tell the kinds of keys whose reads do not.
func TestKindsUntold(t *testing.T) {
	array := func(key string, elems ...string) event.RecordOp {
		return event.RecordOp{Kind: event.Read, Key: key, Flags: event.IsArray, Value: "[" + strings.Join(elems, ",") + "]", Elems: elems}
	}
	inc := event.RecordOp{Kind: event.Inc, Key: "c", Value: "2"}
	level := Level{Base: serializable}
	for name, c := range map[string]struct {
		txns [][]event.RecordOp
		want Verdict
	}{
		"a counter":            {[][]event.RecordOp{{readOf("c", "2")}, {inc}}, Possible},
		"a counter, misread":   {[][]event.RecordOp{{readOf("c", "3")}, {inc}}, Impossible},
		"a set":                {[][]event.RecordOp{{array("s", "1", "2")}, {{Kind: event.Add, Key: "s", Value: "2"}, {Kind: event.Add, Key: "s", Value: "1"}}}, Possible},
		"an array":             {[][]event.RecordOp{{array("x", "1", "2")}, {writeOf("x", "[1,2]")}}, Possible},
		"an empty array":       {[][]event.RecordOp{{array("x")}, {writeOf("x", "[]")}}, Possible},
		"an array, overlooked": {[][]event.RecordOp{{writeOf("x", "[1]"), writeOf("y", "1")}, {array("x", "1"), readOf("y", "")}}, Impossible},
	} {
		if verdict, _ := historyOf(t, c.txns...).Decide(level); verdict != c.want {
			t.Errorf("%s: %v", name, verdict)
		}
	}
	for name, ops := range map[string][]event.RecordOp{
		"an array of a counter":    {inc, array("c", "2")},
		"a number of a list":       {{Kind: event.Append, Key: "l", Value: "1"}, readOf("l", "1")},
		"a number and an array":    {readOf("x", "1"), array("x", "1")},
		"an array and a number":    {array("x", "1"), readOf("x", "1")},
		"what is left of a list":   {remove("x"), writeOf("x", "1"), array("x")},
		"an array that is counted": {array("x", "1"), {Kind: event.Read, Data: event.Counter, Key: "x", Value: "1"}},
	} {
		if _, err := Read(&Input{Records: []event.Record{{Status: event.Committed, Ops: ops}}, Maybe: []bool{false}}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// TestAppendedAgain: where an element was appended twice, a part says nothing of who saw it, unless it
// has both who did.
func TestAppendedAgain(t *testing.T) {
	app := func(e string) event.RecordOp { return event.RecordOp{Kind: event.Append, Key: "l", Value: e} }
	shows := func(elems ...string) event.RecordOp {
		return event.RecordOp{Kind: event.Read, Key: "l", Flags: event.IsArray, Elems: elems}
	}
	h := historyOf(t,
		[]event.RecordOp{app("1"), writeOf("y", "1")},
		[]event.RecordOp{app("1")},
		[]event.RecordOp{shows("1"), readOf("y", "")},
		[]event.RecordOp{shows("1", "1"), readOf("y", "")},
	)
	level := Level{Base: serializable}
	if h.Refutes(&Core{Txns: []int{0, 2}}, level) || h.Refutes(&Core{Txns: []int{0, 1, 2}}, level) {
		t.Error("what may be of another one refutes an order")
	}
	if !h.Refutes(&Core{Txns: []int{0, 1, 3}}, level) {
		t.Error("both are shown, and there is an order")
	}
}

// TestCoreOfRows: of a store of rows, who inserts a row conflicts with the writer of another one
// in a part too, from which who deleted that one is left out.
func TestCoreOfRows(t *testing.T) {
	h := historyOf(t,
		[]event.RecordOp{readOf("y", ""), writeOf("x", "1")},
		[]event.RecordOp{remove("x")},
		[]event.RecordOp{writeOf("y", "1"), writeOf("x", "3")},
		[]event.RecordOp{readOf("y", "1"), readOf("x", "1")},
	)
	part := &Core{Txns: []int{0, 2, 3}}
	for _, rows := range []bool{false, true} {
		h.rows = rows
		if got := h.Refutes(part, Level{Base: snapshotIsolation}); got == rows {
			t.Errorf("rows %t: the part without who deleted x has an order: %t", rows, !got)
		}
		if !h.Refutes(part, Level{Base: serializable}) {
			t.Errorf("rows %t: the part has a serial order", rows)
		}
	}
}

// TestRowsOfCore: a part says at which keys rows were deleted by others.
func TestRowsOfCore(t *testing.T) {
	h := historyOf(t,
		[]event.RecordOp{readOf("y", ""), readOf("z", ""), writeOf("x", "1")},
		[]event.RecordOp{remove("x"), remove("w")},
		[]event.RecordOp{readOf("x", ""), writeOf("y", "1"), writeOf("x", "3"), writeOf("w", "1")},
		[]event.RecordOp{readOf("y", ""), writeOf("z", "1"), readOf("x", "1")},
	)
	h.rows = true
	if got := h.part([]bool{true, false, true, true}, 0).rows(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("rows were deleted at %v, want x", got)
	}
	if got := h.part(nil, 0).rows(); got != nil {
		t.Errorf("rows were deleted outside of the whole at %v", got)
	}
}
