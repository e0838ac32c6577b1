package isolation

import (
	"strings"
	"testing"
)

func TestUnderstood(t *testing.T) {
	for names, want := range map[string]string{
		"SI, SNAPSHOT_ISOLATION, Snapshot Isolation, SnapshotIsolation, snapshot": "snapshot-isolation",
		"SER, Serializable, serialisable, serialisability, PL-3, pl3, SSI":        "serializable",
		"RC, read committed, READ_COMMITTED, ReadCommitted, CommittedRead, PL-2":  "read-committed",
		"mav": "monotonic-atomic-view", "linearisable, LIN, atomic register": "linearizable",
		"TCC, causal consistency, causal-cerone, Causal":                                                  "causal",
		"strong-session-SI, session-SI, PCSI":                                                             "strong-session-snapshot-isolation",
		"strong-session-serialisable, session-serializable, session-serialisability, strong-session-PL-3": "strong-session-serializable",
		"strict-serialisable, strong serializable, PL-SS, external-consistency, SSER":                     "strong-serializable",
		"strict-SI, strong si, conventional snapshot isolation":                                           "strong-snapshot-isolation",
		"strong-PL-1":                         "strong-read-uncommitted",
		"strong-session-RC":                   "strong-session-read-committed",
		"generalised-snapshot-isolation, GSI": "generalized-snapshot-isolation",
		"repeatable-read, REPEATABLE READ, RepeatableRead, RR, PL-2.99, RS":                 "repeatable-read",
		"cursor-stability, PL-CS, CS":                                                       "cursor-stability",
		"strong-repeatable-read, strict-RR":                                                 "strong-repeatable-read",
		"PL-2L, monotonic-view, PL-MSR, monotonic-snapshot-reads":                           "monotonic-atomic-view",
		"repeatable reads, update-atomic, AtomicRead":                                       "read-atomic",
		"PSI, Parallel Snapshot Isolation, PL-2+, consistent-view, Consistent View, PL-FCV": "consistent-view",
		"PL-3U, update-serializable, Update Serializability":                                "update-serializable",
		"1SR, view-serializable":                                                            "serializable",
		"ryw, read-your-writes":                                                             "strong-session-read-atomic",
		"MR, MW, WFR, PRAM, monotonic_writes":                                               "strong-session-causal",
		"sequential":                                                                        "strong-session-serializable",
		"nonsense, strong-SSER, strong-, strong-linearizable, G-SI, session-":               "",
	} {
		for name := range strings.SplitSeq(names, ", ") {
			l, ok := Understood(name)
			if ok != (want != "") || ok && l.String() != want {
				t.Errorf("%q: %v, %v, want %q", name, l, ok, want)
			}
		}
	}
	if _, ok := Understood(""); ok {
		t.Error("no name is understood")
	}
}

// Of a name that has another meaning, or is not checked by itself, it is said what is taken; of
// others nothing.
func TestTaken(t *testing.T) {
	for name, want := range map[string]string{
		"ser": "ser means serializable here. dbcop, AWDIT", "TCC": "called strong-session-causal here", "PL-SI": "called strong-snapshot-isolation here",
		"repeatable read": "repeatable read means Adya's PL-2.99 here", "RR": "mysql/repeatable-read", "PL-2.99": "", "cursor-stability": "",
		"PL-2+": "", "PL-FCV": "PL-FCV is not checked by itself. It is taken as consistent-view", "PSI": "called strong-session-consistent-view here",
		"read-your-writes": "a stronger level that includes it", "sequential": "taken as strong-session-serializable",
		"serializable": "", "TRANSACTIONAL": "", "read committed": "", "PL-3": "", "strong-session-SI": "", "": "",
	} {
		if got := Taken(name); !strings.Contains(got, want) || got != "" && want == "" {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Every entry of the table names a level, no name is there twice, and only names that mean the level
// itself have nothing to be told.
func TestOtherNames(t *testing.T) {
	seen := map[string]string{}
	for i := range otherNames {
		x := &otherNames[i]
		l, ok := named(x.level)
		if !ok {
			t.Errorf("%s: there is no level %q", x.names, x.level)
		}
		for _, name := range x.list() {
			if other := seen[letters(name)]; other != "" {
				t.Errorf("%q is there twice: as %s and as %s", name, other, x.level)
			}
			seen[letters(name)] = x.level
			if got, err := ParseLevel(name); err != nil || got != l {
				t.Errorf("%q: %v, %v, want %v", name, got, err, l)
			}
			if other, ok := spelled(letters(name)); ok && other != l {
				t.Errorf("%q is the name of %v, and taken as %v", name, other, l)
			}
			if note := Taken(name); (note == "") != (x.sense == same) || strings.Contains(note, "NAME") || strings.Contains(note, "LEVEL") {
				t.Errorf("%q: the note is %q", name, note)
			}
		}
	}
}

// What a record names keeps its meaning: names of levels that are not checked say nothing there, and
// SQL's words what they say in SQL.
func TestAskedIsNoGuess(t *testing.T) {
	for name, want := range map[string]Base{
		"PSI": ConsistentView, "NMSI": 0, "RR": ReadCommitted, "PL-2.99": ReadCommitted, "PL-2+": ConsistentView, "repeatable reads": 0, "read-your-writes": 0, "1SR": 0, "nonsense": 0,
		"REPEATABLE READ": ReadCommitted, "CURSOR STABILITY": ReadCommitted, "SNAPSHOT": SnapshotIsolation, "SI": SnapshotIsolation,
		"ser": Serializable, "strict-serializable": Serializable, "RA": ReadAtomic, "GSI": SnapshotIsolation, "linearizable": Serializable,
	} {
		if got := Asked([]byte(name)); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// A name that is none is answered with the one that was meant, or with five at most.
func TestNamesThatAreNone(t *testing.T) {
	for name, want := range map[string]string{
		"serializabel": "did you mean serializable?", "snapshot-isolaton": "did you mean snapshot-isolation?",
		"repeatable-raed": "did you mean repeatable-read?", "Linearizabel": "did you mean linearizable?",
		"nonsense": "there are serializable, ", "postgres": "postgresql is a product, and goes with expect", "eventual consistency": "forbids nothing", "G-SI": "is an anomaly and not a level", "g2-item": "is an anomaly", "lost update": "is an anomaly", "pg/rr": "what it stands for, strong-session-snapshot-isolation",
	} {
		_, err := ParseLevel(name)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), ",") > 5 {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}
