package simtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/window"
)

// anyMoreFrom is the first seed whose stream draws more: streams of smaller seeds stay as they are.
const anyMoreFrom = 100000

// anyMore is what the records of a stream may show beside its operations.
type anyMore struct {
	rng        *rand.Rand
	nulls      bool // some values are stored nulls
	inserts    bool // some fail on what is there
	limits     bool // ranges have a limit, and some go down
	commitTS   bool
	asked      bool // some transactions asked for read committed
	nameless   int  // of so many sessions the records do not name one; 0: of none
	timeless   bool // no record has times
	twice      bool // records come again
	outcomes   bool // an unknown outcome is told later
	pending    [][]byte
	tombstones map[string]int64
}

var anyTimes = regexp.MustCompile(`,"start":-?[0-9]+,"end":-?[0-9]+`)

func (m *anyMore) draw(seed int, x *anyStore, lose int) {
	m.rng = rand.New(rand.NewPCG(uint64(seed), 978))
	some := func() bool { return m.rng.IntN(4) == 0 }
	m.nulls, m.inserts, m.limits, m.asked, m.twice, m.outcomes = some(), some(), some(), some(), some(), some()
	c := &x.contract
	if m.commitTS = some(); m.commitTS {
		c.TrustCommitTS = m.rng.IntN(2) == 0
	}
	if c.ByVersion && some() {
		c.NumericVersions = true
	}
	if c.SequentialKeys = some(); some() {
		c.LinearizableKeys = true
	}
	switch m.rng.IntN(8) {
	case 0, 1:
		c.ClosedSessions = true
	case 2:
		m.nameless = 1 + m.rng.IntN(3)
	case 3:
		m.timeless = true
		x.seqs = true
	}
}

// limit cuts the rows of a range.
func (m *anyMore) limit(rows []string) (how string, cut []string) {
	if !m.limits {
		return "", rows
	}
	n := 1 + m.rng.IntN(3)
	how = fmt.Sprintf(`"limit":%d,`, n)
	if m.rng.IntN(2) == 0 {
		how += `"desc":true,`
		down := []string{}
		for i := range rows {
			down = append(down, rows[len(rows)-1-i])
		}
		rows = down
	}
	return how, rows[:min(n, len(rows))]
}

func (m *anyMore) session(s int, number string) string {
	if m.nameless > 0 && s%3 < m.nameless {
		return ""
	}
	return fmt.Sprintf(`,"session":"s%d"%s`, s, number)
}

// rest is the times of a record, and what else it says.
func (m *anyMore) rest(d *anyTxn, skew int64) string {
	text := fmt.Sprintf(`,"start":%d,"end":%d`, d.start+skew, d.end+skew)
	if m.commitTS && d.effect {
		text += fmt.Sprintf(`,"commit_ts":%d`, d.at)
	}
	if m.asked && m.rng.IntN(3) == 0 {
		text += `,"isolation":"READ COMMITTED"`
	}
	return text
}

// again adds records that come again, and outcomes that come later.
func (m *anyMore) again(records [][]byte, d *anyTxn) [][]byte {
	r := records[len(records)-1]
	switch {
	case m.twice && m.rng.IntN(6) == 0:
		m.pending = append(m.pending, r)
	case m.outcomes && d.status == "unknown" && m.rng.IntN(2) == 0:
		now := "aborted"
		if d.effect {
			now = "committed"
		}
		m.pending = append(m.pending, bytes.Replace(r, []byte(`"status":"unknown"`), fmt.Appendf(nil, `"status":%q`, now), 1))
	}
	if len(m.pending) > 0 && m.rng.IntN(4) == 0 {
		records = append(records, m.pending[0])
		m.pending = m.pending[1:]
	}
	return records
}

// accusations are what the machine told of the store: that a transaction asked for less is no fault of it.
func accusations(t *testing.T, cfg window.Config, records [][]byte) []finding.Finding {
	t.Helper()
	return slices.DeleteFunc(monitored(t, cfg, records), func(f finding.Finding) bool { return f.Anomaly == "weaker-than-expected" })
}
