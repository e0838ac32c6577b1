package scene

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// drawn are the members and the arrows, a line each: operations that matter have a star.
func drawn(s *Scene) string {
	var b strings.Builder
	for i := range s.Members {
		m := &s.Members[i]
		b.WriteString(m.Title() + ":")
		for _, o := range m.Ops {
			b.WriteString(" [" + o.Text + "]")
			if o.Matters {
				b.WriteByte('*')
			}
		}
		b.WriteByte('\n')
	}
	for _, a := range s.Arrows {
		fmt.Fprintf(&b, "%s %d -%s-> %s %d\n", s.Members[a.From].Title(), a.FromOp, a.Type, s.Members[a.To].Title(), a.ToOp)
	}
	return b.String()
}

func raw(lines ...string) (all []json.RawMessage) {
	for _, l := range lines {
		all = append(all, json.RawMessage(l))
	}
	return all
}

func TestScene(t *testing.T) {
	for name, c := range map[string]struct {
		f    finding.Finding
		want string
	}{
		// A text that looks like an operation draws none.
		"a key that looks like an operation": {
			finding.Finding{
				Txns:        []string{"A", "B"},
				Edges:       []finding.Edge{{From: "A", To: "B", Type: "wr", Key: "x, w y", Value: "1"}},
				Explanation: "h\n\nLet:\n  A = w x, w y 1\n  B = r x, w y 1\n\nThen:\n",
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"w","key":"x, w y","value":1}]}`,
					`{"txn":"B","status":"committed","ops":[{"op":"r","key":"x, w y","value":1}]}`),
			},
			"A: [w \"x, w y\" 1]*\nB: [r \"x, w y\" 1]*\nA 0 -wr-> B 0\n",
		},
		"two records of one transaction": {
			finding.Finding{
				Txns: []string{"A", "B"}, Anomaly: "contradictory-record",
				Positions: map[string]string{"A": "p:1"}, Grounds: finding.Grounds{SecondPositions: map[string]string{"A": "p:2", "B": "p:3"}},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"w","key":"x","value":1},{"op":"r","key":"y","value":1}]}`,
					`{"txn":"A","status":"committed","ops":[{"op":"w","key":"x","value":2},{"op":"r","key":"y","value":1},{"op":"r","key":"z","value":1}]}`,
					`{"txn":"B","status":"aborted","ops":[{"op":"w","key":"x","value":3}]}`),
			},
			"A (kept): [w x 1]* [r y 1]\nA (second record): [w x 2]* [r y 1] [r z 1]*\nB (kept):\nB (second record): [w x 3]\n" +
				"A (kept) 0 -contradicts-> A (second record) 0\nB (kept) -1 -contradicts-> B (second record) -1\n",
		},
		"registers": {
			finding.Finding{
				Txns: []string{"A", "B"},
				Edges: []finding.Edge{
					{From: "A", To: "B", Type: "wr", Key: "x", Value: "2"},
					{From: "B", To: "A", Type: "rw", Key: "y", Value: "5"},
				},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"w","key":"x","value":1},{"op":"w","key":"x","value":2},{"op":"r","key":"z","value":2},{"op":"w","key":"y","value":5}]}`,
					`{"txn":"B","status":"committed","ops":[{"op":"r","key":"x","value":2},{"op":"r","key":"y","value":4}]}`),
			},
			"A: [w x 1] [w x 2]* [r z 2] [w y 5]*\nB: [r x 2]* [r y 4]*\nA 1 -wr-> B 0\nB 1 -rw-> A 3\n",
		},
		"lists": {
			finding.Finding{
				Txns: []string{"A", "B"},
				Edges: []finding.Edge{
					{From: "A", To: "B", Type: "wr", Key: "l", Value: "2"},
					{From: "B", To: "A", Type: "rw", Key: "m", Value: "9"},
				},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"append","key":"l","value":2},{"op":"append","key":"m","value":9}]}`,
					`{"txn":"B","status":"committed","ops":[{"op":"r","key":"m","value":[1]},{"op":"r","key":"l","value":[1,2]}]}`),
			},
			"A: [append l 2]* [append m 9]*\nB: [r m [1]]* [r l [1,2]]*\nA 0 -wr-> B 1\nB 0 -rw-> A 1\n",
		},
		"a stale read: the write that it saw matters too": {
			finding.Finding{
				Txns: []string{"A", "B", "C"},
				Edges: []finding.Edge{
					{From: "B", To: "C", Type: "realtime"},
					{From: "C", To: "B", Type: "rw", Key: "x", Value: "2"},
				},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"w","key":"z","value":1},{"op":"w","key":"x","value":1}]}`,
					`{"txn":"B","status":"committed","ops":[{"op":"w","key":"x","value":2}]}`, `{"txn":"C","status":"committed","ops":[{"op":"r","key":"x","value":1}]}`),
			},
			"A: [w z 1] [w x 1]*\nB: [w x 2]*\nC: [r x 1]*\nB -1 -realtime-> C -1\nC 0 -rw-> B 0\n",
		},
		"a range shows a row, and misses another": {
			finding.Finding{
				Txns: []string{"A", "B"},
				Edges: []finding.Edge{
					{From: "A", To: "B", Type: "wr", Key: "r1", Value: "2"},
					{From: "B", To: "A", Type: "rw", Key: "r2", Value: "3"},
				},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"insert","key":"r1","value":2},{"op":"insert","key":"r2","value":3}]}`,
					`{"txn":"B","status":"committed","ops":[{"op":"range","from":"r","to":"s","result":[{"key":"r1","value":2}]}]}`),
			},
			"A: [insert r1 2]* [insert r2 3]*\nB: [range [r, s) [r1=2]]*\nA 0 -wr-> B 0\nB 0 -rw-> A 1\n",
		},
		"an aborted read": {
			finding.Finding{
				Anomaly: "G1a", Txns: []string{"B", "A"}, About: &finding.About{Txn: "B", Op: 1, Key: "x", Value: "7"},
				History: raw(`{"txn":"A","status":"aborted","ops":[{"op":"w","key":"x","value":7}]}`,
					`{"txn":"B","status":"committed","ops":[{"op":"r","key":"y","value":1},{"op":"r","key":"x","value":7}]}`),
			},
			"B: [r y 1] [r x 7]*\nA: [w x 7]*\nA 0 -wr-> B 1\n",
		},
		"an own write is not read": {
			finding.Finding{
				Anomaly: "internal", Txns: []string{"A"}, About: &finding.About{Txn: "A", Op: 2, Key: "x", Value: "1"},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"w","key":"x","value":2},{"op":"r","key":"y","value":2},{"op":"r","key":"x","value":1}]}`),
			},
			"A: [w x 2]* [r y 2] [r x 1]*\nA 0 -contradicts-> A 2\n",
		},
		"an own later write does not contradict a read that nobody wrote": {
			finding.Finding{
				Anomaly: "garbage-read", Txns: []string{"A"}, About: &finding.About{Txn: "A", Key: "g", Value: "0"},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"r","key":"g","value":0},{"op":"w","key":"g","value":5}]}`),
			},
			"A: [r g 0]* [w g 5]\n",
		},
		"an element is twice in a list": {
			finding.Finding{
				Anomaly: "duplicate-elements", Txns: []string{"B"}, About: &finding.About{Txn: "B", Key: "l", Value: "1"},
				History: raw(`{"txn":"B","status":"committed","ops":[{"op":"r","key":"l","value":[1,1]}]}`, `{"txn":"A","status":"committed","ops":[{"op":"append","key":"l","value":1}]}`),
			},
			"B: [r l [1,1]]*\nA: [append l 1]*\nA 0 -wr-> B 0\n",
		},
		"a value that was replaced": {
			finding.Finding{
				Anomaly: "G1b", Txns: []string{"B", "A"}, About: &finding.About{Txn: "B", Key: "x", Value: "1"},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"w","key":"x","value":1},{"op":"w","key":"x","value":2}]}`, `{"txn":"B","status":"committed","ops":[{"op":"r","key":"x","value":1}]}`),
			},
			"B: [r x 1]*\nA: [w x 1]* [w x 2]*\nA 0 -wr-> B 0\n",
		},
		"two orders of a list": {
			finding.Finding{
				Anomaly: "incompatible-order", Txns: []string{"B", "A"}, About: &finding.About{Txn: "B", Key: "l", Value: "1"},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"r","key":"l","value":[1,2]}]}`, `{"txn":"B","status":"committed","ops":[{"op":"r","key":"l","value":[2,1]}]}`),
			},
			"B: [r l [2,1]]*\nA: [r l [1,2]]*\nA 0 -contradicts-> B 0\n",
		},
		"a read of what was replaced before it began": {
			finding.Finding{
				Anomaly: "nonlinearizable", Txns: []string{"C", "B", "A"}, About: &finding.About{Txn: "C", Key: "x", ClockDrift: "0s"},
				History: raw(`{"txn":"A","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":1}]}`,
					`{"txn":"B","status":"committed","start":300,"end":400,"ops":[{"op":"w","key":"x","value":2}]}`,
					`{"txn":"C","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"x","value":1}]}`),
			},
			"C: [r x 1]*\nB: [w x 2]*\nA: [w x 1]*\nA 0 -wr-> C 0\nC 0 -rw-> B 0\n",
		},
		// Only a write that lies between is missed for sure, and only one that took effect.
		"a stale read: other writes are not missed": {
			finding.Finding{
				Anomaly: "nonlinearizable", Txns: []string{"C", "B", "A", "D", "E"}, About: &finding.About{Txn: "C", Key: "x", ClockDrift: "0s"},
				History: raw(`{"txn":"A","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":1}]}`,
					`{"txn":"B","status":"committed","start":150,"end":400,"ops":[{"op":"w","key":"x","value":2}]}`,
					`{"txn":"D","status":"aborted","start":300,"end":400,"ops":[{"op":"w","key":"x","value":3}]}`,
					`{"txn":"E","status":"committed","start":300,"end":501,"ops":[{"op":"w","key":"x","value":4}]}`,
					`{"txn":"C","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"x","value":1}]}`),
			},
			"C: [r x 1]*\nB: [w x 2]*\nA: [w x 1]*\nD: [w x 3]*\nE: [w x 4]*\nA 0 -wr-> C 0\n",
		},
		// B began 100 ns behind the end of A, and ended 100 ns before C began.
		"a stale read: clocks that drift as far":      {drifted("100ns"), "C: [r x 1]*\nB: [w x 2]*\nA: [w x 1]*\nA 0 -wr-> C 0\n"},
		"a stale read: clocks that drift less":        {drifted("99ns"), "C: [r x 1]*\nB: [w x 2]*\nA: [w x 1]*\nA 0 -wr-> C 0\nC 0 -rw-> B 0\n"},
		"a stale read: clocks of unknown drift":       {drifted(""), "C: [r x 1]*\nB: [w x 2]*\nA: [w x 1]*\nA 0 -wr-> C 0\n"},
		"a cas that failed: clocks that drift as far": {failedCAS("100ns"), "C: [cas x 1 to 3: failed]*\nB: [w x 1]*\nA: [w x 2]*\n"},
		"a cas that failed: clocks that drift less":   {failedCAS("99ns"), "C: [cas x 1 to 3: failed]*\nB: [w x 1]*\nA: [w x 2]*\nC 0 -rw-> B 0\n"},
		"a read of nothing behind a write": {
			finding.Finding{
				Anomaly: "nonlinearizable", Txns: []string{"C", "B"}, About: &finding.About{Txn: "C", Key: "x", ClockDrift: "0s"},
				History: raw(`{"txn":"B","status":"committed","start":300,"end":400,"ops":[{"op":"w","key":"x","value":2}]}`,
					`{"txn":"C","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"x","value":null}]}`),
			},
			"C: [r x nothing]*\nB: [w x 2]*\nC 0 -rw-> B 0\n",
		},
		"a cas that failed": {
			finding.Finding{
				Anomaly: "nonlinearizable", Txns: []string{"C", "B", "A"}, About: &finding.About{Txn: "C", Key: "x", ClockDrift: "0s"},
				History: raw(`{"txn":"A","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":2}]}`,
					`{"txn":"B","status":"committed","start":300,"end":400,"ops":[{"op":"w","key":"x","value":1}]}`,
					`{"txn":"C","status":"committed","start":500,"end":600,"ops":[{"op":"cas","key":"x","expected":1,"value":3,"success":false}]}`),
			},
			"C: [cas x 1 to 3: failed]*\nB: [w x 1]*\nA: [w x 2]*\nC 0 -rw-> B 0\n",
		},
		"a cas that failed, and may have seen another write": {
			finding.Finding{
				Anomaly: "nonlinearizable", Txns: []string{"C", "B", "A"}, About: &finding.About{Txn: "C", Key: "x", ClockDrift: "0s"},
				History: raw(`{"txn":"A","status":"committed","start":100,"end":301,"ops":[{"op":"w","key":"x","value":2}]}`,
					`{"txn":"B","status":"committed","start":300,"end":400,"ops":[{"op":"w","key":"x","value":1}]}`,
					`{"txn":"C","status":"committed","start":500,"end":600,"ops":[{"op":"cas","key":"x","expected":1,"value":3,"success":false}]}`),
			},
			"C: [cas x 1 to 3: failed]*\nB: [w x 1]*\nA: [w x 2]*\n",
		},
		"a cas that took what was replaced": {
			finding.Finding{
				Anomaly: "nonlinearizable", Txns: []string{"C", "B", "A"}, About: &finding.About{Txn: "C", Key: "x", ClockDrift: "0s"},
				History: raw(`{"txn":"A","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":1}]}`,
					`{"txn":"B","status":"committed","start":300,"end":400,"ops":[{"op":"w","key":"x","value":2}]}`,
					`{"txn":"C","status":"committed","start":500,"end":600,"ops":[{"op":"cas","key":"x","expected":1,"value":3,"success":true}]}`),
			},
			"C: [cas x 1 to 3]*\nB: [w x 2]*\nA: [w x 1]*\nA 0 -wr-> C 0\nC 0 -rw-> B 0\n",
		},
		"a read shows the order of two appends": {
			finding.Finding{
				Txns:  []string{"A", "B"},
				Edges: []finding.Edge{{From: "A", To: "B", Type: "ww", Key: "l", Value: "1", ShownBy: "C"}, {From: "B", To: "A", Type: "realtime"}},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"append","key":"l","value":2}]}`,
					`{"txn":"B","status":"committed","ops":[{"op":"append","key":"l","value":1}]}`,
					`{"txn":"C","status":"committed","ops":[{"op":"r","key":"l","value":[2]},{"op":"r","key":"l","value":[2,1]}]}`),
			},
			"A: [append l 2]*\nB: [append l 1]*\nC: [r l [2]] [r l [2,1]]*\nA 0 -ww-> B 0\nB -1 -realtime-> A -1\nA 0 -wr-> C 1\nB 0 -wr-> C 1\n",
		},
		"no order, by trial": {
			finding.Finding{
				Txns: []string{"A", "B", "C"},
				Grounds: finding.Grounds{Core: &finding.Core{
					Ops:   []finding.Op{{Txn: "A", Op: 1}, {Txn: "B"}, {Txn: "C"}, {Txn: "C", Op: 9}, {Txn: "D"}},
					Edges: []finding.Edge{{From: "A", To: "C", Type: "wr", Key: "x", Value: "1"}, {From: "C", To: "B", Type: "rw", Key: "x"}, {From: "B", To: "C", Type: "realtime"}},
				}},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"w","key":"y","value":1},{"op":"w","key":"x","value":1}]}`,
					`{"txn":"B","status":"committed","ops":[{"op":"delete","key":"x"}]}`,
					`{"txn":"C","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"r","key":"z","value":1}]}`),
			},
			"A: [w y 1] [w x 1]*\nB: [delete x]*\nC: [r x 1]* [r z 1]\nA 1 -wr-> C 0\nC 0 -rw-> B 0\nB -1 -realtime-> C -1\n",
		},
		"a list without an element": {
			finding.Finding{
				Anomaly: "nonlinearizable", Txns: []string{"C", "B", "A"}, About: &finding.About{Txn: "C", Key: "l", ClockDrift: "0s"},
				History: raw(`{"txn":"A","status":"committed","start":100,"end":200,"ops":[{"op":"append","key":"l","value":1}]}`,
					`{"txn":"B","status":"committed","start":300,"end":400,"ops":[{"op":"append","key":"l","value":2}]}`,
					`{"txn":"C","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"l","value":[1]}]}`),
			},
			"C: [r l [1]]*\nB: [append l 2]*\nA: [append l 1]*\nC 0 -rw-> B 0\n",
		},
		"a session that overlaps": {
			finding.Finding{
				Anomaly: "session-not-sequential", Txns: []string{"B", "A"},
				History: raw(`{"txn":"A","session":"a","status":"committed","start":100,"end":300,"ops":[{"op":"w","key":"x","value":1}]}`,
					`{"txn":"B","session":"a","status":"committed","start":200,"end":400,"ops":[{"op":"w","key":"y","value":1}]}`),
			},
			"B: [w y 1]\nA: [w x 1]\nA -1 -contradicts-> B -1\n",
		},
		"a session with one number twice": {
			finding.Finding{
				Anomaly: "session-not-sequential", Txns: []string{"B", "A"},
				History: raw(`{"txn":"A","session":"a","seq":3,"status":"committed","ops":[]}`, `{"txn":"B","session":"a","seq":3,"status":"committed","ops":[]}`),
			},
			"B:\nA:\nA -1 -contradicts-> B -1\n",
		},
		"a session whose numbers are against its times": {
			finding.Finding{
				Anomaly: "session-not-sequential", Txns: []string{"B", "A"},
				History: raw(`{"txn":"A","session":"a","seq":3,"status":"committed","start":300,"end":400,"ops":[]}`,
					`{"txn":"B","session":"a","seq":4,"status":"committed","start":100,"end":200,"ops":[]}`),
			},
			"B:\nA:\nA -1 -contradicts-> B -1\n",
		},
		"sessions in order": {
			finding.Finding{
				Anomaly: "session-not-sequential", Txns: []string{"B", "A"},
				History: raw(`{"txn":"A","session":"a","seq":3,"status":"committed","start":100,"end":200,"ops":[]}`,
					`{"txn":"B","session":"a","seq":4,"status":"committed","start":300,"end":400,"ops":[]}`),
			},
			"B:\nA:\n",
		},
		"operations without an order": {
			finding.Finding{
				Anomaly: "nonlinearizable", Txns: []string{"B", "A"}, About: &finding.About{Txn: "B", Key: "x", Value: "1", ClockDrift: "0s"},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"w","key":"x","value":2},{"op":"w","key":"y","value":2}]}`, `{"txn":"B","status":"committed","ops":[{"op":"r","key":"x","value":1}]}`),
			},
			"B: [r x 1]*\nA: [w x 2]* [w y 2]\n",
		},
		"nobody wrote it": {
			finding.Finding{
				Anomaly: "garbage-read", Txns: []string{"A"}, About: &finding.About{Txn: "A", Key: "x", Value: "1"},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"r","key":"x","value":1}]}`),
			},
			"A: [r x 1]*\n",
		},
		"no records": {
			finding.Finding{
				Txns:  []string{"A", "B"},
				Edges: []finding.Edge{{From: "A", To: "B", Type: "ww", Key: "x", Value: "2"}, {From: "B", To: "A", Type: "realtime"}},
			},
			"A: [w x]*\nB: [w x 2]*\nA 0 -ww-> B 0\nB -1 -realtime-> A -1\n",
		},
		"a record that cannot be read, and one beside": {
			finding.Finding{
				Txns:    []string{"A"},
				History: raw(`{"txn":"A"`, `{"txn":"C","status":"committed","ops":[]}`),
			},
			"A:\n",
		},
		// A stale read is linked with the write that it saw, whose transaction is drawn already. A lost update is not: the first write
		// is not of the proof.
		"a stale read": {
			finding.Finding{
				Txns: []string{"A", "B", "i"},
				Edges: []finding.Edge{
					{From: "A", To: "B", Type: "realtime"}, {From: "B", To: "A", Type: "rw", Key: "x", Value: "1", Derived: true}, {From: "i", To: "A", Type: "realtime"},
				},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"w","key":"x","value":1}]}`, `{"txn":"B","status":"committed","ops":[{"op":"r","key":"x","value":0}]}`,
					`{"txn":"i","status":"committed","ops":[{"op":"w","key":"x","value":0}]}`),
			},
			"A: [w x 1]*\nB: [r x 0]*\ni: [w x 0]*\nA -1 -realtime-> B -1\nB 0 -rw-> A 0\ni -1 -realtime-> A -1\ni 0 -wr-> B 0\n",
		},
		"a lost update": {
			finding.Finding{
				Txns:  []string{"i", "A", "B"},
				Edges: []finding.Edge{{From: "A", To: "B", Type: "rw", Key: "x", Value: "2", Derived: true}, {From: "B", To: "A", Type: "rw", Key: "x", Value: "1", Derived: true}},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"r","key":"x","value":0},{"op":"w","key":"x","value":1}]}`,
					`{"txn":"B","status":"committed","ops":[{"op":"r","key":"x","value":0},{"op":"w","key":"x","value":2}]}`, `{"txn":"i","status":"committed","ops":[{"op":"w","key":"x","value":0}]}`),
			},
			"i: [w x 0]*\nA: [r x 0]* [w x 1]*\nB: [r x 0]* [w x 2]*\nA 0 -rw-> B 1\nB 0 -rw-> A 1\n",
		},
		"an about of another record": {
			finding.Finding{Txns: []string{"A"}, About: &finding.About{Txn: "Z", Op: 99, Key: "x"}},
			"A:\n",
		},
		"an operation that is not there": {
			finding.Finding{
				Txns: []string{"A"}, About: &finding.About{Txn: "A", Op: -5, Key: "x", Value: "3"},
				History: raw(`{"txn":"A","status":"committed","ops":[{"op":"r","key":"x","value":1}]}`),
			},
			"A: [r x 1]*\n",
		},
	} {
		if got := drawn(New(&c.f)); got != c.want {
			t.Errorf("%s:\n%swant\n%s", name, got, c.want)
		}
	}
}

