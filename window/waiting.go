package window

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// A finding leaves when it is due: no record that may still be on its way can take its evidence away
// (docs/proofs.md, section 7). Until then it is stored as waiting, told to nobody, and counted nowhere.
// If it falls meanwhile, it is dropped. Its evidence (isolation.Basis) says when that is:
//
//   - presence, and values that the contract declares to be unique: at once
//   - a plain value that names its writer, as observed so far: when the watermark has
//     passed the end of its last member. Where the pattern has shown one value at two
//     keys, max-transaction later. A second writer that begins later did not write the
//     value that they read.
//   - a transaction of unknown outcome that took effect, since its values were read. A
//     retry may have written them: when the watermark has passed its readers by
//     max-transaction
//   - the order of a list, where clients append again: when the watermark has passed its last
//     member. An element of the pattern was appended twice, or isolation.AppendedAgain
//   - an element whose append has an unknown outcome, since it may be appended again: as
//     the next one. So is a list that may be deleted between (internal/isolation/lists.go)
//   - an absence: when the watermark has passed it by max-transaction. A transaction
//     that began before has ended by then, and its record has come.
//
// Whole histories wait for nothing: all has come.

// waitingFinding is a finding that is not due.
type waitingFinding struct {
	Finding finding.Finding // as it is by now
	Due     int64           // it leaves when the watermark has passed this
	Sooner  int64           // or when all closed sessions have gone on behind this; 0: it does not
	First   bool            // nothing of it was handed out before
	Unshown bool            `json:",omitempty"` // an unseen delete of a list may explain it: see shown.go
	Shares  []uint64        `json:",omitempty"` // see faults.go
}

// waitingRoom holds them in the order of detection.
type waitingRoom struct {
	list []waitingFinding
	next int64 // the least Due, if one is set
}

func (r *waitingRoom) index(id string) int {
	return slices.IndexFunc(r.list, func(w waitingFinding) bool { return w.Finding.ID == id })
}

func (r *waitingRoom) earliest() {
	r.next = math.MaxInt64
	for i := range r.list {
		r.next = min(r.next, r.list[i].Due)
	}
}

// rest says what f, whose witness is w, rests on, and when it is due.
func (o *core) rest(f *openFinding, w *finding.Witness) {
	b := isolation.BasisOf(w, func(key, element string) bool { return o.infer.AppendedOnce(key, f.Finding.Epoch, element) })
	c := &o.cfg.Contract
	f.Finding.RestsOn, f.byLists = nil, false
	if len(b.Identity) > 0 {
		f.Finding.RestsOn = append(f.Finding.RestsOn, "value-identity="+c.identity())
	}
	if b.Absence {
		f.Finding.RestsOn = append(f.Finding.RestsOn, restsOnAbsence, "unmonitored-writers=no", "deletes=recorded")
		if o.mayBeMissing() {
			f.Finding.Certain = false
		}
	}
	o.restOnShown(f, w, &b)
	for i := range b.Missed { // a delete of the list takes f back, also when its members have left
		if v := o.infer.Beginning(b.Missed[i].Key, f.Finding.Epoch); v != 0 && !slices.Contains(f.rests, v) {
			f.rests = append(f.rests, v)
		}
	}
	if !b.Absence && o.mayBeRetried(f, false) { // and on this: no other transaction wrote the values that show that they took effect
		f.restOnCapture()
		if o.mayBeRetried(f, c.Complete && o.infer.Counters.Missing() == 0) {
			f.Finding.Certain = false
		}
	}
	rewritten := func(n uint32) bool { return o.infer.MayBeRewritten(n, b.Identity) }
	if !b.Absence && len(b.Identity) > 0 && slices.ContainsFunc(f.members, rewritten) { // and on that no retry wrote it again
		f.restOnCapture()
		if !c.Complete || o.infer.Counters.Missing() > 0 {
			f.Finding.Certain = false
		}
	}
	f.solid = !b.Absence && !b.List && !b.Retry && (f.solid || !f.upgraded)
	if o.cfg.Unbounded || f.Finding.Kind != finding.KindViolation {
		return
	}
	end := int64(math.MinInt64)
	for _, n := range f.members {
		end = max(end, o.infer.Info(n).End)
	}
	come := end // when those have come that ended before the watermark passed this
	if o.untimed {
		come += o.infer.Patience() // it has no lateness
	}
	if seen := o.seenAt(f); seen != math.MinInt64 {
		f.due = max(f.due, seen+o.infer.Patience())
		f.sooner = max(f.sooner, seen+int64(c.ClockDrift))
	}
	if o.cfg.Rules.Rows && w.Anomaly == finding.Divergence || o.oldRowsOf(f) != nil { // and on that nobody deleted the row between them
		f.Finding.RestsOn = append(f.Finding.RestsOn, "deletes=recorded")
		f.due = max(f.due, come+int64(c.ClockDrift))
	}
	if o.unshown(f, w.Key) { // and on that nobody tells that the key is a counter
		f.due = max(f.due, come+int64(c.ClockDrift))
	}
	shared := func(key string) bool { return o.infer.Shared(key, f.Finding.Epoch) }
	if b.Absence || b.Retry || b.List || c.Observed && slices.ContainsFunc(b.Identity, shared) {
		f.due = max(f.due, end+o.infer.Patience())
		f.sooner = max(f.sooner, end+int64(c.ClockDrift))
	} else if c.Observed && len(b.Identity) > 0 || (c.Observed || c.ByVersion) && (slices.ContainsFunc(b.Lists, shared) || isolation.AppendedAgain(w, b.Lists)) {
		f.due = max(f.due, come)
	}
}

