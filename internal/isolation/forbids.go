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
	r := anomalyOf(name).reach
	ok := len(r.some) > 0
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
