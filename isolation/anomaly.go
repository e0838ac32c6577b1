package isolation

import "github.com/isowatch/isowatch/finding"

// anomaly is a name that a finding can carry: the plain title, and the weakest models that it
// rules out by Elle (elle.consistency-model).
type anomaly struct {
	name    string
	title   string
	elleNot []string
}

// namedAnomalies are all of them, in the order in which they are counted. The names without
// -item have a range on the cycle: see predicates.
var namedAnomalies = []anomaly{
	{"G0", "write cycle", []string{"read-uncommitted"}},
	{"G0-process", "write cycle with session order", []string{"strong-session-read-uncommitted"}},
	{"G1c", "circular information flow", []string{"read-committed"}},
	{"G1c-process", "circular information flow with session order", []string{"strong-session-read-committed"}},
	{"G-single-item", "read skew", []string{"consistent-view", "repeatable-read"}},
	{"G-single-item-process", "read skew with session order", []string{"strong-session-snapshot-isolation"}},
	{"G-nonadjacent-item", "long fork", []string{"repeatable-read", "snapshot-isolation"}},
	{"G-nonadjacent-item-process", "long fork with session order", []string{"strong-session-snapshot-isolation"}},
	{"G2-item", "anti-dependency cycle", []string{"repeatable-read"}},
	{"G2-item-process", "anti-dependency cycle with session order", []string{"strong-session-serializable"}},
	{"G0-realtime", "write cycle with real time", []string{"strong-read-uncommitted"}},
	{"G1c-realtime", "circular information flow with real time", []string{"strong-read-committed"}},
	{"G-single-item-realtime", "read skew with real time", []string{"strong-snapshot-isolation"}},
	{"G-nonadjacent-item-realtime", "long fork with real time", []string{"strong-snapshot-isolation"}},
	{"G2-item-realtime", "anti-dependency cycle with real time", []string{"strong-serializable"}},
	{"lost-update", "lost update", []string{"cursor-stability", "update-atomic"}},
	{"internal", "internal inconsistency", []string{"read-atomic"}},
	{"G1a", "aborted read", []string{"read-committed"}},
	{"G1b", "intermediate read", []string{"read-committed"}},
	{"dirty-update", "dirty update", []string{"read-committed"}},
	{"incompatible-order", "incompatible orders", []string{"read-committed"}},
	{"duplicate-elements", "duplicate elements", []string{"read-uncommitted"}},
	{"future-read", "future read", []string{"read-committed"}},
	{"garbage-read", "garbage read", nil},
	{"nonlinearizable", "not linearizable", []string{"linearizable"}},
	{"unattributed-read", "read of a value that no record wrote", nil},
	{"contradictory-record", "contradictory record", nil},
	{"session-not-sequential", "session not sequential", nil},
	{"horizon", "behind the horizon", nil},
	{"gap", "missing records", nil},
	{finding.WeakerThanExpected, "a weaker level than expected", nil},
	{"cyclic-versions", "versions in a circle", []string{"read-uncommitted"}},
	{"G-single", "read skew over a range", []string{"consistent-view"}},
	{"G-single-process", "stale range in a session", []string{"strong-session-snapshot-isolation"}},
	{"G-single-realtime", "stale range", []string{"strong-snapshot-isolation"}},
	{"G-nonadjacent", "long fork over ranges", []string{"snapshot-isolation"}},
	{"G-nonadjacent-process", "long fork over ranges with session order", []string{"strong-session-snapshot-isolation"}},
	{"G-nonadjacent-realtime", "long fork over ranges in real time", []string{"strong-snapshot-isolation"}},
	{"G2", "phantom", []string{"serializable"}},
	{"G2-process", "phantom with session order", []string{"strong-session-serializable"}},
	{"G2-realtime", "phantom in real time", []string{"strong-serializable"}},
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
