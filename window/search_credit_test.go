package window

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
)

// TestSearchCredit: transactions in a ring of anti-dependencies, each of which reads what the
// next ones write, so that every edge has many neighbours. Searches beyond the credit are brief,
// and the levels fall all the same. A snapshot keeps what is owed.
func TestSearchCredit(t *testing.T) {
	const n, degree = 200, 50
	var lines strings.Builder
	for i := range n {
		var ops []string
		for d := 1; d <= degree; d++ {
			ops = append(ops, fmt.Sprintf(`{"op":"r","key":"k%d","value":null}`, (i+d)%n))
		}
		ops = append(ops, fmt.Sprintf(`{"op":"r","key":"k%d","value":null},{"op":"w","key":"k%d","value":1}`, i, i))
		fmt.Fprintf(&lines, `{"txn":"t%d","status":"committed","ops":[%s]}`+"\n", i, strings.Join(ops, ","))
	}
	levels := []isolation.Level{{Base: isolation.Serializable}, {Base: isolation.SnapshotIsolation}}
	run := func(owed int64) (*Machine, int64) {
		m := New(Config{Levels: levels, Contract: Contract{Complete: true}, Unbounded: true})
		m.finder.owed = owed
		var eff Effects
		var b event.Batch
		var d event.Decoder
		b.Partitions = append(b.Partitions, "stdin")
		d.DecodeMessage(&b, event.Position{}, []byte(lines.String()))
		for i := range b.Txns {
			m.Step(&b, []int32{int32(i)}, 0, &eff)
		}
		m.Close(&eff)
		for _, l := range levels {
			want := OK
			if l.Base == isolation.Serializable {
				want = Violated
			}
			if got, why := m.Verdict(l); got != want {
				t.Errorf("owed %d: %s is %s (%s), want %s", owed, l, got, why, want)
			}
		}
		return m, m.finder.searcher.Looked
	}
	_, looked := run(0)
	m, brief := run(searchStart)
	if brief*2 > looked {
		t.Errorf("beyond the credit searches looked at %d edges, on credit at %d", brief, looked)
	}
	again := New(m.cfg)
	if err := again.ReadState(m.AppendState(nil)); err != nil || again.finder.owed != m.finder.owed || m.finder.owed == 0 {
		t.Errorf("a restart owes %d, want %d: %v", again.finder.owed, m.finder.owed, err)
	}
}
