package window

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/isolation"
)

// A finding leaves when it is due: when no record that may still be on its way can take away
// what it rests on (docs/proofs.md, section 7). Until then it is stored as waiting, told to
// nobody, and counted nowhere; if it falls it is dropped. What it rests on (isolation.Basis)
// says when that is:
//
//   - presence, and values that the contract declares to be unique: at once
//   - that a plain value names its writer, as observed so far: when the watermark has passed
//     the end of its last member, and max-transaction more where the pattern has shown one
//     value at two keys. A second writer that begins later is not whom they read.
//   - that something was not there: when the watermark has passed that by max-transaction.
//     Whoever began before has ended by then, and its record has come.
//
// Whole histories wait for nothing: all has come.

// waitingFinding is a finding that is not due.
type waitingFinding struct {
	Finding finding.Finding // as it is by now
	Due     int64           // it leaves when the watermark has passed this
	Sooner  int64           // or when all closed sessions have gone on behind this; 0: it does not
	First   bool            // nothing of it was handed out before
	Shares  []uint64        `json:",omitempty"` // see faults.go
}

// waitingRoom holds them in the order of detection.
type waitingRoom struct {
	list []waitingFinding
	next int64 // the least Due, where there is any
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
func (m *Machine) rest(f *openFinding, w *finding.Witness) {
	b := isolation.BasisOf(w)
	c := &m.cfg.Contract
	f.Finding.RestsOn = nil
	if len(b.Identity) > 0 {
		f.Finding.RestsOn = append(f.Finding.RestsOn, "value-identity="+c.identity())
	}
	if b.Absence {
		f.Finding.RestsOn = append(f.Finding.RestsOn, restsOnAbsence, "unmonitored-writers=no", "deletes=recorded")
		if m.mayBeMissing() {
			f.Finding.Certain = false
		}
	}
	if m.cfg.Unbounded || f.Finding.Kind != finding.KindViolation {
		return
	}
	end := int64(math.MinInt64)
	for _, n := range f.members {
		end = max(end, m.infer.Info(n).End)
	}
	if m.cfg.Rules.Rows && w.Anomaly == finding.Divergence { // and on that nobody deleted the row between them
		f.Finding.RestsOn = append(f.Finding.RestsOn, "deletes=recorded")
		f.due = max(f.due, end+int64(c.ClockDrift))
	}
	switch {
	case b.Absence:
		f.due = max(f.due, end+m.infer.Patience())
		f.sooner = max(f.sooner, end+int64(c.ClockDrift))
	case len(b.Identity) == 0 || !c.Observed:
	case slices.ContainsFunc(b.Identity, func(key string) bool { return m.infer.Shared(key, f.Finding.Epoch) }):
		f.due = max(f.due, end+m.infer.Patience())
		f.sooner = max(f.sooner, end+int64(c.ClockDrift))
	default:
		f.due = max(f.due, end)
	}
}

// emitWhenDue hands out f, as it is by now, or lets it wait.
func (m *Machine) emitWhenDue(f *finding.Finding, edges []uint64, due, sooner int64) {
	r := &m.waiting
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
			m.effects.Fallen = append(m.effects.Fallen, f.ID)
			return
		}
		m.leave(f, edges, false)
	case at >= 0:
		x := &r.list[at]
		x.Finding, x.Due, x.Sooner, x.Shares = *f, max(x.Due, due), max(x.Sooner, sooner), edges
		r.earliest()
		m.handWaiting(f)
	case due < m.watermark || due == 0 || m.closed || m.cfg.Unbounded || !f.Certain || f.State == finding.Withdrawn || f.State == finding.Final:
		m.leave(f, edges, first)
	default:
		r.list = append(r.list, waitingFinding{*f, due, sooner, first || f.State == finding.Provisional && m.open.revisions[f.ID] > 0, edges})
		r.earliest()
		m.handWaiting(f)
	}
}

// leave hands f out, and counts it, unless another finding stands for it.
func (m *Machine) leave(f *finding.Finding, edges []uint64, first bool) {
	if !m.tellFault(f, edges) {
		return
	}
	if first {
		m.countFound(f)
	}
	if f.State == finding.Withdrawn && f.Certain { // what is not certain is not told by default
		m.countWithdrawn()
	}
}

// handWaiting gives out that f waits.
func (m *Machine) handWaiting(f *finding.Finding) {
	w := *f
	w.State = finding.Waiting
	m.hand(w)
}

// releaseDue hands out what is due.
func (m *Machine) releaseDue() {
	m.doubtAbsence()
	r := &m.waiting
	if len(r.list) == 0 {
		return
	}
	wentOn := m.wentOn()
	if r.next >= m.watermark && !m.closed && wentOn == math.MinInt64 {
		return
	}
	kept := r.list[:0]
	for i := range r.list {
		w := &r.list[i]
		if w.Due >= m.watermark && !m.closed && (w.Sooner == 0 || w.Sooner >= wentOn) {
			kept = append(kept, *w)
			continue
		}
		w.Finding.DetectedAt = m.detectedAt()
		m.renewMarks(&w.Finding)
		if told := w.Finding; told.State == finding.Final { // which by itself is not delivered
			told.State = finding.Provisional
			m.leave(&told, w.Shares, w.First && !m.open.hadGone(w))
			m.leave(&w.Finding, w.Shares, false)
			continue
		}
		m.leave(&w.Finding, w.Shares, w.First && !m.open.hadGone(w))
	}
	clear(r.list[len(kept):])
	r.list = kept
	r.earliest()
}

// hadGone says whether the finding was counted before: it was withdrawn and came back.
func (r *registry) hadGone(w *waitingFinding) bool { return r.revisions[w.Finding.ID] > 0 }

// refutedSurely says whether a finding that has left refutes l.
func (m *Machine) refutedSurely(l isolation.Level) bool {
	if len(m.waiting.list) == 0 {
		return refuted(m.verdicts.certain, l)
	}
	left := map[isolation.Level]int64{}
	for w, n := range m.verdicts.certain {
		left[w] = n
	}
	for i := range m.waiting.list {
		if levels, err := parseAll(m.waiting.list[i].Finding.Refutes); err == nil && m.waiting.list[i].First {
			for _, w := range levels {
				left[w]--
			}
		}
	}
	return refuted(left, l)
}

// Causes of withdrawals.
const (
	causeRecord     = "late-record"
	causeOutcome    = "late-outcome"
	causeRepetition = "repetition"
)

// countWithdrawn counts a finding that had left and is taken back.
func (m *Machine) countWithdrawn() {
	switch m.cause {
	case causeOutcome:
		m.Counters.WithdrawnOutcome++
	case causeRepetition:
		m.Counters.WithdrawnRepetition++
	default:
		m.Counters.WithdrawnRecord++
	}
}

// Waiting is how many findings are not due.
func (m *Machine) Waiting() int { return len(m.waiting.list) }
