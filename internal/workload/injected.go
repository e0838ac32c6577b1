package workload

// Injection is an anomaly that a store with exactly one bug shows, and what it must
// be reported as.
type Injection struct {
	Name    string   // the plain name, as for [PlantGroup]
	Anomaly string   // Elle's name
	Title   string   // "" if the finding has several
	Weakest []string // the weakest levels that it refutes
}

// Injections are the anomalies that can be injected into kind, one a level and
// name. Those that [Anomalies] does not list need levels that are not watched by
// default.
func Injections(kind Kind) []Injection {
	var all []Injection
	for _, x := range injections() {
		if _, ok := templateOf(kind, x.Name); ok {
			all = append(all, x)
		}
	}
	return all
}

func injections() []Injection {
	const so, rt = "strong-session-", "strong-"
	gsi := "generalized-snapshot-isolation"
	return []Injection{
		{"dirty-write", "G0", "write cycle", []string{"read-uncommitted"}},
		{"duplicate-elements", "duplicate-elements", "duplicate elements", []string{"read-uncommitted"}},
		{"aborted-read", "G1a", "aborted read", []string{"read-committed"}},
		{"intermediate-read", "G1b", "intermediate read", []string{"read-committed"}},
		{"circular-information-flow", "G1c", "circular information flow", []string{"read-committed"}},
		{"dirty-update", "dirty-update", "dirty update", []string{"read-committed"}},
		{"incompatible-order", "incompatible-order", "incompatible orders", []string{"read-committed"}},
		{"future-read", "future-read", "future read", []string{"read-committed"}},
		{"garbage-read", "garbage-read", "garbage read", []string{"read-committed"}},
		{"internal-misread", "internal", "own write not read", []string{"monotonic-atomic-view"}},
		{"non-monotonic-read", "G-single-item", "non-monotonic view", []string{"monotonic-atomic-view"}},
		{"nonrepeatable-read", "internal", "non-repeatable read", []string{"read-atomic"}},
		{"missed-half", "G-single-item", "fractured read", []string{"read-atomic"}},
		{"causality-violation", "G-single-item", "causality violation", []string{"causal"}},
		{"long-fork", "G-nonadjacent-item", "long fork", []string{"prefix"}},
		{"lost-update", "lost-update", "lost update", []string{"snapshot-isolation"}},
		{"write-skew", "G2-item", "write skew", []string{"serializable"}},
		{"monotonic-writes", "G0-process", "monotonic writes violated", []string{so + "read-uncommitted"}},
		{"writes-follow-reads", "G1c-process", "writes follow reads violated", []string{so + "read-committed"}},
		{"stale-session-read", "G-single-item-process", "read your writes violated", []string{so + "read-atomic"}},
		{"monotonic-reads", "G-single-item-process", "monotonic reads violated", []string{so + "causal"}},
		{"session-fork", "G-nonadjacent-item-process", "long fork with session order", []string{so + "prefix"}},
		{"session-skew", "G2-item-process", "write skew with session order", []string{so + "serializable"}},
		{"realtime-writes", "G0-realtime", "writes against real time", []string{rt + "read-uncommitted", gsi}},
		{"realtime-read", "G1c-realtime", "circular information flow with real time", []string{rt + "read-committed", gsi}},
		{"stale-read", "G-single-item-realtime", "stale read", []string{rt + "read-atomic"}},
		{"realtime-fork", "G-nonadjacent-item-realtime", "long fork with real time", []string{rt + "prefix"}},
		{"realtime-skew", "G2-item-realtime", "write skew with real time", []string{rt + "serializable"}},
	}
}