// restOnCapture says that f rests on all records having come, and not by deletes of lists only.
func (f *openFinding) restOnCapture() {
	f.byLists = false
	if !slices.Contains(f.Finding.RestsOn, restsOnAbsence) {
		f.Finding.RestsOn = append(f.Finding.RestsOn, restsOnAbsence)
	}
}

// seenAt is about readers that show that f's transactions of unknown outcome took effect. It is
// when the readers ended that may have read from a retry, math.MinInt64 if there are none.
func (o *core) seenAt(f *openFinding) int64 {
	end := int64(math.MinInt64)
	for _, n := range f.members {
		if !o.infer.Info(n).Unknown || o.infer.TookEffect(n, false) {
			continue
		}
		for _, r := range o.infer.Observers(nil, n) {
			end = max(end, o.infer.Info(r).End)
		}
	}
	return end
}

// mayBeRetried says whether f rests on a transaction of unknown outcome that others saw take
// effect only by what a retry may have written too. all says that all records have come.
func (o *core) mayBeRetried(f *openFinding, all bool) bool {
	return slices.ContainsFunc(slices.Concat(f.members, f.shown), func(n uint32) bool {
		if !o.infer.Info(n).Unknown || o.infer.TookEffect(n, all) {
			return false
		}
		_, shown := o.infer.Proofs(nil, n) // otherwise nothing in memory shows it any more: see unproven
		return shown
	})
}

// emitWhenDue hands out f, as it is by now, or lets it wait.
func (s *reports) emitWhenDue(f *finding.Finding, edges []uint64, due, sooner int64, unshown bool) {
	r := &s.waiting
	at := -1
	if len(r.list) > 0 {
		at = r.index(f.ID)
	}
	first := f.Revision == 1 && f.State == finding.Provisional
	switch {
	case at >= 0 && f.State == finding.Withdrawn:
		was := r.list[at]
		r.list = slices.Delete(r.list, at, at+1)
		r.earliest()
		if was.First {
			s.fall(f.ID)
			return
		}
		s.leave(f, edges, false)
	case at >= 0:
		x := &r.list[at]
		x.Finding, x.Due, x.Sooner, x.Shares, x.Unshown = *f, max(x.Due, due), max(x.Sooner, sooner), edges, unshown
		r.earliest()
		s.handWaiting(f)
	case !unshown && (due < s.clock.watermark || due == 0 || s.cfg.Unbounded) || s.closed || !f.Certain || f.State == finding.Withdrawn || f.State == finding.Final:
		s.leave(f, edges, first)
	default:
		r.list = append(r.list, waitingFinding{*f, due, sooner, first || f.State == finding.Provisional && s.open.revisions[f.ID] > 0, unshown, edges})
		r.earliest()
		s.handWaiting(f)
	}
}

