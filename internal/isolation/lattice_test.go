package isolation

import "testing"

// TestLattice: implication is a partial order, keeps the families apart, and has the
// edges of Elle's consistency_model.clj between the levels that both know.
func TestLattice(t *testing.T) {
	all := AllLevels()
	for _, a := range all {
		if !a.Implies(a) {
			t.Errorf("%v does not imply itself", a)
		}
		for _, b := range all {
			if a != b && a.Implies(b) && b.Implies(a) {
				t.Errorf("%v and %v imply each other", a, b)
			}
			for _, c := range all {
				if a.Implies(b) && b.Implies(c) && !a.Implies(c) {
					t.Errorf("%v implies %v, that %v, and the first not the last", a, b, c)
				}
			}
		}
	}
	level := func(name string) Level {
		l, err := ParseLevel(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"strong-serializable", "strong-session-serializable", true},
		{"strong-serializable", "linearizable", true},
		{"strong-serializable", "strong-snapshot-isolation", true},
		{"strong-session-serializable", "strong-session-snapshot-isolation", true},
		{"strong-snapshot-isolation", "strong-session-snapshot-isolation", true},
		{"strong-snapshot-isolation", "strong-read-committed", true},
		{"strong-read-committed", "strong-read-uncommitted", true},
		{"strong-session-read-committed", "read-committed", true},
		{"serializable", "snapshot-isolation", true},
		{"snapshot-isolation", "prefix", true},
		{"snapshot-isolation", "cursor-stability", true},
		{"serializable", "repeatable-read", true},
		{"repeatable-read", "cursor-stability", true},
		{"cursor-stability", "read-committed", true},
		{"snapshot-isolation", "repeatable-read", false},
		{"repeatable-read", "monotonic-atomic-view", false}, // Elle says so of items; over ranges it is not
		{"prefix", "cursor-stability", false},
		{"generalized-snapshot-isolation", "cursor-stability", true},
		{"prefix", "causal", true},
		{"causal", "read-atomic", true},
		{"read-atomic", "monotonic-atomic-view", true},
		{"monotonic-atomic-view", "read-committed", true},
		{"read-committed", "read-uncommitted", true},
		{"strong-snapshot-isolation", "generalized-snapshot-isolation", true},
		{"generalized-snapshot-isolation", "snapshot-isolation", true},
		{"generalized-snapshot-isolation", "strong-session-read-uncommitted", false},
		{"strong-session-snapshot-isolation", "generalized-snapshot-isolation", false},
		{"strong-session-serializable", "generalized-snapshot-isolation", false},
		{"strong-prefix", "generalized-snapshot-isolation", false},
		{"serializable", "strong-session-read-uncommitted", false},
		{"strong-session-causal", "prefix", false},
		{"linearizable", "serializable", false},
		{"strong-snapshot-isolation", "linearizable", false},
	} {
		if got := level(c.a).Implies(level(c.b)); got != c.want {
			t.Errorf("%s implies %s: %v", c.a, c.b, got)
		}
	}
}