// moreTemplates are those beside [templates] that [PlantGroup] knows. Times are in
// lengths of a transaction from the group's start.
func moreTemplates() []template {
	return []template{
		{"non-monotonic-read", "G-single-item", allLevels, `
txn 1: read x nil, write x 1
txn 2: read x 1, write x 2, read y nil, write y 3
txn 3: read y 3, read x 1`, `
txn 1: append x 1
txn 2: append x 2, append y 3
txn 3: read y [3], read x [1]
txn 4: read x [1,2]`},
		{"nonrepeatable-read", "internal", allLevels, `
txn 1: read x nil, write x 1
txn 2: read x nil, read x 1`, `
txn 1: append x 1
txn 2: read x [], read x [1]`},
		{"missed-half", "G-single-item", allLevels, `
txn 1: read x nil, read y nil, write x 1, write y 2
txn 2: read y nil, read x 1`, `
txn 1: append x 1, append y 2
txn 2: read y [], read x [1]`},
		{"monotonic-writes", "G0-process", onlySessions, ``, `
txn 1 session=a start=1 end=2: append x 1
txn 2 session=a start=2 end=3: append x 2
txn 3 start=1 end=4: read x [2,1]`},
		{"writes-follow-reads", "G1c-process", onlySessions, ``, `
txn 1 start=1 end=6: append x 1, append y 1
txn 2 session=a start=1 end=2: read x [1]
txn 3 session=a start=2 end=3: append y 2
txn 4 start=5 end=7: read y [2,1]`},
		{"monotonic-reads", "G-single-item-process", onlySessions, `
txn 1 start=1 end=6: read x nil, write x 1
txn 2 session=a start=1 end=2: read x 1
txn 3 session=a start=2 end=3: read x nil`, `
txn 1 start=1 end=6: append x 1
txn 2 session=a start=1 end=2: read x [1]
txn 3 session=a start=2 end=3: read x []`},
		{"session-fork", "G-nonadjacent-item-process", onlySessions, `
txn 1 start=1 end=6: read x nil, read z 1
txn 2 session=b start=1 end=2: read x nil, write x 2
txn 3 session=b start=2 end=3: read z nil
txn 4 start=1 end=6: read z nil, write z 1`, `
txn 1 start=1 end=6: read x [], read z [1]
txn 2 session=b start=1 end=2: append x 2
txn 3 session=b start=2 end=3: read z []
txn 4 start=1 end=6: append z 1`},
		{"session-skew", "G2-item-process", onlySessions, `
txn 1 start=1 end=6: read y nil, read z nil, write z 1
txn 2 session=b start=1 end=2: read y nil, write y 2
txn 3 session=b start=2 end=3: read z nil`, `
txn 1 start=1 end=6: read y [], append z 1
txn 2 session=b start=1 end=2: append y 2
txn 3 session=b start=2 end=3: read z []`},
		{"realtime-writes", "G0-realtime", allLevels, ``, `
txn 1 start=1 end=2: append x 1
txn 2 start=4 end=5: append x 2
txn 3 start=4 end=6: read x [2,1]`},
		{"realtime-read", "G1c-realtime", allLevels, `
txn 1 start=1 end=2: read x 1
txn 2 start=4 end=5: read x nil, write x 1`, `
txn 1 start=1 end=2: read x [1]
txn 2 start=4 end=5: append x 1`},
		{"stale-read", "G-single-item-realtime", allLevels, `
txn 1 start=1 end=2: read x nil, write x 1
txn 2 start=4 end=5: read x nil`, `
txn 1 start=1 end=2: append x 1
txn 2 start=4 end=5: read x []`},
		{"realtime-fork", "G-nonadjacent-item-realtime", allLevels, `
txn 1 start=1 end=6: read x nil, read z 1
txn 2 start=1 end=2: read x nil, write x 2
txn 3 start=4 end=5: read z nil
txn 4 start=1 end=6: read z nil, write z 1`, `
txn 1 start=1 end=6: read x [], read z [1]
txn 2 start=1 end=2: append x 2
txn 3 start=4 end=5: read z []
txn 4 start=1 end=6: append z 1`},
		{"realtime-skew", "G2-item-realtime", allLevels, `
txn 1 start=1 end=6: read y nil, read z nil, write z 1
txn 2 start=1 end=2: read y nil, write y 2
txn 3 start=4 end=5: read z nil`, `
txn 1 start=1 end=6: read y [], append z 1
txn 2 start=1 end=2: append y 2
txn 3 start=4 end=5: read z []`},
	}
}
