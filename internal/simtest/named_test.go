package simtest

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
)

// TestNamed: the edges that a finding prints give it its name, by forced orders and by choices.
func TestNamed(t *testing.T) {
	t.Parallel()
	for i := range seeds(t, 4000) {
		rng := rand.New(rand.NewPCG(uint64(i), 43))
		h := saturatedHistory(rng, i)
		switch i % 5 {
		case 0:
			h = overlapping(rng)
		case 1, 2:
			h = oracle.RandomKinds(rng, mixes()["all"])
		}
		cfg := exact()
		if rng.IntN(3) == 0 {
			cfg = windowed(rng)
		}
		switch rng.IntN(3) {
		case 0:
			cfg.Levels = isolation.Encoded()
		case 1:
			cfg.Levels = saturatedLevels(t)
		default:
			cfg.Levels = exactAt(0).Levels // without real time
		}
		_, fs, err := run(cfg, batchOf(t, h, rng.Perm(len(h))), true)
		if err != nil {
			t.Fatal(err)
		}
		for k := range fs {
			if why := misnamed(&fs[k]); fs[k].State != finding.Withdrawn && why != "" {
				t.Errorf("seed %d: %s: %s\n%s", i, summary(&fs[k]), why, fs[k].Explanation)
			}
		}
	}
}
