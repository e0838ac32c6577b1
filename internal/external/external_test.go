package external_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/external"
)

// txn is a record of operations on x, as "r 1", "r nil", "r [1 2]", "w 2", "append 3"; "?" first says
// that its outcome is unknown.
func txn(text string) *event.Record {
	t := &event.Record{ID: "T", Status: event.Committed}
	text, unknown := strings.CutPrefix(text, "? ")
	if !unknown {
		text = strings.TrimSpace(text)
	} else {
		t.Status = event.Unknown
	}
	for op := range strings.SplitSeq(text, ", ") {
		kind, value, _ := strings.Cut(op, " ")
		o := event.RecordOp{Key: "x", Value: value}
		switch {
		case kind == "w":
			o.Kind = event.Write
		case kind == "append":
			o.Kind = event.Append
		case value == "nil":
			o.Kind, o.Value, o.Flags = event.Read, "", event.NotFound
		case strings.HasPrefix(value, "["):
			o.Kind, o.Value, o.Flags = event.Read, value, event.IsArray
			o.Elems = strings.Fields(strings.Trim(value, "[]"))
		default:
			o.Kind = event.Read
		}
		t.Ops = append(t.Ops, o)
	}
	return t
}

func TestExternal(t *testing.T) {
	for _, c := range []struct{ txn, read, reads, final, visited string }{
		{"r 1", "1", "0:1", "", "1 1"},
		{"r 1, r 2", "1", "0:1 1:2", "", "1 1"},
		{"r 1, w 2, r 2, w 3", "1", "0:1", "3", "1 3"},
		{"w 2, r 2", "none", "", "2", "2 2"},
		{"r nil, w 2", "nothing", "0:nothing", "2", " 2"},
		{"? r nil, r 1", "1", "1:1", "", "1 1"}, // without a note, something may have been seen
		{"r [1 2], append 3, r [1 2 3]", "[1 2]", "0:[1 2] 2:[1 2]", "", "[1 2] [1 2]"},
		{"append 3, r [1 2]", "none", "", "", "none"}, // its own append is missing: what it saw is not known
		{"append 3, r [1 3]", "none", "1:[1]", "", "none"},
		{"append 3, r 1", "none", "", "", "none"},
	} {
		r := txn(c.txn)
		read, reads, final, visited := "none", "", "", "none"
		if o, ok := external.Read(r, "x"); ok {
			if read = o.Value; o.Flags&event.NotFound != 0 {
				read = "nothing"
			}
		}
		for _, x := range external.Reads(r, "x") {
			saw := x.Value
			switch {
			case x.Nothing:
				saw = "nothing"
			case x.IsList:
				saw = fmt.Sprint(x.List)
			}
			reads += fmt.Sprintf(" %d:%s", x.At, saw)
		}
		if o, ok := external.FinalWrite(r, "x"); ok {
			final = o.Value
		}
		if first, last, ok := external.Visited(r, "x"); ok {
			visited = first + " " + last
		}
		if read != c.read || strings.TrimSpace(reads) != c.reads || final != c.final || visited != c.visited {
			t.Errorf("%s: read %q, reads %q, final %q, visited %q", c.txn, read, reads, final, visited)
		}
		if _, ok := external.Read(r, "y"); ok || external.Reads(r, "y") != nil {
			t.Errorf("%s: another key is read", c.txn)
		}
	}
}

func TestLastShowing(t *testing.T) {
	for _, c := range []struct {
		txn, value string
		want       int
	}{
		{"r 1, r 2, r 1", "1", 2}, {"r 1, w 2", "2", -1}, {"r [1 2]", "2", 0}, {"r [1 2]", "1", -1}, {"r nil", "", -1},
	} {
		if got := external.LastShowing(txn(c.txn), "x", c.value); got != c.want {
			t.Errorf("%s shows %s: %d, want %d", c.txn, c.value, got, c.want)
		}
	}
	if r := txn("append 3"); !external.Appended(r, "x", "3") || external.Appended(r, "x", "4") || external.Appended(r, "y", "3") {
		t.Error("append 3")
	}
}

func TestCovers(t *testing.T) {
	rows := func(keys ...string) (all []event.RecordRow) {
		for _, k := range keys {
			all = append(all, event.RecordRow{Key: k})
		}
		return all
	}
	for _, c := range []struct {
		what string
		o    event.RecordOp
		keys string // that it covers, of a to f
	}{
		{"all", event.RecordOp{}, "abcdef"},
		{"from c", event.RecordOp{HasFrom: true, From: "c"}, "cdef"},
		{"to c", event.RecordOp{HasTo: true, To: "c"}, "ab"},
		{"a limit that was not reached", event.RecordOp{Limit: 3, Rows: rows("b", "d")}, "abcdef"},
		{"a limit that was reached", event.RecordOp{Limit: 2, Rows: rows("b", "d")}, "abcd"},
		{"the same from the end", event.RecordOp{Limit: 2, Desc: true, Rows: rows("e", "c")}, "cdef"},
	} {
		got := ""
		for _, k := range strings.Split("abcdef", "") {
			if external.Covers(&c.o, k) {
				got += k
			}
		}
		if got != c.keys {
			t.Errorf("%s: %s, want %s", c.what, got, c.keys)
		}
	}
}

func TestTellsVersion(t *testing.T) {
	for _, c := range []struct {
		o                event.RecordOp
		versioned, tells bool
	}{
		{event.RecordOp{Kind: event.Read}, true, false},
		{event.RecordOp{Kind: event.Read, Version: "1"}, true, true},
		{event.RecordOp{Kind: event.Read, Flags: event.IsArray, Version: "1"}, false, false},
		{event.RecordOp{Kind: event.Read, Data: event.Set, Version: "1"}, false, false},
		{event.RecordOp{Kind: event.Inc, PrevVersion: "1"}, true, true},
		{event.RecordOp{Kind: event.Append, Version: "1"}, false, false},
		{event.RecordOp{Kind: event.Range, Version: "1"}, false, false},
	} {
		if external.Versioned(&c.o) != c.versioned || external.TellsVersion(&c.o) != c.tells {
			t.Errorf("%+v: versioned %v, tells %v", c.o, external.Versioned(&c.o), external.TellsVersion(&c.o))
		}
	}
}
