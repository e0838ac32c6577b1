package window

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
)

// TestEdgeBudget: 600 transactions find nothing under x, and then 600 write x blindly. So there are
// 360,000 anti-dependencies, and the budget has room for a few of them. No level is ok then. A
// violation whose edges have room is still found.
func TestEdgeBudget(t *testing.T) {
	const n = 600
	var lines strings.Builder
	at := 0
	record := func(name, ops string) {
		at += 10
		fmt.Fprintf(&lines, `{"txn":"%s","start":%d,"end":%d,"status":"committed","ops":[%s]}`+"\n", name, at, at+5, ops)
	}
	read := func(key, value string) string { return fmt.Sprintf(`{"op":"r","key":"%s","value":%s}`, key, value) }
	write := func(key string, value int) string {
		return fmt.Sprintf(`{"op":"w","key":"%s","value":%d}`, key, value)
	}
	for i := range n {
		record(fmt.Sprintf("R%d", i), read("x", "null"))
	}
	for i := range n {
		record(fmt.Sprintf("W%d", i), write("x", i))
	}
	valid := lines.String()
	record("A", read("y", "null")+","+write("y", 1))
	record("B", read("y", "null")+","+write("y", 2))
	violated := lines.String()
	levels := []isolation.Level{{Base: isolation.Serializable}, {Base: isolation.SnapshotIsolation}}
	for _, c := range []struct {
		name, lines string
		room        int64
		edges       int
		want        string
	}{
		{"room", valid, edgeBudget, n * n, OK},
		{"no room", valid, 1000, 1000 + edgeBudgetPerOp*2*n + edgeBudgetPerTxn*n, Unknown},
		{"no room, lost update", violated, 1000, 1000 + edgeBudgetPerOp*2*n + edgeBudgetPerTxn*n, Violated},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New(Config{Levels: levels, Contract: Contract{Complete: true}, Unbounded: true})
			m.room = c.room
			var eff Effects
			var b event.Batch
			var d event.Decoder
			b.Partitions = append(b.Partitions, "stdin")
			d.DecodeMessage(&b, event.Position{}, []byte(c.lines))
			for i := range b.Txns {
				m.Step(&b, []int32{int32(i)}, 0, &eff)
			}
			if got := m.graph.NumEdges(); got > c.edges {
				t.Errorf("%d edges, at most %d have room", got, c.edges)
			}
			m.Close(&eff)
			for _, l := range levels {
				if got, why := m.Verdict(l); got != c.want {
					t.Errorf("%s is %s (%s), want %s", l, got, why, c.want)
				} else if c.want == Unknown && !strings.Contains(why, "dependencies that were left out to save memory") {
					t.Errorf("%s is unknown because of %q", l, why)
				}
			}
			if left := m.Counters.LeftOutEdges; (left > 0) != (c.room < edgeBudget) {
				t.Errorf("%d edges left out", left)
			}
		})
	}
}
