package isolation

import "testing"

func TestForbids(t *testing.T) {
	for _, x := range []struct {
		level, anomaly string
		want           Forbidden
	}{
		{"snapshot-isolation", "lost-update", Ruled}, {"snapshot-isolation", "G2-item", Allowed}, {"serializable", "G2-item", Ruled},
		{"causal", "lost-update", Allowed}, {"prefix", "G-nonadjacent-item", Partly}, {"causal", "G-nonadjacent-item", Allowed},
		{"read-atomic", "internal", Ruled}, {"monotonic-atomic-view", "internal", Partly}, {"read-committed", "internal", Allowed},
		{"read-uncommitted", "G0", Ruled}, {"read-uncommitted", "G1a", Allowed}, {"read-committed", "G1c-process", Allowed},
		{"strong-session-read-committed", "G1c-process", Ruled}, {"strong-session-serializable", "G2-realtime", Allowed},
		{"strong-serializable", "G2-realtime", Ruled}, {"linearizable", "nonlinearizable", Ruled}, {"linearizable", "G0", Allowed},
		{"repeatable-read", "G-nonadjacent-item", Ruled}, {"repeatable-read", "G-nonadjacent", Allowed}, {"repeatable-read", "G2-item", Ruled},
		{"repeatable-read", "G2", Allowed}, {"repeatable-read", "internal", Partly}, {"cursor-stability", "internal", Allowed},
		{"cursor-stability", "lost-update", Partly}, {"repeatable-read", "lost-update", Ruled}, {"cursor-stability", "G-single-item", Partly}, {"cursor-stability", "G2-item", Allowed},
		{"generalized-snapshot-isolation", "G0-realtime", Partly}, {"serializable", "horizon", Allowed},
	} {
		l, err := ParseLevel(x.level)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Forbids(x.anomaly); got != x.want {
			t.Errorf("%s forbids %s: %d, want %d", x.level, x.anomaly, got, x.want)
		}
	}
}

// A stronger level forbids what a weaker one does.
func TestForbidsGrows(t *testing.T) {
	for _, strong := range AllLevels() {
		for _, weak := range AllLevels() {
			if !strong.Implies(weak) || weak.Special == Linearizable {
				continue
			}
			for _, a := range AnomalyNames() {
				if strong.Forbids(a) < weak.Forbids(a) {
					t.Errorf("%s implies %s, which forbids more of %s", strong, weak, a)
				}
			}
		}
	}
}

// What rules out all forms of an anomaly rules out some of it.
func TestReaches(t *testing.T) {
	for _, a := range namedAnomalies {
		for _, b := range a.reach.all {
			if !b.impliesOne(a.reach.some) {
				t.Errorf("%s rules out every %s, and not some", b, a.name)
			}
		}
	}
}

// What refutes levels without a cycle reaches them: explanations of levels say so.
func TestRefutedIsForbidden(t *testing.T) {
	for kind, row := range withoutCycle {
		for _, l := range row.weakest {
			if row.anomaly != "" && l.Forbids(row.anomaly) == Allowed {
				t.Errorf("kind %s refutes %s, which allows %s", kind, l, row.anomaly)
			}
		}
	}
}

// Each name means something in practice.
func TestEveryAnomalyMeansSomething(t *testing.T) {
	for _, name := range AnomalyNames() {
		if MeaningOf(name) == "" {
			t.Errorf("%s means nothing", name)
		}
	}
}
