package simtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// otherThanElle are the cases in which only one of Elle and this program refutes the level, and why
// (docs/proofs.md, section 11).
var otherThanElle = map[string]string{
	"internal, cursor-stability":                      internalOrder,
	"internal, repeatable-read":                       internalOrder,
	"G2, update-serializable":                         "both write; Elle never looks for G-update",
	"internal, of two, update-serializable":           ownReads,
	"register, two reads differ, update-serializable": ownReads,
	"internal, of two, consistent-view":               ownReads,
	"register, two reads differ, consistent-view":     ownReads,
	"register, two reads differ, repeatable-read":     "the reader misses the second version in its first read, and reads from its writer",
}

const ownReads = "it implies causal here, at which a transaction agrees with itself; Elle joins the two at strict-serializable only"

const internalOrder = "a list that lacks an own append proves no order of its elements here"

// TestElleSelecting: findings refute the levels that count some anti-dependencies, or some cycles, where Elle says that they are not met.
func TestElleSelecting(t *testing.T) {
	for _, c := range elleCases {
		cfg := window.Config{Unbounded: true, Levels: isolation.Encoded(), Contract: window.Contract{Complete: true}}
		if err := set(&cfg, c.contract); err != nil {
			t.Fatal(err)
		}
		fs := findingsOf(t, cfg, c.txns)
		for _, level := range []string{"cursor-stability", "repeatable-read", "consistent-view", "update-serializable"} {
			var ours bool
			for _, f := range fs {
				ours = ours || slices.Contains(f.Refutes, level) || slices.Contains(f.AlsoRefutes, level)
			}
			elles := slices.ContainsFunc(strings.Fields(c.not), func(m string) bool { return elleImplied(level, m) })
			why := otherThanElle[c.name+", "+level]
			if (ours == elles) != (why == "") {
				t.Errorf("%s, %s: refuted here: %v, by Elle: %v. Known difference: %q", c.name, level, ours, elles, why)
			}
			delete(otherThanElle, c.name+", "+level)
		}
	}
	for name := range otherThanElle {
		t.Errorf("no case %s", name)
	}
}
