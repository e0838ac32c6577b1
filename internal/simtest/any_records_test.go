package simtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/window"
)

// anyRecords holds what the records of anyStore show beside what it did. The zero value adds nothing.
type anyRecords struct {
	rng      *rand.Rand
	nulls    bool // some values are stored nulls
	inserts  bool // some fail on what is there
	limits   bool // ranges have a limit, and some go down
	commitTS bool
	asked    bool // some transactions asked for read committed
	nameless int  // of so many sessions in three the records name none
	timeless bool // no record has times
	twice    bool // some records come again
	outcomes bool // some unknown outcomes are told later
	after    int  // by as many records, 0: soon
	pending  [][]byte
	late     []lateRecord
}

// lateRecord is told when so many more records have come.
type lateRecord struct {
	record []byte
	after  int
}

// drawRecords is for a store that runs transactions one at a time: its numeric versions are in order.
func drawRecords(rng *rand.Rand, x *anyStore) {
	some := func() bool { return rng.IntN(4) == 0 }
	c := &x.contract
	x.records = anyRecords{rng: rng, nulls: some(), inserts: some(), limits: some(), asked: some(), twice: some(), outcomes: some(), commitTS: some()}
	c.TrustCommitTS = x.records.commitTS && rng.IntN(2) == 0
	c.NumericVersions = c.ByVersion && some()
	c.SequentialKeys, c.LinearizableKeys = some(), some()
	switch rng.IntN(8) {
	case 0, 1:
		c.ClosedSessions = true
	case 2:
		x.records.nameless = 1 + rng.IntN(3)
	case 3:
		x.records.timeless, x.seqs = true, true
		if x.lost != noneLost { // a lost first attempt cannot be told there: docs/semantics.md
			x.retries = false
		}
	}
}

// tellLate has outcomes told when lateness is over, and the shorter window too.
func (x *anyStore) tellLate(rng *rand.Rand) {
	x.records.outcomes, x.records.after = true, 100+rng.IntN(200)
	x.unknown = 0.2
}

func (m *anyRecords) text() string {
	return fmt.Sprintf("nulls %v, inserts %v, limits %v, commit timestamps %v, asked %v, nameless %d, timeless %v, twice %v, outcomes %v, after %d",
		m.nulls, m.inserts, m.limits, m.commitTS, m.asked, m.nameless, m.timeless, m.twice, m.outcomes, m.after)
}

// limit cuts the rows of a range.
func (m *anyRecords) limit(rows []string) (how string, cut []string) {
	if !m.limits {
		return "", rows
	}
	n := 1 + m.rng.IntN(3)
	how = fmt.Sprintf(`"limit":%d,`, n)
	if m.rng.IntN(2) == 0 {
		how += `"desc":true,`
		slices.Reverse(rows)
	}
	return how, rows[:min(n, len(rows))]
}

// head is a record up to its operations. skew is of its client's clock, ns.
func (m *anyRecords) head(d *anyTxn, seqs bool, skew int64) string {
	text := fmt.Sprintf(`{"txn":"s%d-%d"`, d.session, d.seq)
	if d.session%3 >= m.nameless {
		text += fmt.Sprintf(`,"session":"s%d"`, d.session)
		if seqs {
			text += fmt.Sprintf(`,"seq":%d`, d.seq)
		}
	}
	text += fmt.Sprintf(`,"status":%q,"start":%d,"end":%d`, d.status, d.start+skew, d.end+skew)
	if m.commitTS && d.effect {
		text += fmt.Sprintf(`,"commit_ts":%d`, d.commits)
	}
	if m.asked && m.rng.IntN(3) == 0 {
		text += `,"isolation":"READ COMMITTED"`
	}
	return text
}

// again are records that follow that of d: what comes again, and an outcome that comes later.
func (m *anyRecords) again(record []byte, d *anyTxn) (more [][]byte) {
	if m.rng == nil {
		return nil
	}
	switch {
	case m.twice && m.rng.IntN(6) == 0:
		m.pending = append(m.pending, record)
	case m.outcomes && d.status == "unknown" && m.rng.IntN(2) == 0:
		now := "aborted"
		if d.effect {
			now = "committed"
		}
		told := bytes.Replace(record, []byte(`"status":"unknown"`), fmt.Appendf(nil, `"status":%q`, now), 1)
		if m.after > 0 && now == "committed" {
			m.late = append(m.late, lateRecord{told, m.after})
		} else {
			m.pending = append(m.pending, told)
		}
	}
	for i := range m.late {
		m.late[i].after--
	}
	for len(m.late) > 0 && m.late[0].after < 0 {
		more, m.late = append(more, m.late[0].record), m.late[1:]
	}
	if len(m.pending) > 0 && m.rng.IntN(4) == 0 {
		more, m.pending = append(more, m.pending[0]), m.pending[1:]
	}
	return more
}

var anyTimes = regexp.MustCompile(`,"start":-?[0-9]+,"end":-?[0-9]+`)

// finish takes the times away where no record has them.
func (m *anyRecords) finish(records [][]byte) [][]byte {
	for i := range records {
		if m.timeless {
			records[i] = anyTimes.ReplaceAll(records[i], nil)
		}
	}
	return records
}

// accusations returns what is told of the store. That a transaction asked for less is no fault of it.
func accusations(t *testing.T, cfg window.Config, records [][]byte) []finding.Finding {
	t.Helper()
	told, m := monitoredBy(t, cfg, records)
	told = slices.DeleteFunc(told, func(f finding.Finding) bool { return f.Anomaly == "weaker-than-expected" })
	if firstRepetition(told, m, cfg.Contract.Observed) {
		return nil
	}
	return told
}

// firstRepetition says whether all that was told was taken back by the first repetition of a pattern, and
// counted by that cause (docs/semantics.md). Until then observed values name their writers. Where the
// contract names the writers of values, it may be one finding by the order of a list: that leaves at once,
// and only an append that is tried again shows that elements of the pattern repeat.
func firstRepetition(told []finding.Finding, m *window.Machine, observed bool) bool {
	last := map[string]finding.State{}
	for i := range told {
		last[told[i].ID] = told[i].State
	}
	for _, state := range last {
		if state != finding.Withdrawn {
			return false
		}
	}
	if !observed && (len(told) != 2 || !onLists(&told[0])) {
		return false
	}
	c := &m.Counters
	return c.WithdrawnRepetition == int64(len(last)) && c.WithdrawnRecord+c.WithdrawnOutcome+c.WithdrawnOther == 0
}

// onLists says whether the finding's dependencies are of lists and the order of sessions only.
func onLists(f *finding.Finding) bool {
	return !slices.ContainsFunc(f.Edges, func(e finding.Edge) bool { return e.Key != "" && !strings.HasPrefix(e.Key, "list/") })
}
