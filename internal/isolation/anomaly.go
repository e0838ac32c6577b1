package isolation

import (
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// anomaly is all that is said of a name that a finding can carry.
type anomaly struct {
	name    string
	title   string   // in plain words
	elleNot []string // the weakest models that it rules out by Elle (elle.consistency-model)
	reach   reach    // none: it refutes no level by itself, or is a variant with session order or real time
	means   string   // in practice, in one or two sentences; "": see [MeaningOf]
}

// reach holds the weakest bases that rule out some form of an anomaly, and the weakest that rule
// out all of them (docs/proofs.md, section 5).
type reach struct{ some, all []Base }

func every(bs ...Base) reach { return reach{bs, bs} }

// namedAnomalies are all of them, in the order in which they are counted. The names without
// -item have a range on the cycle: see predicates. A cycle of updates with two anti-dependencies
// refutes cursor stability too. It is left out of the reach: its updates are lost, and mostly
// reported as lost-update.
var namedAnomalies = []anomaly{
	{name: "G0", title: "write cycle", elleNot: []string{"read-uncommitted"}, reach: every(ReadUncommitted),
		means: "The data mix the writes of two transactions. Rows that belong together no longer fit."},
	{name: "G0-process", title: "write cycle with session order", elleNot: []string{"strong-session-read-uncommitted"}},
	{name: "G1c", title: "circular information flow", elleNot: []string{"read-committed"}, reach: every(ReadCommitted),
		means: "Transactions saw each other before they committed. Nothing that rests on them is sure."},
	{name: "G1c-process", title: "circular information flow with session order", elleNot: []string{"strong-session-read-committed"}},
	{
		name:    "G-single-item",
		title:   "read skew",
		elleNot: []string{"consistent-view", "repeatable-read"},
		reach:   reach{[]Base{MonotonicAtomicView, CursorStability}, []Base{ConsistentView, RepeatableRead}},
		means:   "The transaction saw data that were never there together. Its results may be wrong.",
	},
	{name: "G-single-item-process", title: "read skew with session order", elleNot: []string{"strong-session-snapshot-isolation"}},
	{
		name:    "G-nonadjacent-item",
		title:   "long fork",
		elleNot: []string{"repeatable-read", "snapshot-isolation"},
		reach:   reach{[]Base{Prefix, RepeatableRead, UpdateSerializable}, []Base{SnapshotIsolation, RepeatableRead}},
		means:   "Readers do not agree about what happened first. Their decisions may not fit together.",
	},
	{name: "G-nonadjacent-item-process", title: "long fork with session order", elleNot: []string{"strong-session-snapshot-isolation"}},
	{name: "G2-item", title: "write skew", elleNot: []string{"repeatable-read"}, reach: reach{[]Base{RepeatableRead, UpdateSerializable}, []Base{RepeatableRead}},
		means: "Each transaction is right by itself, and together they may break a rule: a room booked twice, an account overdrawn."},
	{name: "G2-item-process", title: "write skew with session order", elleNot: []string{"strong-session-serializable"}},
	{name: "G0-realtime", title: "write cycle with real time", elleNot: []string{"strong-read-uncommitted"}},
	{name: "G1c-realtime", title: "circular information flow with real time", elleNot: []string{"strong-read-committed"}},
	{name: "G-single-item-realtime", title: "read skew with real time", elleNot: []string{"strong-snapshot-isolation"}},
	{name: "G-nonadjacent-item-realtime", title: "long fork with real time", elleNot: []string{"strong-snapshot-isolation"}},
	{name: "G2-item-realtime", title: "write skew with real time", elleNot: []string{"strong-serializable"}},
	{
		name:    "lost-update",
		title:   "lost update",
		elleNot: []string{"cursor-stability", "update-atomic"},
		reach:   reach{[]Base{CursorStability}, []Base{ConsistentView, RepeatableRead}},
		means:   "One of the two writes is gone, and its client was told that it succeeded. Sums and counts are wrong from now on.",
	},
	{name: "internal", title: "internal inconsistency", elleNot: []string{"read-atomic"}, reach: reach{[]Base{MonotonicAtomicView, RepeatableRead}, []Base{ReadAtomic}},
		means: "The transaction cannot trust its own reads."},
	{name: "G1a", title: "aborted read", elleNot: []string{"read-committed"}, reach: every(ReadCommitted),
		means: "Somebody decided on data that never existed."},
	{name: "G1b", title: "intermediate read", elleNot: []string{"read-committed"}, reach: every(ReadCommitted),
		means: "Somebody decided on data that were half done."},
	{name: "dirty-update", title: "dirty update", elleNot: []string{"read-committed"}, reach: every(ReadCommitted),
		means: "Data of a transaction that was rolled back have survived."},
	{name: "incompatible-order", title: "incompatible orders", elleNot: []string{"read-committed"}, reach: every(ReadCommitted),
		means: "Two clients hold two histories of the same list. Data may have been lost."},
	{name: "duplicate-elements", title: "duplicate elements", elleNot: []string{"read-uncommitted"}, reach: every(ReadUncommitted),
		means: "One write took effect twice."},
	{name: "future-read", title: "future read", elleNot: []string{"read-committed"}, reach: every(ReadCommitted),
		means: "The answer does not belong to this operation."},
	{name: "garbage-read", title: "garbage read", reach: every(ReadCommitted),
		means: "The data hold a value that nobody wrote: damage, or a writer that is not recorded."},
	{name: "nonlinearizable", title: "not linearizable", elleNot: []string{"linearizable"},
		means: "A client was shown an old state of the key as if it were current."},
	{name: "unattributed-read", title: "read of a value that no record wrote",
		means: "Somebody writes without being recorded, or wrote before. Fewer reads can be decided."},
	{name: "contradictory-record", title: "contradictory record",
		means: "One of two records of a transaction is wrong. Everything that rests on it stays undecided."},
	{name: "session-not-sequential", title: "session not sequential",
		means: "The session is not a single client, so its order is not used. The level with session order cannot be decided."},
	{name: "horizon", title: "behind the horizon",
		means: "Whether this is an anomaly is not known yet. A replay decides it."},
	{name: "gap", title: "missing records",
		means: "The content of these records cannot be checked."},
	{name: finding.WeakerThanExpected, title: "a weaker level than expected",
		means: "These transactions do not ask for what is expected. An anomaly among them that their own level allows, such as a lost update, raises no alert."},
	{name: "cyclic-versions", title: "versions in a circle", elleNot: []string{"read-uncommitted"}, reach: every(ReadUncommitted),
		means: "The versions of a key are not in any order: the database, the clocks, or what the contract says of them is wrong."},
	{name: "G-single", title: "read skew over a range", elleNot: []string{"consistent-view"}, reach: reach{[]Base{MonotonicAtomicView}, []Base{ConsistentView}}},
	{name: "G-single-process", title: "stale range in a session", elleNot: []string{"strong-session-snapshot-isolation"}},
	{name: "G-single-realtime", title: "stale range", elleNot: []string{"strong-snapshot-isolation"}},
	{name: "G-nonadjacent", title: "long fork over ranges", elleNot: []string{"snapshot-isolation"}, reach: reach{[]Base{Prefix, UpdateSerializable}, []Base{SnapshotIsolation}}},
	{name: "G-nonadjacent-process", title: "long fork over ranges with session order", elleNot: []string{"strong-session-snapshot-isolation"}},
	{name: "G-nonadjacent-realtime", title: "long fork over ranges in real time", elleNot: []string{"strong-snapshot-isolation"}},
	{name: "G2", title: "phantom", elleNot: []string{"serializable"}, reach: reach{[]Base{UpdateSerializable}, []Base{Serializable}}},
	{name: "G2-process", title: "phantom with session order", elleNot: []string{"strong-session-serializable"}},
	{name: "G2-realtime", title: "phantom in real time", elleNot: []string{"strong-serializable"}},
}

var anomalies = func() map[string]*anomaly {
	by := map[string]*anomaly{}
	for i := range namedAnomalies {
		by[namedAnomalies[i].name] = &namedAnomalies[i]
	}
	return by
}()

// anomalyOf is the row of the name, an empty one if there is none.
func anomalyOf(name string) *anomaly {
	if a := anomalies[name]; a != nil {
		return a
	}
	return &anomaly{}
}

// TitleOf is the plain name of an anomaly that needs no witness, "" if there is no such anomaly.
func TitleOf(anomaly string) string { return anomalyOf(anomaly).title }

// AnomalyNames are all names, for counters that must exist before the first finding, in a fixed
// order.
func AnomalyNames() []string {
	names := make([]string, len(namedAnomalies))
	for i := range namedAnomalies {
		names[i] = namedAnomalies[i].name
	}
	return names
}

// MeaningOf says in one or two sentences what an anomaly means in practice.
func MeaningOf(anomaly string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(anomaly, "-process"), "-realtime")
	switch {
	case name != anomaly && strings.HasPrefix(name, "G-single"):
		return "A client was shown old data as if they were current."
	case name == "G-nonadjacent" || name == "G-single" || name == "G2":
		name += "-item"
	}
	return anomalyOf(name).means
}