// leave hands f out, and counts it, unless another finding stands for it.
func (s *reports) leave(f *finding.Finding, edges []uint64, first bool) {
	told := s.tellFault(f, edges)
	switch {
	case told && first:
		s.countFound(f)
	case told:
		s.countCertain(f)
	case first && uncertain(f):
		s.noteUnsure(f.ID)
	}
	if f.State == finding.Final {
		delete(s.unsure, f.ID)
	}
	if !told {
		return
	}
	if f.State == finding.Withdrawn && f.Certain { // uncertain findings are not told by default
		*s.Counters.withdrawn(f.WithdrawnBy)++
	}
}

// handWaiting gives out that f waits.
func (s *reports) handWaiting(f *finding.Finding) {
	w := *f
	w.State = finding.Waiting
	s.hand(w)
}

// releaseDue hands out what is due.
func (m *Machine) releaseDue() {
	m.retractAbsence()
	m.reports.tellDueEdges()
	r := &m.reports.waiting
	if len(r.list) == 0 {
		return
	}
	wentOn := m.clock.wentOn()
	if r.next >= m.clock.watermark && !m.closed && wentOn == math.MinInt64 {
		return
	}
	kept := r.list[:0]
	for i := range r.list {
		w := &r.list[i]
		if w.Due >= m.clock.watermark && !m.closed && (w.Sooner == 0 || w.Sooner >= wentOn) {
			kept = append(kept, *w)
			continue
		}
		if m.mustBeShown(w) {
			kept = append(kept, *w)
			continue
		}
		w.Finding.DetectedAt = m.clock.detectedAt()
		m.reports.renewMarks(&w.Finding)
		if told := w.Finding; told.State == finding.Final { // which by itself is not delivered
			told.State = finding.Provisional
			m.reports.leave(&told, w.Shares, w.First && !m.reports.open.hadGone(w))
			m.reports.leave(&w.Finding, w.Shares, false)
			continue
		}
		m.reports.leave(&w.Finding, w.Shares, w.First && !m.reports.open.hadGone(w))
	}
	clear(r.list[len(kept):])
	r.list = kept
	r.earliest()
}

// hadGone says whether the finding was counted before: it was withdrawn and came back.
func (r *registry) hadGone(w *waitingFinding) bool { return r.revisions[w.Finding.ID] > 0 }

// refutedSurely says whether a finding that has left refutes l.
func (s *reports) refutedSurely(l isolation.Level) bool {
	if len(s.waiting.list) == 0 {
		return refuted(s.verdicts.certain, l)
	}
	left := map[isolation.Level]int64{}
	for w, n := range s.verdicts.certain {
		left[w] = n
	}
	for i := range s.waiting.list {
		if levels, err := parseAll(s.waiting.list[i].Finding.Refutes); err == nil && s.waiting.list[i].First && s.waiting.list[i].Finding.Certain {
			for _, w := range levels {
				left[w]--
			}
		}
	}
	return refuted(left, l)
}

// withdrawn counts the findings that had left and were taken back for this cause.
func (c *Counters) withdrawn(cause string) *int64 {
	switch cause {
	case finding.LateOutcome:
		return &c.WithdrawnOutcome
	case finding.Repetition:
		return &c.WithdrawnRepetition
	case finding.LateRecord:
		return &c.WithdrawnRecord
	}
	return &c.WithdrawnOther
}

// Waiting is how many findings are not due.
func (m *Machine) Waiting() int { return len(m.reports.waiting.list) }
