package isolation

import (
	"slices"
	"strings"
)

// Forbidden says how far a level rules an anomaly out.
type Forbidden int

const (
	Allowed Forbidden = iota
	Partly            // some forms of it are: see the explanation of a finding
	Ruled             // every form is
)

// reach holds the weakest bases that rule out some form of an anomaly, and the weakest that rule
// out all of them (docs/proofs.md, section 5).
type reach struct{ some, all []Base }

func every(bs ...Base) reach { return reach{bs, bs} }

// reaches holds the anomalies that refute a level, without the variants with session order or
// real time. A cycle of updates with two anti-dependencies refutes cursor stability
// too. It is left out here: its updates are lost, and mostly reported as lost-update.
var reaches = map[string]reach{
	"G0": every(ReadUncommitted), "duplicate-elements": every(ReadUncommitted), "cyclic-versions": every(ReadUncommitted),
	"G1a": every(ReadCommitted), "G1b": every(ReadCommitted), "G1c": every(ReadCommitted),
	"dirty-update": every(ReadCommitted), "incompatible-order": every(ReadCommitted),
	"future-read": every(ReadCommitted), "garbage-read": every(ReadCommitted),
	"internal":           {[]Base{MonotonicAtomicView, RepeatableRead}, []Base{ReadAtomic}},
	"G-single-item":      {[]Base{MonotonicAtomicView, CursorStability}, []Base{ConsistentView, RepeatableRead}},
	"G-single":           {[]Base{MonotonicAtomicView}, []Base{ConsistentView}},
	"G-nonadjacent-item": {[]Base{Prefix, RepeatableRead, UpdateSerializable}, []Base{SnapshotIsolation, RepeatableRead}},
	"G-nonadjacent":      {[]Base{Prefix, UpdateSerializable}, []Base{SnapshotIsolation}},
	"lost-update":        {[]Base{CursorStability}, []Base{ConsistentView, RepeatableRead}}, // see updates
	"G2-item":            {[]Base{RepeatableRead, UpdateSerializable}, []Base{RepeatableRead}},
	"G2":                 {[]Base{UpdateSerializable}, []Base{Serializable}},
}

// impliesOne says whether b implies one of these.
func (b Base) impliesOne(of []Base) bool { return slices.ContainsFunc(of, b.Implies) }

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
	if l.Special == GeneralizedSI && family == Strong && ok && SnapshotIsolation.impliesOne(r.some) {
		return Partly // commits have the order of real time, and starts have not
	}
	switch {
	case !ok || l.Family < family || !l.Underlying().impliesOne(r.some):
		return Allowed
	case !l.Underlying().impliesOne(r.all):
		return Partly
	}
	return Ruled
}

// RefutesLevels says whether findings of the kind refute a level at all.
func RefutesLevels(anomaly string) bool {
	return (Level{Base: Serializable, Family: Strong}).Forbids(anomaly) != Allowed
}
