package isolation

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

func TestHideValue(t *testing.T) {
	hide := func(value string) string { return HideValue("key", value) }
	for _, same := range []string{"", "null", "[]"} {
		if got := hide(same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	if a, b := hide(`"a"`), hide(`"b"`); a == b || a != hide(`"a"`) || strings.Contains(a, "a\"") || len(a) != len(`"#12345678"`) {
		t.Errorf("%s and %s", a, b)
	}
	if hide("1") == HideValue("other", "1") {
		t.Error("strangers can try values")
	}
	if got, want := hide(`[1,"x,y",{"z":[2]}]`), "["+hide("1")+","+hide(`"x,y"`)+","+hide(`{"z":[2]}`)+"]"; got != want {
		t.Errorf("elements of a list: %s, want %s", got, want)
	}
	if got := hide(`[1,`); strings.Contains(got, "1,") {
		t.Errorf("half a list: %s", got)
	}
}

// The record of the caller shares its operations with others.
func TestHideRecordCopies(t *testing.T) {
	ops := []event.RecordOp{{Kind: event.Read, Key: "k", Value: "[1]", Elems: []string{"1"}, Rows: []event.RecordRow{{Key: "r", Value: "2"}}, Seen: "3", Expected: "4", Version: "5"}}
	was := ops[0]
	record := event.Record{ID: "T", Ops: ops}
	HideRecord("key", &record)
	o := record.Ops[0]
	if ops[0].Value != was.Value || ops[0].Elems[0] != "1" || ops[0].Rows[0].Value != "2" {
		t.Errorf("the operations of others were changed: %+v", ops[0])
	}
	if o.Elems[0] != HideValue("key", "1") || o.Value != "["+o.Elems[0]+"]" || o.Rows[0].Value == "2" || o.Seen == "3" || o.Expected == "4" || o.Key != "k" || o.Version != "5" {
		t.Errorf("%+v", o)
	}
}

// Sums of hashes say nothing: texts about totals are left out.
func TestTotalsAreHidden(t *testing.T) {
	w := &finding.Witness{Anomaly: finding.OutOfBounds, Key: "n", Value: "77777777", Txns: []event.Record{
		{ID: "A", Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Read, Data: event.Counter, Key: "n", Value: "77777777"}}},
		{ID: "B", Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Inc, Key: "n", Value: "5555"}}},
	}}
	var f finding.Finding
	n := NameOf(finding.OutOfBounds)
	n.FillHidden(&f, w, Level{Base: Serializable}, "key")
	if text := f.Headline + f.Explanation; !f.Hidden || f.Explanation != Hidden || strings.Contains(text, "7777") || f.Anomaly == "" || len(f.Txns) != 2 {
		t.Errorf("%+v", f)
	}
	if w.Value != "77777777" || w.Txns[0].Ops[0].Value != "77777777" {
		t.Errorf("the witness was changed: %+v", w)
	}
}
