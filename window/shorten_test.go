package window

import (
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// A stale read among 1,200 transactions is on cycles of 12 steps, the shortest through the edge
// that closes them. They are cut to what shows it; a run of steps of one session, or in real
// time, is one.
func TestCyclesAreCut(t *testing.T) {
	for _, cfg := range []Config{
		{Levels: isolation.Watched(), Unbounded: true, Contract: Contract{Complete: true}},
		{Levels: isolation.AllLevels(), Unbounded: true, Contract: Contract{Complete: true}},
		{Levels: isolation.AllLevels(), Contract: Contract{Complete: true}, Lateness: For(10 * time.Microsecond), Window: For(500 * time.Microsecond), MaxTxn: 20 * time.Microsecond},
	} {
		cycles, derived := 0, 0
		for _, f := range findingsOf(cfg, serial(false)) {
			cycles++
			if n := len(f.Edges); n > 8 {
				t.Errorf("whole %v, %d levels: %s has %d steps", cfg.Unbounded, len(cfg.Levels), f.Explanation, n)
			}
			for i, e := range f.Edges {
				if e.Derived {
					derived++
				}
				if i > 0 && (e.Type == "process" || e.Type == "realtime") && e.From == f.Edges[i-1].To && e.Type == f.Edges[i-1].Type {
					t.Errorf("whole %v, %d levels: %s has a run of %s", cfg.Unbounded, len(cfg.Levels), f.Explanation, e.Type)
				}
			}
		}
		if cycles == 0 || derived == 0 {
			t.Errorf("whole %v, %d levels: %d cycles with %d derived edges", cfg.Unbounded, len(cfg.Levels), cycles, derived)
		}
	}
}

// findingsOf are the latest revisions of all that has edges and was not withdrawn.
func findingsOf(cfg Config, lines string) map[string]finding.Finding {
	var b event.Batch
	var d event.Decoder
	b.Partitions = append(b.Partitions, "stdin")
	d.DecodeMessage(&b, event.Position{}, []byte(lines))
	m, eff := New(cfg), &Effects{}
	for i := range b.Txns {
		m.Step(&b, []int32{int32(i)}, 0, eff)
	}
	m.Close(eff)
	all := map[string]finding.Finding{}
	for _, f := range eff.Findings {
		if f.State == finding.Waiting {
			continue
		}
		if delete(all, f.ID); f.State != finding.Withdrawn && len(f.Edges) > 0 {
			all[f.ID] = f
		}
	}
	return all
}
