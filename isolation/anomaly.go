package isolation

import "github.com/isowatch/isowatch/finding"

// anomaly is a kind of anomaly: the plain title, and the weakest models that it rules out by
// Elle (elle.consistency-model).
type anomaly struct {
	title   string
	elleNot []string
}

// anomalies holds every name that a finding can carry. Cycle names get their
// session and real-time variants from [cycleName].
var anomalies = map[string]anomaly{
	"G0":                          {"write cycle", []string{"read-uncommitted"}},
	"G0-process":                  {"write cycle with session order", []string{"strong-session-read-uncommitted"}},
	"G1c":                         {"circular information flow", []string{"read-committed"}},
	"G1c-process":                 {"circular information flow with session order", []string{"strong-session-read-committed"}},
	"G-single-item":               {"read skew", []string{"consistent-view", "repeatable-read"}},
	"G-single-item-process":       {"read skew with session order", []string{"strong-session-snapshot-isolation"}},
	"G-nonadjacent-item":          {"long fork", []string{"repeatable-read", "snapshot-isolation"}},
	"G-nonadjacent-item-process":  {"long fork with session order", []string{"strong-session-snapshot-isolation"}},
	"G2-item":                     {"anti-dependency cycle", []string{"repeatable-read"}},
	"G2-item-process":             {"anti-dependency cycle with session order", []string{"strong-session-serializable"}},
	"G0-realtime":                 {"write cycle with real time", []string{"strong-read-uncommitted"}},
	"G1c-realtime":                {"circular information flow with real time", []string{"strong-read-committed"}},
	"G-single-item-realtime":      {"read skew with real time", []string{"strong-snapshot-isolation"}},
	"G-nonadjacent-item-realtime": {"long fork with real time", []string{"strong-snapshot-isolation"}},
	"G2-item-realtime":            {"anti-dependency cycle with real time", []string{"strong-serializable"}},
	"lost-update":                 {"lost update", []string{"cursor-stability", "update-atomic"}},
	"internal":                    {"internal inconsistency", []string{"read-atomic"}},
	"G1a":                         {"aborted read", []string{"read-committed"}},
	"G1b":                         {"intermediate read", []string{"read-committed"}},
	"dirty-update":                {"dirty update", []string{"read-committed"}},
	"incompatible-order":          {"incompatible orders", []string{"read-committed"}},
	"duplicate-elements":          {"duplicate elements", []string{"read-uncommitted"}},
	"future-read":                 {"future read", []string{"read-committed"}},
	"garbage-read":                {"garbage read", nil},
	"nonlinearizable":             {"not linearizable", []string{"linearizable"}},
	"unattributed-read":           {"read of a value that no record wrote", nil},
	"contradictory-record":        {"contradictory record", nil},
	"session-not-sequential":      {"session not sequential", nil},
	"horizon":                     {"behind the horizon", nil},
	"gap":                         {"missing records", nil},
	finding.WeakerThanExpected:    {"a weaker level than expected", nil},

	"cyclic-versions": {"versions in a circle", []string{"read-uncommitted"}},

	// A range takes part: see predicates.
	"G-single":               {"read skew over a range", []string{"consistent-view"}},
	"G-single-process":       {"stale range in a session", []string{"strong-session-snapshot-isolation"}},
	"G-single-realtime":      {"stale range", []string{"strong-snapshot-isolation"}},
	"G-nonadjacent":          {"long fork over ranges", []string{"snapshot-isolation"}},
	"G-nonadjacent-process":  {"long fork over ranges with session order", []string{"strong-session-snapshot-isolation"}},
	"G-nonadjacent-realtime": {"long fork over ranges in real time", []string{"strong-snapshot-isolation"}},
	"G2":                     {"phantom", []string{"serializable"}},
	"G2-process":             {"phantom with session order", []string{"strong-session-serializable"}},
	"G2-realtime":            {"phantom in real time", []string{"strong-serializable"}},
}

// TitleOf is the plain name of an anomaly that needs no witness.
func TitleOf(anomaly string) string { return anomalies[anomaly].title }

// AnomalyNames are all names, for counters that must exist before the first
// finding, in a fixed order.
func AnomalyNames() []string {
	return []string{
		"G0", "G0-process", "G1c", "G1c-process", "G-single-item", "G-single-item-process",
		"G-nonadjacent-item", "G-nonadjacent-item-process", "G2-item", "G2-item-process",
		"G0-realtime", "G1c-realtime", "G-single-item-realtime", "G-nonadjacent-item-realtime", "G2-item-realtime",
		"lost-update", "internal", "G1a", "G1b", "dirty-update", "incompatible-order",
		"duplicate-elements", "future-read", "garbage-read", "nonlinearizable", "unattributed-read",
		"contradictory-record", "session-not-sequential", "horizon", "gap", finding.WeakerThanExpected,
		"cyclic-versions", "G-single", "G-single-process", "G-single-realtime", "G-nonadjacent", "G-nonadjacent-process", "G-nonadjacent-realtime",
		"G2", "G2-process", "G2-realtime",
	}
}