// What matters is shown first, in program order.
func TestShown(t *testing.T) {
	m := Member{}
	for i := range 10 {
		m.Ops = append(m.Ops, Op{Key: fmt.Sprint(i % 4), Matters: i == 7})
	}
	for most, want := range map[int]string{1: "[7]", 2: "[3 7]", 4: "[0 1 3 7]", 10: "[0 1 2 3 4 5 6 7 8 9]"} {
		if got := fmt.Sprint(m.Shown(most)); got != want {
			t.Errorf("%d: %s, want %s", most, got, want)
		}
	}
}

// drifted is a read of what was replaced before it began, by clocks that may drift apart so far.
func drifted(drift string) finding.Finding {
	return finding.Finding{
		Anomaly: "nonlinearizable", Txns: []string{"C", "B", "A"}, About: &finding.About{Txn: "C", Key: "x", ClockDrift: drift},
		History: raw(`{"txn":"A","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":1}]}`,
			`{"txn":"B","status":"committed","start":300,"end":400,"ops":[{"op":"w","key":"x","value":2}]}`,
			`{"txn":"C","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"x","value":1}]}`),
	}
}

// failedCAS is a cas that expected the last value that was written before it began.
func failedCAS(drift string) finding.Finding {
	return finding.Finding{
		Anomaly: "nonlinearizable", Txns: []string{"C", "B", "A"}, About: &finding.About{Txn: "C", Key: "x", ClockDrift: drift},
		History: raw(`{"txn":"A","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":2}]}`,
			`{"txn":"B","status":"committed","start":300,"end":400,"ops":[{"op":"w","key":"x","value":1}]}`,
			`{"txn":"C","status":"committed","start":500,"end":600,"ops":[{"op":"cas","key":"x","expected":1,"value":3,"success":false}]}`),
	}
}
