package isolation

import "strings"

// Forbidden says how far a level rules an anomaly out.
type Forbidden int

const (
	Allowed Forbidden = iota
	Partly            // some forms of it are: see the explanation of a finding
	Ruled             // every form is
)

// reach is the weakest base that rules out some form of an anomaly, and the weakest that rules
// out all of them (docs/proofs.md, section 5).
type reach struct{ some, all Base }

// reaches holds the anomalies that refute a level, without the variants with session order or
// real time.
var reaches = map[string]reach{
	"G0": {ReadUncommitted, ReadUncommitted}, "duplicate-elements": {ReadUncommitted, ReadUncommitted},
	"cyclic-versions": {ReadUncommitted, ReadUncommitted},
	"G1a":             {ReadCommitted, ReadCommitted}, "G1b": {ReadCommitted, ReadCommitted}, "G1c": {ReadCommitted, ReadCommitted},
	"dirty-update": {ReadCommitted, ReadCommitted}, "incompatible-order": {ReadCommitted, ReadCommitted},
	"future-read": {ReadCommitted, ReadCommitted}, "garbage-read": {ReadCommitted, ReadCommitted},
	"internal":      {MonotonicAtomicView, ReadAtomic},
	"G-single-item": {MonotonicAtomicView, SnapshotIsolation}, "G-single": {MonotonicAtomicView, SnapshotIsolation},
	"G-nonadjacent-item": {Prefix, SnapshotIsolation}, "G-nonadjacent": {Prefix, SnapshotIsolation},
	"lost-update": {SnapshotIsolation, SnapshotIsolation},
	"G2-item":     {Serializable, Serializable}, "G2": {Serializable, Serializable},
}

// Forbids says whether l rules out the anomaly. Kinds of findings that refute no level are
// allowed by all.
func (l Level) Forbids(anomaly string) Forbidden {
	switch {
	case anomaly == "nonlinearizable" && l.Implies(Level{Special: Linearizable}):
		return Ruled
	case l.Special == Linearizable:
		return Allowed
	}
	name, family := anomaly, Plain
	if base, ok := strings.CutSuffix(anomaly, "-process"); ok {
		name, family = base, StrongSession
	} else if base, ok := strings.CutSuffix(anomaly, "-realtime"); ok {
		name, family = base, Strong
	}
	r, ok := reaches[name]
	if l.Special == GeneralizedSI && family == Strong && ok && SnapshotIsolation.Implies(r.some) {
		return Partly // commits have the order of real time, and starts have not
	}
	switch {
	case !ok || l.Family < family || !l.Underlying().Implies(r.some):
		return Allowed
	case !l.Underlying().Implies(r.all):
		return Partly
	}
	return Ruled
}

// RefutesLevels says whether findings of the kind refute a level at all.
func RefutesLevels(anomaly string) bool {
	return (Level{Base: Serializable, Family: Strong}).Forbids(anomaly) != Allowed
}
