package window

import (
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// anomaly reports what inference found without a cycle.
func (h *finder) anomaly(a *infer.Anomaly) {
	name := isolation.NameOf(a.Kind)
	switch {
	case a.Kind == infer.Nonlinearizable:
		h.reportLine(a)
		return
	case a.Kind == infer.RetiredConflict:
		h.reports.conflictBeyond(a)
		return
	case name.Kind == finding.KindHorizon:
		h.beyond(a)
		return
	case a.Kind == infer.SequenceGap:
		h.noteMissed(a.A, a.Count)
		return
	case a.Kind == infer.Contradictory:
		return // see refused
	case a.Kind == infer.UnattributedRead:
		h.unattributed(a)
		return
	}
	f := &openFinding{members: []uint32{a.A}}
	if a.B != 0 && a.B != a.A && a.Kind != infer.Internal {
		f.members = append(f.members, a.B)
	}
	f.Finding.Certain, f.about = a.Certain, a.Version
	w := h.anomalyWitness(a, f.members)
	if a.Kind == infer.Internal || a.Kind == infer.Nonrepeatable && isList(&w) {
		h.Counters.Misread++ // a register's other version is taken in
	}
	if h.hidesLoss(a, &w) || h.hidesOldRow(a, &w) {
		return
	}
	if a.Kind == infer.Divergence {
		name = isolation.NameDivergence(&w)
		if !hasAppend(&w) {
			h.Counters.Diverged++
			if hasIncrement(&w) && (h.infer.NamedOnly(a.Version, a.A) || h.infer.NamedOnly(a.Version, a.B)) {
				h.Counters.NamedApart++
			}
		}
		if h.asking.askedLess(a.A, name.Weakest) || h.asking.askedLess(a.B, name.Weakest) {
			if !hasAppend(&w) {
				h.Counters.Tolerated++
			}
			h.Counters.Unpromised++
			return // it may then come last, and overwrite values that it has not seen
		}
	}
	byValue, versions := isolation.TakenBy(a.Kind)
	if versions > 0 {
		f.versions = []uint32{a.Version, a.Other}[:versions]
	}
	switch {
	case a.Kind != infer.CyclicVersions:
	case a.Count > 0:
		h.versionCycle(a, f, &w)
	case a.Other != 0:
		f.rests = []uint64{h.infer.ValueKey(a.Other)}
	}
	if a.Kind == infer.Divergence {
		w.Edges = divergenceEdges(&w)
	}
	name.Weakest = h.asking.promisedToAll(name.Weakest)
	if h.linearizes() && name.Kind == finding.KindViolation {
		name.RefuteLinear(a.Kind, &w)
	}
	if byValue {
		f.values = []uint64{a.Value}
	}
	if err := h.verify(&w); err != nil {
		h.Counters.Unverified++
		h.unverified = err
		return
	}
	if a.Kind == infer.IncompatibleOrder {
		h.reports.contradict(w.Key)
	}
	if name.Weakest != nil && h.asking.askedLess(f.members[0], name.Weakest) {
		h.Counters.Unpromised++
		return // nobody promised it to this transaction
	}
	h.spell(a, &w)
	h.publish(f, name, &w)
	if a.Kind == infer.Divergence {
		h.fractured(a)
	}
}

// isList says whether the operation that w is about read a list.
func isList(w *finding.Witness) bool {
	return w.Op < len(w.Txns[0].Ops) && (w.Txns[0].Ops[w.Op].Flags&event.IsArray != 0 || hasAppend(w) ||
		slices.ContainsFunc(w.Txns[0].Ops, func(o event.RecordOp) bool { return o.Key == w.Key && o.Flags&event.IsArray != 0 }))
}

// hasAppend says whether w is about a list.
func hasAppend(w *finding.Witness) bool {
	return slices.ContainsFunc(w.Txns[0].Ops, func(o event.RecordOp) bool { return o.Key == w.Key && o.Kind == event.Append })
}

// hasIncrement says whether w is about a counter.
func hasIncrement(w *finding.Witness) bool {
	return slices.ContainsFunc(w.Txns[0].Ops, func(o event.RecordOp) bool { return o.Key == w.Key && o.Kind == event.Inc })
}

// promisedToAll leaves out of weakest the levels that select readers, where transactions asked for
// levels of their own. Some of a finding's transactions may have asked for less. The last level
// stays.
func (a *asking) promisedToAll(weakest []isolation.Level) []isolation.Level {
	selects := func(l isolation.Level) bool { return l.Underlying().Selects() }
	if len(a.asked) > 0 {
		// The readers of a single anti-dependency were asked whether they were promised this.
		if k := slices.IndexFunc(
			weakest,
			func(l isolation.Level) bool { return l.Underlying() == isolation.ConsistentView },
		); k >= 0 &&
			!slices.ContainsFunc(weakest, func(l isolation.Level) bool { return !selects(l) }) {
			return weakest[k : k+1]
		}
	}
	if len(a.asked) == 0 || !slices.ContainsFunc(weakest, func(l isolation.Level) bool { return !selects(l) }) {
		return weakest
	}
	return slices.DeleteFunc(slices.Clone(weakest), selects)
}

// askedLess says whether transaction n asked for a level that allows what these
// weakest levels forbid.
func (a *asking) askedLess(n uint32, weakest []isolation.Level) bool {
	asked := a.askedBy(n)
	return asked != 0 && !(isolation.Level{Base: asked}).Refuted(weakest)
}

func (h *finder) anomalyWitness(a *infer.Anomaly, members []uint32) finding.Witness {
	w := finding.Witness{Anomaly: a.Kind, Op: int(a.OpA)}
	h.given(&w)
	for _, n := range members {
		r := h.record(n)
		if (a.Kind == infer.G1a || a.Kind == infer.DirtyUpdate) && !h.infer.Info(n).HasTimes {
			r.Flags &^= event.HasTimes // clamped times order nothing
		}
		w.Txns = append(w.Txns, r)
	}
	if a.Kind == infer.Internal && a.B != 0 {
		w.Txns = append(w.Txns, h.record(a.B))
	}
	if a.Version != 0 {
		w.Key = h.infer.Key(a.Version)
		w.Value = h.infer.Value(a.Version, &h.scratch)
	} else if len(w.Txns) > 0 && w.Op < len(w.Txns[0].Ops) {
		w.Key, w.Value = w.Txns[0].Ops[w.Op].Key, w.Txns[0].Ops[w.Op].Value
	}
	return w
}

// divergenceEdges are the two anti-dependencies between transactions that
// overwrote one version.
func divergenceEdges(w *finding.Witness) []finding.Dependency {
	var es []finding.Dependency
	for i := range 2 {
		e := finding.Dependency{From: i, To: 1 - i, Label: infer.RW, Key: w.Key, Shown: -1}
		t := &w.Txns[1-i]
		for j := range t.Ops {
			if o := &t.Ops[j]; o.Key == w.Key && (o.Writes() || o.Kind == event.Inc) {
				e.Value = o.Value
			}
		}
		es = append(es, e)
	}
	return es
}

// unattributed notes once for a class of keys that values are read there which
// no record wrote.
func (h *finder) unattributed(a *infer.Anomaly) {
	key := h.infer.Key(a.Version)
	class := keyClass(key)
	if h.reports.horizon.noticed[class] || len(h.reports.horizon.noticed) >= maxClasses {
		return
	}
	h.reports.horizon.noticed[class] = true
	f := &openFinding{members: []uint32{a.A}}
	w := h.anomalyWitness(a, f.members)
	h.publish(f, isolation.NameOf(a.Kind), &w)
}

// keyClass is the part that keys of one table or kind share. It is the part before the first
// separator, or the key without its digits.
func keyClass(key string) string {
	if i := strings.IndexAny(key, ":/|#"); i > 0 {
		return isolation.Cut(key[:i], maxArgument)
	}
	class := strings.TrimRight(key, "0123456789")
	if class == "" {
		return "(numbers)"
	}
	const most = 64
	if len(class) > most {
		class = class[:most]
	}
	return class
}
