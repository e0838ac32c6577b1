//go:build integration

package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// deliverySlack is how long after the time that is given for others to come an alert may
// take, on a busy machine.
const deliverySlack = 3 * time.Second

// judge holds what a monitor alerted against what the databases promise. end is when
// the streams did. Its faults are printed before its notes: who shortens a log keeps its beginning.
func judge(t *testing.T, m *monitor, s *streams, end time.Time) {
	t.Helper()
	defer func() { t.Log(strings.Join(m.notes, "\n")) }()
	took, faults := m.hook.deliveries()
	for _, fault := range faults {
		t.Errorf("%s: %s", m.name, fault)
	}
	of := map[string][]alerted{}
	for _, f := range took {
		of[f.Source] = append(of[f.Source], f)
	}
	m.behind = behind(s, took, end)
	m.note("%s: %v behind", m.name, m.behind)
	for _, c := range cells() {
		judgeKept(t, m, c, standing(of[c.source()]))
		if c.stronger != "" {
			judgeBroken(t, m, c, s, standing(of[c.strongerSource()]), end)
		}
	}
	judgeWithdrawn(t, m, s, took)
	m.note("%s: %d deliveries\n%s", m.name, len(took), waits(s, took, end))
}

// standing are the deliveries of findings that were not withdrawn, which judgeWithdrawn looks at.
func standing(took []alerted) []alerted {
	gone := map[string]bool{}
	for _, f := range took {
		if f.State == string(finding.Withdrawn) {
			gone[f.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(took), func(f alerted) bool { return gone[f.ID] })
}

// judgeWithdrawn: nothing that was alerted is taken back, but for a record that a busy machine
// delayed beyond the lateness, and for values that the cell, on a busy machine, repeated only
// after the alert was due.
func judgeWithdrawn(t *testing.T, m *monitor, s *streams, took []alerted) {
	t.Helper()
	late := positive(m.metric("isowatch_late_records_total", "source"))
	causes := positive(m.metric("isowatch_findings_withdrawn_total", "cause"))
	m.note("%s: records that came later than the lateness allows: %v; withdrawn, with what the expected levels allow: %v", m.name, late, causes)
	repeated := 0.0
	if m.name == "declared" {
		repeated = causes["repetition"]
	}
	took = slices.DeleteFunc(slices.Clone(took), func(f alerted) bool {
		c := cellsBySource()[f.Source]
		due := s.end(c, f.Txns) + (m.lateness + m.maxTransaction).Nanoseconds()
		if f.State != string(finding.Withdrawn) || causes["repetition"] == 0 || s.repetition(c) <= due {
			return false
		}
		m.note("%s: %s: its values repeated first %v after %s was due", m.name, f.Source, time.Duration(s.repetition(c)-due), f.ID)
		return true
	})
	if back := unexcused(took, late, causes, repeated); len(back) > 0 {
		t.Errorf("%s: alerts were withdrawn: %s, as\n%s", m.name, summary(back), excerpt(back[0].Explanation))
	}
	for _, f := range m.withdrawn(t) {
		m.note("%s: withdrawn of %s, certain %v: %s", m.name, f.Source, f.Certain, excerpt(f.Explanation))
	}
}

// unexcused are the alerts that were taken back without a cause that this may have. A record behind the
// lateness excuses as many as the monitor took back for one, of its own source. Where the capture is
// declared, an aborted read of a balance that has not repeated yet is certain, until the balances repeat.
// repeated are so many.
func unexcused(took []alerted, late, causes map[string]float64, repeated float64) (back []alerted) {
	excused := causes["late-record"]
	for _, f := range took {
		switch {
		case f.State != string(finding.Withdrawn):
		case f.Anomaly == "G1a" && repeated > 0:
			repeated--
		case late[f.Source] > 0 && excused > 0:
			excused--
		default:
			back = append(back, f)
		}
	}
	return back
}

// judgeKept: a database that keeps its promise gives no alert.
func judgeKept(t *testing.T, m *monitor, c cell, took []alerted) {
	t.Helper()
	if len(took) > 0 {
		t.Errorf("%s: %s keeps %s, alerts: %s, as\n%s", m.name, c.source(), c.promise, summary(took), excerpt(took[0].Explanation))
	}
}

// judgeBroken: a database that gives less than it is expected to is found out while
// its stream runs, by alerts that stay and contradict nothing that it does promise.
func judgeBroken(t *testing.T, m *monitor, c cell, s *streams, took []alerted, end time.Time) {
	t.Helper()
	promised, _, err := isolation.ParseExpected(c.promise)
	if err != nil {
		t.Fatal(err)
	}
	live := 0
	wrong := map[string][]alerted{}
	for _, f := range took {
		if why := f.isWrong(promised); why != "" && !c.isOfRows(f) {
			wrong[why] = append(wrong[why], f)
		}
		if f.at.Before(end) {
			live++
		}
	}
	for why, list := range wrong {
		t.Errorf("%s: %s: %s: %s, as\n%s", m.name, list[0].Source, why, summary(list), excerpt(list[0].Explanation))
	}
	if c.mustBeFound() && live == 0 {
		t.Errorf("%s: nothing was alerted of %s while it ran (%d alerts behind it)", m.name, c.strongerSource(), len(took))
	}
	if len(took) > 0 {
		m.note("%s: %s: %d alerts while it ran, %d behind it: %s", m.name, c.strongerSource(), live, len(took)-live, summary(took))
	}
	if c.losesUpdates() {
		judgeLost(t, m, c, s, took, end)
	}
}

// judgeLost: of each value that two had replaced, in time to settle by the stream's end, an alert
// had come that names two of those who replaced it.
func judgeLost(t *testing.T, m *monitor, c cell, s *streams, took []alerted, end time.Time) {
	t.Helper()
	lost, missed := s.lostUpdates(c, end.Add(-m.lateness-m.maxTransaction-deliverySlack-m.behind)), 0
	for _, txns := range lost {
		if !slices.ContainsFunc(took, func(f alerted) bool {
			n := 0
			for _, id := range txns {
				if slices.Contains(f.Txns, id) {
					n++
				}
			}
			return n > 1 && f.at.Before(end)
		}) {
			missed++
			m.note("%s: %s: no alert while it ran of %s, which replaced the same value", m.name, c.strongerSource(), txns)
		}
	}
	m.note("%s: %s: %d lost updates, %d not alerted while it ran", m.name, c.strongerSource(), len(lost), missed)
	if len(lost) == 0 || missed > 0 {
		t.Errorf("%s: %s: %d of %d lost updates were not alerted while it ran", m.name, c.strongerSource(), missed, len(lost))
	}
}

// isWrong says what an alert of a database that keeps the level must not be.
func (f *alerted) isWrong(promised isolation.Level) string {
	if f.Kind != string(finding.KindViolation) || !f.Certain {
		return "not a certain violation: " + f.Kind
	}
	var refuted []isolation.Level
	for _, name := range f.Refutes {
		l, err := isolation.ParseLevel(name)
		if err != nil {
			return err.Error()
		}
		refuted = append(refuted, l)
	}
	if promised.Refuted(refuted) {
		return "against " + promised.String() + ", which the database keeps"
	}
	return ""
}

// excerpt is the beginning of an explanation.
func excerpt(text string) string { return text[:min(len(text), 1000)] }

// isOfRows: PostgreSQL's repeatable read lets one transaction delete a row and another
// write the key again, where both have read it. By keys this is a lost update, and so
// not serializable; by rows, of which it promises snapshot isolation, it is none.
func (c cell) isOfRows(f alerted) bool {
	return c.source() == "postgresql-repeatable-read-rows" && f.Anomaly == "lost-update"
}

// summary counts alerts by what they are.
func summary(took []alerted) string {
	count := map[string]int{}
	for _, f := range took {
		count[fmt.Sprintf("%s %s %s", f.Kind, f.Anomaly, f.State)]++
	}
	var lines []string
	for what, n := range count {
		lines = append(lines, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// behind is how far a busy machine was behind its streams: within that time 99 of 100 alerts came
// that waited for nobody.
func behind(s *streams, took []alerted, end time.Time) time.Duration {
	bySource := cellsBySource()
	var delivered []time.Duration
	for _, f := range took {
		if len(f.RestsOn) == 0 && f.Revision == 1 && f.DetectedAt.Equal(f.FoundAt) && f.at.Before(end) {
			delivered = append(delivered, f.at.Sub(time.Unix(0, s.end(bySource[f.Source], f.Txns))))
		}
	}
	if len(delivered) == 0 {
		return 0
	}
	slices.Sort(delivered)
	return delivered[(len(delivered)-1)*99/100]
}

// cellsBySource are the cells by their names.
func cellsBySource() map[string]cell {
	by := map[string]cell{}
	for _, c := range cells() {
		by[c.source()], by[c.strongerSource()] = c, c
	}
	return by
}

// waits is a table of violations by anomaly and by what they rest on: how long after the end
// of their last transaction they were delivered first, and how much of that they waited to
// be due. The rest went by until a record came that showed them. Only what was alerted while
// the streams ran counts, since the watermark stands still at their end until they are idle;
// and only first revisions, since an upgrade was found as something else.
func waits(s *streams, took []alerted, end time.Time) string {
	bySource := cellsBySource()
	type times struct{ delivered, waited []time.Duration }
	seen, of := map[string]bool{}, map[string]*times{}
	for _, f := range took {
		if seen[f.ID] || f.Kind != string(finding.KindViolation) || f.Revision > 1 || f.at.After(end) {
			continue
		}
		seen[f.ID] = true
		what := fmt.Sprintf("%s (%s)", f.Anomaly, strings.Join(f.RestsOn, ", "))
		if of[what] == nil {
			of[what] = &times{}
		}
		of[what].delivered = append(of[what].delivered, f.at.Sub(time.Unix(0, s.end(bySource[f.Source], f.Txns))))
		of[what].waited = append(of[what].waited, f.DetectedAt.Sub(f.FoundAt))
	}
	var lines []string
	for what, x := range of {
		lines = append(lines, fmt.Sprintf("  %s: %d, delivered after %s, waited %s", what, len(x.waited), spread(x.delivered), spread(x.waited)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// spread is how a list of times is distributed.
func spread(list []time.Duration) string {
	slices.Sort(list)
	at := func(share float64) time.Duration {
		return list[int(share*float64(len(list)-1))].Round(time.Millisecond)
	}
	return fmt.Sprintf("p50 %v p99 %v max %v", at(0.5), at(0.99), at(1))
}

// positive are the values above 0.
func positive(of map[string]float64) map[string]float64 {
	maps.DeleteFunc(of, func(_ string, n float64) bool { return n == 0 })
	return of
}
