package simtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/isolation"
)

// watched are choices of levels.
func watched() [][]isolation.Level {
	var all [][]isolation.Level
	for _, base := range []isolation.Base{isolation.ReadCommitted, isolation.ReadAtomic, isolation.Causal, isolation.CursorStability, isolation.RepeatableRead, isolation.ConsistentView, isolation.UpdateSerializable, isolation.SnapshotIsolation, isolation.Serializable} {
		for _, family := range []isolation.Family{isolation.Plain, isolation.StrongSession, isolation.Strong} {
			all = append(all, []isolation.Level{{Base: base, Family: family}})
		}
	}
	return append(all, isolation.Encoded())
}

// TestRefutesOfLevels: a finding of one id and one anomaly refutes the same levels, whichever are
// watched. What takes its place under the id, a worse anomaly, is found where a level that
// forbids it is watched: of what was found again that is at most one in 300.
func TestRefutesOfLevels(t *testing.T) {
	again, others, selecting := 0, 0, 0
	for i := range seeds(t, 600) {
		rng := rand.New(rand.NewPCG(uint64(i), 53))
		h := oracle.Random(rng, oracle.Wide())
		if i%2 == 0 {
			h = oracle.RandomKinds(rng, mixes()["all"])
		}
		cfg := exact()
		if i%4 > 1 {
			cfg = windowed(rng)
		}
		b := batchOf(t, h, arrival(rng, len(h)))
		refuted := map[[2]string][]string{} // by id and anomaly
		byID := map[string][]string{}
		for _, levels := range watched() {
			cfg.Levels = levels
			_, found, err := run(cfg, b, false)
			if err != nil {
				t.Fatalf("seed %d: %v", i, err)
			}
			for id, f := range last(found) {
				if any, is := byID[id]; is && !slices.Equal(any, f.Refutes) {
					others++
				}
				byID[id] = f.Refutes
				before, is := refuted[[2]string{id, f.Anomaly}]
				if !is {
					refuted[[2]string{id, f.Anomaly}] = f.Refutes
					continue
				}
				again++
				if !slices.Equal(before, f.Refutes) && slices.Equal(unselected(before), unselected(f.Refutes)) {
					selecting++ // of two cycles of the members the one has updates only
					continue
				}
				if !slices.Equal(before, f.Refutes) {
					t.Errorf("seed %d: %s of %v refutes %v where %v are watched, elsewhere %v\n%s", i, f.Anomaly, f.Txns, f.Refutes, levels, before, h.Text())
				}
			}
		}
	}
	if enough(t, 600) && again == 0 {
		t.Error("no finding was made twice")
	}
	t.Logf("%d findings were made again, %d with another anomaly that refutes something else", again, others)
	if selecting*300 > again && again > 1000 {
		t.Errorf("of %d findings that were made again %d name other levels that select readers: too many", again, selecting)
	}
	if others*300 > again && again > 1000 {
		t.Errorf("of %d findings that were made again %d refute something else: too many", again, others)
	}
}

// last are the violations that stand at the end, by id.
func last(found []finding.Finding) map[string]finding.Finding {
	of := map[string]finding.Finding{}
	for _, f := range found {
		if f.Kind == finding.KindViolation {
			of[f.ID] = f
		}
		if f.State == finding.Withdrawn {
			delete(of, f.ID)
		}
	}
	return of
}

// Each level has a slow form: the oracle decides it, or it is one of a single key.
func TestEveryLevelHasAnOracle(t *testing.T) {
	known := append(oracle.AllLevels(), oracle.ForcedLevels()...)
	for _, l := range isolation.AllLevels() {
		if _, encoded := l.View(); encoded && !slices.Contains(known, oracle.Level(l.String())) {
			t.Errorf("internal/oracle does not decide %s", l)
		}
	}
}
