package registers

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
)

// of takes in records; what they leave out of an id, a session and its counter, and a
// status is filled in.
func of(t *testing.T, records ...string) *History {
	t.Helper()
	b := event.Batch{Partitions: []string{"test"}}
	var d event.Decoder
	h := &History{}
	for i, r := range records {
		if !strings.Contains(r, `"status"`) {
			r = `"status":"committed",` + r
		}
		if !strings.Contains(r, `"session"`) {
			r = `"session":"s` + string(rune('0'+i)) + `","seq":1,` + r
		}
		if !strings.Contains(r, `"txn"`) {
			r = `"txn":"T` + string(rune('1'+i)) + `",` + r
		}
		d.Decode(&b, event.Position{Offset: int64(i)}, []byte("{"+r+"}"))
		h.Add(&b)
		h.Expect(float64(i * 40)) // room is made, or there is enough
		b.Reset()
	}
	return h
}

var weak = []isolation.Level{
	{Base: isolation.ReadUncommitted, Family: isolation.StrongSession}, {Base: isolation.ReadCommitted},
	{Base: isolation.MonotonicAtomicView}, {Base: isolation.ReadAtomic}, {Base: isolation.Causal, Family: isolation.StrongSession},
	{Base: isolation.Causal}, {Base: isolation.Prefix}, {Base: isolation.Causal, Family: isolation.Strong},
}

func TestOdd(t *testing.T) {
	const w1 = `"ops":[{"op":"w","key":"x","value":1}]`
	for _, c := range []struct {
		name    string
		records []string
		odd     string
	}{
		{"a plain history", []string{w1, `"ops":[{"op":"r","key":"x","value":1},{"op":"r","key":"y","found":false}]`}, ""},
		{"an aborted write that nobody read", []string{`"status":"aborted",` + w1}, ""},
		{"what an aborted transaction read", []string{`"status":"aborted","ops":[{"op":"r","key":"x","value":1}]`}, ""},
		{"a bad record", []string{`"ops":1`}, "whole transaction"},
		{"an operation-level record", []string{`"type":"begin"`}, "whole transaction"},
		{"sources", []string{w1, `"source":"b","ops":[]`}, "several sources"},
		{"an epoch", []string{`"epoch":"2",` + w1}, "epochs"},
		{"a level of its own", []string{`"isolation":"serializable",` + w1}, "levels of their own"},
		{"stale", []string{`"stale":true,` + w1}, "old data"},
		{"an unknown outcome that nobody saw", []string{`"status":"unknown",` + w1}, ""},
		{"an unknown outcome", []string{`"status":"unknown",` + w1, `"ops":[{"op":"r","key":"x","value":1}]`}, "nobody committed"},
		{"an id twice", []string{`"txn":"T1",` + w1, `"txn":"T1","ops":[]`}, "an id comes twice"},
		{"a session without seq", []string{`"session":"s",` + w1}, "seq"},
		{"a gap", []string{`"session":"s","seq":1,"ops":[]`, `"session":"s","seq":3,"ops":[]`}, "one behind the other"},
		{"an overlap", []string{`"session":"s","seq":1,"start":1,"end":3,"ops":[]`, `"session":"s","seq":2,"start":2,"end":4,"ops":[]`}, "one behind the other"},
		{"a counter", []string{`"ops":[{"op":"inc","key":"x","value":1}]`}, "registers"},
		{"a list that nobody appended to", []string{`"ops":[{"op":"r","key":"x","value":[1]}]`}, "nobody committed"},
		{"an aborted append", []string{`"status":"aborted","ops":[{"op":"append","key":"x","value":1}]`, `"ops":[{"op":"r","key":"x","value":[1]}]`}, "nobody committed"},
		{"two appends, and a read between them", []string{`"ops":[{"op":"append","key":"x","value":1},{"op":"append","key":"x","value":2}]`,
			`"ops":[{"op":"r","key":"x","value":[1]}]`}, "nobody committed"},
		{"an element in the midst of another one's", []string{`"ops":[{"op":"append","key":"x","value":1},{"op":"append","key":"x","value":2}]`,
			`"ops":[{"op":"append","key":"x","value":3}]`, `"ops":[{"op":"r","key":"x","value":[1,3,2]}]`}, "nobody committed"},
		{"two orders of a list", []string{`"ops":[{"op":"append","key":"x","value":1}]`, `"ops":[{"op":"append","key":"x","value":2}]`,
			`"ops":[{"op":"r","key":"x","value":[1,2]}]`, `"ops":[{"op":"r","key":"x","value":[2]}]`}, "do not agree"},
		{"an element twice", []string{`"ops":[{"op":"append","key":"x","value":1}]`, `"ops":[{"op":"r","key":"x","value":[1,1]}]`}, "do not agree"},
		{"an append that the next read lacks", []string{`"ops":[{"op":"append","key":"x","value":1},{"op":"r","key":"x","value":[]}]`}, "misreads"},
		{"a list and a register", []string{`"ops":[{"op":"append","key":"x","value":1}]`, `"ops":[{"op":"w","key":"x","value":1}]`}, "two kinds"},
		{"a version", []string{`"ops":[{"op":"w","key":"x","value":1,"version":1}]`}, "registers"},
		{"own write misread", []string{`"ops":[{"op":"w","key":"x","value":1},{"op":"r","key":"x","value":2}]`}, "misreads"},
		{"two versions read", []string{w1, `"ops":[{"op":"r","key":"x","value":1},{"op":"r","key":"x","found":false}]`}, "two versions"},
		{"two writers", []string{w1, w1}, "written twice"},
		{"a committed and an aborted writer", []string{w1, `"status":"aborted",` + w1}, "written twice"},
		{"nobody's value", []string{`"ops":[{"op":"r","key":"x","value":1}]`}, "nobody committed"},
		{"an aborted read", []string{`"status":"aborted",` + w1, `"ops":[{"op":"r","key":"x","value":1}]`}, "nobody committed"},
		{"an intermediate read", []string{`"ops":[{"op":"w","key":"x","value":1},{"op":"w","key":"x","value":2}]`,
			`"ops":[{"op":"r","key":"x","value":1}]`}, "nobody committed"},
		{"its own future", []string{`"ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":1}]`}, "nobody committed"},
		{"the same value of two keys", []string{w1, `"ops":[{"op":"w","key":"y","value":1}]`}, ""},
	} {
		h := of(t, c.records...)
		holding := h.Holding(weak)
		if odd := h.Odd(); !strings.Contains(odd, c.odd) || (odd == "") != (c.odd == "") {
			t.Errorf("%s: odd for %q, want %q", c.name, odd, c.odd)
		}
		if want := map[bool]int{true: 6}[c.odd == ""]; len(holding) != want {
			t.Errorf("%s: %d levels hold, want %d", c.name, len(holding), want)
		}
	}
}

