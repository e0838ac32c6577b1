package isolation

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// shownByVisits says whether the step of e.Past orders the versions that the two wrote or read.
// The version that from left or read must be the one that the first transaction of the step
// had. The version that to left must be the one that the second transaction found. A delete leaves a
// version of its own.
func shownByVisits(w *witness, from, to *event.Record, e *finding.Dependency) bool {
	write, ok := external.FinalWrite(to, e.Key)
	a, b := &w.Txns[e.Past[0].From], &w.Txns[e.Past[0].To]
	_, had, okA := external.Visited(a, e.Key)
	found, _, okB := external.Visited(b, e.Key)
	first, last, okFrom := external.Visited(from, e.Key)
	if e.Label&finding.RW == 0 {
		first = last
	}
	same := had == found && !(had == "" && a == from && b == to)
	return ok && okA && okB && okFrom && write.Value == e.Value && found == e.Value && !same && first == had &&
		a.Status != event.Aborted && b.Status != event.Aborted && later(a, b, e.Past[0].Label, w.Drift)
}

// leavesNothing says whether t left nothing at the key.
func leavesNothing(t *event.Record, key string) bool {
	o, ok := external.FinalWrite(t, key)
	return ok && o.Flags&event.NotFound != 0
}

// later says whether b came after a, in its session or in real time.
func later(a, b *event.Record, label finding.Label, drift int64) bool {
	timed, stale := a.Flags&b.Flags&event.HasTimes != 0, (a.Flags|b.Flags)&event.Stale != 0
	switch {
	case stale || a.Status == event.Unknown:
		return false
	case label&finding.Process == 0:
		return label&finding.Realtime != 0 && timed && a.End < b.Start && b.Start-a.End > drift
	case a.Session == "" || a.Session != b.Session:
		return false
	case a.Flags&b.Flags&event.HasSeq != 0:
		return a.Seq < b.Seq
	}
	return timed && a.End <= b.Start
}

// visitsBecause is the evidence for a step of a cycle of versions, and for an edge that
// the order of visits proves; "" for others.
func visitsBecause(w *witness, e *finding.Dependency) string {
	if w.Anomaly != finding.CyclicVersions && len(e.Past) != 1 {
		return ""
	}
	p := plainly(w)
	from, to := w.short(e.From), w.short(e.To)
	version := func(v string) string {
		if v == "" {
			return "nothing"
		}
		return clip(v)
	}
	came := func(e *finding.Dependency) string {
		a, b := w.short(e.From), w.short(e.To)
		_, had, _ := external.Visited(&p.Txns[e.From], e.Key)
		found, _, _ := external.Visited(&p.Txns[e.To], e.Key)
		order := fmt.Sprintf("%s began after %s had ended", b, a)
		if e.Label&finding.Process != 0 {
			order = fmt.Sprintf("session %s ran %s before %s", w.Txns[e.From].Session, a, b)
		}
		if leavesNothing(&p.Txns[e.From], e.Key) && leavesNothing(&p.Txns[e.To], e.Key) {
			return fmt.Sprintf("%s, and both deleted %s", order, keyName(e.Key))
		}
		return fmt.Sprintf("%s, and %s had %s = %s where %s had %s", order, a, keyName(e.Key), version(had), b, version(found))
	}
	switch {
	case w.Anomaly == finding.CyclicVersions && e.Label&finding.WR != 0:
		return fmt.Sprintf("both had the same version of %s", keyName(e.Key))
	case w.Anomaly == finding.CyclicVersions && e.Label&finding.RW != 0:
		return fmt.Sprintf("%s found nothing at %s, which %s wrote", from, keyName(e.Key), to)
	case w.Anomaly == finding.CyclicVersions && len(w.Edges) > 0:
		return came(e)
	case len(e.Past) == 1 && e.Label&finding.Saturated == 0 && shownByVisits(p, &p.Txns[e.From], &p.Txns[e.To], e):
		if e.From == e.Past[0].From {
			return came(&e.Past[0])
		}
		first, last, _ := external.Visited(&p.Txns[e.From], e.Key)
		if e.Label&finding.RW != 0 {
			return fmt.Sprintf("%s read %s = %s; %s", from, keyName(e.Key), version(first), came(&e.Past[0]))
		}
		return fmt.Sprintf("%s left %s = %s; %s", from, keyName(e.Key), version(last), came(&e.Past[0]))
	}
	return ""
}
