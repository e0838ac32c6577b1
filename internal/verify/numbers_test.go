package verify

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// TestVerifyNumbers: what is no integer adds up to nothing, and orders no versions; an
// increment without a value is by one.
func TestVerifyNumbers(t *testing.T) {
	const counter = event.Counter
	op := func(kind event.OpKind, key, value string) event.RecordOp {
		return event.RecordOp{Kind: kind, Data: counter, Key: key, Value: value}
	}
	one := func(anomaly finding.AnomalyKind, ops ...event.RecordOp) *finding.Witness {
		return &finding.Witness{Anomaly: anomaly, Key: "c", Op: len(ops) - 1, Txns: []event.Record{{ID: "A", Status: event.Committed, Ops: ops}}}
	}
	two := func(anomaly finding.AnomalyKind, a, b []event.RecordOp) *finding.Witness {
		w := one(anomaly, a...)
		w.Txns = append(w.Txns, event.Record{ID: "B", Status: event.Committed, Ops: b})
		return w
	}
	version := func(kind event.OpKind, text string) event.RecordOp {
		return event.RecordOp{Kind: kind, Key: "c", Value: "1", Version: text}
	}
	numeric := func(read, wrote string) *finding.Witness {
		w := two(finding.CyclicVersions, []event.RecordOp{version(event.Read, read), version(event.Write, wrote)}, []event.RecordOp{version(event.Write, read)})
		w.ByVersion, w.Numeric = true, true
		return w
	}
	changed := func(w *finding.Witness, change func(*finding.Witness)) *finding.Witness {
		change(w)
		return w
	}
	given := func(before, after string) *finding.Witness {
		a, b := version(event.Write, before), version(event.Write, after)
		w := two(0, []event.RecordOp{a, {Kind: event.Read, Key: "k", Value: "1"}}, []event.RecordOp{b, {Kind: event.Write, Key: "k", Value: "1"}})
		w.Key, w.Numeric, w.ByVersion = "", true, true
		w.Edges = []finding.Dependency{
			{From: 0, To: 1, Label: finding.WW, Key: "c", Value: after, Shown: -1},
			{From: 1, To: 0, Label: finding.WR, Key: "k", Value: "1", Shown: -1},
		}
		w.Txns[0].Ops[1].Version, w.Txns[1].Ops[1].Version = "1", "1"
		return w
	}
	for _, c := range []struct {
		name, want string
		w          *finding.Witness
	}{
		{"by one", "agrees", one(finding.Internal, op(event.Read, "c", "5"), op(event.Inc, "c", ""), op(event.Read, "c", "6"))},
		{"not by one", "", one(finding.Internal, op(event.Read, "c", "5"), op(event.Inc, "c", ""), op(event.Read, "c", "7"))},
		{"half", "agrees", one(finding.Internal, op(event.Read, "c", "5"), op(event.Inc, "c", "1.5"), op(event.Read, "c", "7"))},
		{"behind what is no number", "agrees", one(finding.Internal, op(event.Read, "c", `"a"`), op(event.Inc, "c", "1"), op(event.Read, "c", "2"))},
		{"totals beside a register", "the same total", two(finding.WrongTotal,
			[]event.RecordOp{op(event.Read, "c", "1"), {Kind: event.Read, Data: event.Register, Key: "d", Value: "5"}},
			[]event.RecordOp{op(event.Read, "c", "1"), {Kind: event.Read, Data: event.Register, Key: "d", Value: "6"}})},
		{"a read of half", "did not read c", one(finding.OutOfBounds, op(event.Read, "c", "1.5"))},
		{"behind half", "did not read c", one(finding.OutOfBounds, op(event.Inc, "c", "0.5"), op(event.Read, "c", "3"))},
		{"totals of halves", "did not read c", two(finding.WrongTotal,
			[]event.RecordOp{op(event.Read, "c", "1.5"), op(event.Read, "d", "2.5")}, []event.RecordOp{op(event.Read, "c", "2"), op(event.Read, "d", "2")})},
		{"versions", "", numeric("5", "3")},
		{"a version that nobody left", "no transaction that took effect left what A replaced", changed(numeric("5", "3"), func(w *finding.Witness) { w.Txns = w.Txns[:1] })},
		{"a version that its writer did not leave", "no transaction that took effect", changed(numeric("5", "3"), func(w *finding.Witness) { w.Txns[1].Ops[0].Version = "6" })},
		{"a version of who aborted", "no transaction that took effect", changed(numeric("5", "3"), func(w *finding.Witness) { w.Txns[1].Status = event.Aborted })},
		{"a version of who perhaps aborted", "", changed(numeric("5", "3"), func(w *finding.Witness) { w.Txns[1].Status = event.Unknown })},
		{"a version that the write names", "", changed(numeric("5", "3"), func(w *finding.Witness) {
			w.Txns = w.Txns[:1]
			w.Txns[0].Ops = w.Txns[0].Ops[1:]
			w.Txns[0].Ops[0].PrevVersion = "5"
		})},
		{"a version read that is no number", "is before", numeric(`"a"`, "-3")},
		{"a version written that is no number", "is before", numeric("5", `"a"`)},
		{"an order of versions", "", given("-5", "3")},
		{"an order behind what is no number", "did not read c", given(`"a"`, "3")},
		{"an order before what is no number", "did not read c", given("-5", `"a"`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			switch err := Verify(c.w); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestVerifyElementsBesideNumbers: elements of sets have no versions. Where versions are numbers, commit
// timestamps order the elements, and nothing orders them where these are not trusted.
func TestVerifyElementsBesideNumbers(t *testing.T) {
	record := func(id string, commit int64, ops ...event.RecordOp) event.Record {
		return event.Record{ID: id, Status: event.Committed, Flags: event.HasCommitTS, CommitTS: commit, Ops: ops}
	}
	element := func(kind event.OpKind) event.RecordOp {
		return event.RecordOp{Kind: kind, Data: event.Set, Key: "s", Value: "1"}
	}
	saw := event.RecordOp{Kind: event.Read, Data: event.Set, Key: "s", Elems: []string{"1"}}
	version := func(kind event.OpKind) event.RecordOp {
		return event.RecordOp{Kind: kind, Key: "r", Value: "7", Version: "7"}
	}
	order := func(first, second int64) *finding.Witness {
		return &finding.Witness{
			Txns: []event.Record{record("A", first, element(event.Add), version(event.Read)), record("B", second, element(event.Remove), version(event.Write))},
			Edges: []finding.Dependency{
				{From: 0, To: 1, Label: finding.WW, Key: "s", Value: "1", Shown: -1},
				{From: 1, To: 0, Label: finding.WR, Key: "r", Value: "7", Shown: -1},
			},
		}
	}
	step := func(first, second int64) *finding.Witness {
		return &finding.Witness{
			Anomaly: finding.CyclicVersions, Key: "s", Value: "1",
			Txns: []event.Record{record("A", first, saw, element(event.Remove)), record("B", second, element(event.Add))},
		}
	}
	for _, c := range []struct {
		name, want string
		w          *finding.Witness
		untrusted  bool
	}{
		{name: "an order", w: order(10, 20)},
		{name: "an order the other way", want: "did not read s", w: order(20, 10)},
		{name: "an order that nobody gives", want: "did not read s", w: order(10, 20), untrusted: true},
		{name: "a step back", w: step(10, 20)},
		{name: "a step on", want: "committed after", w: step(20, 10)},
		{name: "a step that nobody orders", want: "is not given", w: step(10, 20), untrusted: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.w.ByVersion, c.w.Numeric, c.w.ByCommit = true, true, !c.untrusted
			switch err := Verify(c.w); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
}