func TestHolding(t *testing.T) {
	const session = `"session":"s","seq":`
	for _, c := range []struct {
		name    string
		records []string
		want    string
	}{
		{"a fractured read", []string{
			`"ops":[{"op":"w","key":"x","value":1},{"op":"w","key":"y","value":1}]`,
			`"ops":[{"op":"r","key":"y","found":false},{"op":"r","key":"x","value":1}]`,
		}, "strong-session-read-uncommitted read-committed monotonic-atomic-view"},
		{"an old state behind a new one, in a session", []string{
			`"ops":[{"op":"w","key":"x","value":1}]`,
			session + `1,"ops":[{"op":"r","key":"x","value":1}]`, session + `2,"ops":[{"op":"r","key":"x","found":false}]`,
		}, "strong-session-read-uncommitted read-committed monotonic-atomic-view read-atomic causal"},
		{"a cycle of reads", []string{
			`"ops":[{"op":"r","key":"y","value":1},{"op":"w","key":"x","value":1}]`,
			`"ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"y","value":1}]`,
		}, ""},
		{"a lost update, side by side", []string{
			`"start":1,"end":4,"ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"x","value":1}]`,
			`"start":2,"end":3,"ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"x","value":2}]`,
		}, "strong-session-read-uncommitted read-committed monotonic-atomic-view read-atomic strong-session-causal causal strong-causal"},
		{"a stale read", []string{
			`"start":1,"end":2,"ops":[{"op":"w","key":"x","value":1}]`,
			`"start":3,"end":4,"ops":[{"op":"r","key":"x","found":false}]`,
		}, "strong-session-read-uncommitted read-committed monotonic-atomic-view read-atomic strong-session-causal causal"},
		{"the same, one without times", []string{
			`"start":1,"end":4,"ops":[{"op":"w","key":"x","value":1}]`, `"ops":[{"op":"r","key":"x","found":false}]`,
		}, "strong-session-read-uncommitted read-committed monotonic-atomic-view read-atomic strong-session-causal causal"},
		{"no session", []string{`"session":"","ops":[{"op":"w","key":"x","value":1}]`},
			"read-committed monotonic-atomic-view read-atomic causal"},
	} {
		h := of(t, c.records...)
		if got := strings.Join(isolation.LevelNames(h.Holding(weak)), " "); got != c.want {
			t.Errorf("%s: %q hold, want %q (%s)", c.name, got, c.want, h.Odd())
		}
	}
}

func TestDiverged(t *testing.T) {
	update := func(from, to string) string {
		return `"ops":[{"op":"r","key":"x",` + from + `},{"op":"w","key":"x","value":` + to + `}]`
	}
	for _, c := range []struct {
		name    string
		records []string
		want    bool
	}{
		{"one behind the other", []string{update(`"found":false`, "1"), update(`"value":1`, "2")}, false},
		{"both from nothing", []string{update(`"found":false`, "1"), update(`"found":false`, "2")}, true},
		{"both from a version", []string{update(`"found":false`, "1"), update(`"value":1`, "2"), update(`"value":1`, "3")}, true},
		{"one aborted", []string{update(`"found":false`, "1"), `"status":"aborted",` + update(`"found":false`, "2")}, false},
		{"one reads only", []string{update(`"found":false`, "1"), `"ops":[{"op":"r","key":"x","found":false}]`}, false},
	} {
		if got := of(t, c.records...).Diverged(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
