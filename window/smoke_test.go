package window

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// check runs JSON lines through an unbounded machine and returns what it found.
func check(t *testing.T, cfg Config, lines string) (*Machine, *Effects) {
	t.Helper()
	var b event.Batch
	var d event.Decoder
	b.Partitions = append(b.Partitions, "stdin")
	d.DecodeMessage(&b, event.Position{}, []byte(strings.TrimSpace(lines)))
	for _, bad := range b.Bad {
		t.Fatalf("bad record: %s", bad.Reason)
	}
	m := New(cfg)
	var eff Effects
	for i := range b.Txns {
		m.Step(&b, []int32{int32(i)}, 0, &eff)
		if err := m.Check(); err != nil {
			t.Fatalf("after record %d: %v", i, err)
		}
	}
	m.Close(&eff)
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m, &eff
}

func TestSmoke(t *testing.T) {
	whole := Config{Unbounded: true, Contract: Contract{Complete: true}}
	for _, c := range []struct{ name, lines, want string }{
		{"lost update", `
{"txn":"T0","status":"committed","ops":[{"op":"r","key":"x","value":null},{"op":"w","key":"x","value":0}]}
{"txn":"T1","status":"committed","ops":[{"op":"r","key":"x","value":0},{"op":"w","key":"x","value":1}]}
{"txn":"T2","status":"committed","ops":[{"op":"r","key":"x","value":0},{"op":"w","key":"x","value":2}]}`, "lost-update[cursor-stability]"},
		{"write skew", `
{"txn":"T1","status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"y","value":1}]}
{"txn":"T2","status":"committed","ops":[{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}]}`, "G2-item[repeatable-read update-serializable]"},
		{"g0", `
{"txn":"T1","status":"committed","ops":[{"op":"append","key":"x","value":1},{"op":"append","key":"y","value":1}]}
{"txn":"T2","status":"committed","ops":[{"op":"append","key":"x","value":2},{"op":"append","key":"y","value":2}]}
{"txn":"T3","status":"committed","ops":[{"op":"r","key":"x","value":[1,2]},{"op":"r","key":"y","value":[2,1]}]}`, "G0[read-uncommitted]"},
		{"session", `
{"txn":"T1","session":"s","seq":1,"status":"committed","ops":[{"op":"w","key":"x","value":1}]}
{"txn":"T2","session":"s","seq":2,"status":"committed","ops":[{"op":"r","key":"x","value":null}]}`, "G-single-item-process[strong-session-read-atomic strong-session-repeatable-read]"},
		{"aborted read", `
{"txn":"T1","status":"aborted","ops":[{"op":"w","key":"x","value":1}]}
{"txn":"T2","status":"committed","ops":[{"op":"r","key":"x","value":1}]}`, "G1a[read-committed]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, eff := check(t, whole, c.lines)
			var got []string
			for _, f := range eff.Findings {
				if f.State == "provisional" {
					got = append(got, f.Anomaly+"["+strings.Join(f.Refutes, " ")+"]")
				}
			}
			if fmt.Sprint(got) != "["+c.want+"]" {
				for _, f := range eff.Findings {
					t.Log(f.Revision, f.State, f.Explanation)
				}
				t.Errorf("got %v, want %s; counters %+v", got, c.want, m.Totals())
			}
		})
	}
}
