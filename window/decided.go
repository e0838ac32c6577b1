package window

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Decided counts the reads whose version is known, and has a known place at a level.
type Decided struct {
	Reads int64   `json:"reads"`   // of transactions that count
	Share float64 `json:"decided"` // of them, 0 to 1
	Why   []Why   `json:"why,omitempty"`
}

// Why is a cause for which reads are not decided, and what decides them.
type Why struct {
	Cause string `json:"cause"`
	Reads int64  `json:"reads"`
	Text  string `json:"text"`
}

// openReads is how many reads are open at the level for a cause, and what is to be done.
type openReads struct {
	cause string
	count func(l isolation.Level, r *infer.Reads) int64
	text  string
	// contract says that reads may be open for this since the contract promises too little: somebody
	// may write without a record, or values may repeat.
	contract bool
}

// openCauses are in the order in which equal ones are told. A cause of its own gets a row.
func (m *Machine) openCauses() []openReads {
	by := func(why infer.OpenRead) func(isolation.Level, *infer.Reads) int64 {
		return func(_ isolation.Level, r *infer.Reads) int64 { return r.Open[why] }
	}
	c := &m.cfg.Contract
	others := !c.Complete || c.UnmonitoredWriters
	return []openReads{
		{"repeating-values", by(infer.OpenRepeating), "the values of these keys repeat: record `version` with reads and writes (PostgreSQL: xmin)", c.Observed},
		{"found-nothing", m.absentOpen, m.nothingText(), others || c.Existing || c.DeletesUnseen || c.Observed},
		{
			"unrecorded-values",
			by(infer.OpenUnrecorded),
			"no record wrote what was seen: capture all writers, and declare unmonitored-writers=no, or record `version`",
			others || c.Existing || c.Observed,
		},
		{"several-writers", by(infer.OpenSeveral), "several transactions may have written what was seen: record `version`, or write values that are unique", c.Observed},
		{
			"one-writer",
			by(infer.OpenOne),
			"one transaction wrote what was seen. The clocks and other records leave open whether it was that write, or the same value before or after. Record `version`",
			c.Observed,
		},
		{
			"written-meanwhile",
			by(infer.OpenMeanwhile),
			"what was seen was written at the same time, by a transaction that had not read it: it may have been there already. Record `version`",
			c.Observed,
		},
		{
			"searched-values",
			m.choices.searchedOpen,
			"several transactions may have left what was seen, or nothing, and no order decides: record `version`, or write values that are unique",
			false,
		},
		{"no-writer", by(infer.OpenUnattributed), m.writerText(), others},
		{"no-version", by(infer.OpenNameless), "without `version`, which other operations on the key have: record it with every read", false},
		{
			"row-versions",
			by(infer.OpenRow),
			"a column of a row, and its version may be of a write of another column. Record the row under one key, with all its columns in the value",
			false,
		},
		{"counters", m.sums.countersOpen, m.counterText(), false},
		{"blind-writes", m.choices.misfitsOpen, "outside of the order in which blind writes left the window: record `version` or `prev_version`, or use a wider --window", false},
		{"not-checked", m.ignoredOpen, "of a kind of operation that is not checked, or of a key with two kinds. Record `kind` with reads of counters and sets, and `seen` with a failed cas", false},
		{
			"horizon",
			func(l isolation.Level, _ *infer.Reads) int64 { return m.levelChanges.horizonOf(l) },
			"of what is behind the window: replay the range, or use a wider --window",
			false,
		},
	}
}

// counterText says what decides reads of counters: versions, or a contract under which orders are tried.
func (o *core) counterText() string {
	const text = "of counters, and the order of the increments is not known: record `version` with reads, and with increments `prev_version` too"
	c := &o.cfg.Contract
	if c.ByVersion || c.NumericVersions || c.TrustCommitTS || c.SequentialKeys || c.LinearizableKeys {
		return text
	}
	var open []string
	for _, x := range []struct {
		missing bool
		say     string
	}{
		{!c.Complete, "capture=complete"}, {c.Existing, "start=empty"}, {c.UnmonitoredWriters, "unmonitored-writers=no"},
		{c.DeletesUnseen, "deletes=recorded"}, {c.Observed && o.cfg.Unbounded, "value-identity=unique"},
	} {
		if x.missing {
			open = append(open, x.say)
		}
	}
	if len(open) == 0 {
		return text
	}
	return text + ". Or declare " + listed(open) + " if that is true: then an order in time decides"
}

// writerText says of values that no record wrote where their writer may be.
func (o *core) writerText() string {
	if c := &o.cfg.Contract; c.UnmonitoredWriters || !c.Complete {
		return "no record wrote what was seen: that record is missing, or the writer is not captured"
	}
	return "no record wrote what was seen, and the contract allows no other writer: some client is not captured"
}

// nothingText says what decides the empty reads where somebody may have deleted. It does not
// ask for settings that the contract has already.
func (o *core) nothingText() string {
	c := &o.cfg.Contract
	const found = "found nothing where somebody "
	var where, too []string // to tell that nobody deleted; and, of a key that was deleted, who did
	if c.DeletesUnseen {
		where = append(where, "deletes=recorded")
	}
	if c.UnmonitoredWriters {
		where = append(where, "unmonitored-writers=no")
	}
	for _, x := range []struct {
		missing bool
		say     string
	}{
		{!c.Complete, "capture=complete"}, {c.Existing, "start=empty"}, {c.Observed, "value-identity=unique"},
	} {
		if x.missing {
			too = append(too, x.say)
		}
	}
	switch {
	case c.ByVersion || c.NumericVersions || c.TrustCommitTS || c.SequentialKeys || c.LinearizableKeys:
		return found + "may have deleted: record `version` with deletes, and with reads that find nothing, if the database has one for a row that is gone"
	case len(where) > 0:
		say := found + "may have deleted: "
		if c.DeletesUnseen {
			say += "record all deletes and "
		}
		say += "declare " + listed(where)
		if len(too) > 0 {
			say += ". Keys that recorded transactions delete need more: " + listed(too)
		}
		return say
	case len(too) > 0:
		return found + "had deleted: declare " + listed(too) + " if that is true"
	case o.cfg.Unbounded && o.infer.Counters.Missing() > 0:
		return found + "had deleted, and a record is missing or bad: with all records, orders are tried"
	case o.cfg.Unbounded:
		return found + "had deleted, and trying orders did not decide: a shorter history leaves fewer of them"
	}
	return found + "had removed an element, or had deleted a key that is not fully known: a check of the whole history tries more orders"
}

// listed is "a, b and c".
func listed(s []string) string {
	if len(s) < 2 {
		return strings.Join(s, "")
	}
	return strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
}

// Causes are the names of all, in their order.
func Causes() []string {
	var names []string
	for _, c := range new(Machine).openCauses() {
		names = append(names, c.cause)
	}
	return names
}

func (o *choices) searchedOpen(l isolation.Level, r *infer.Reads) int64 {
	if o.undecidedReads(l) == 0 {
		return 0
	}
	return r.Open[infer.OpenSearched]
}

func (o *core) absentOpen(l isolation.Level, r *infer.Reads) int64 {
	if o.absentHolds(l) {
		return 0
	}
	return r.Open[infer.OpenNothing]
}

func (s *sums) countersOpen(l isolation.Level, r *infer.Reads) int64 {
	if s.fits(l) {
		return 0
	}
	return r.Open[infer.OpenCounter] + r.Loose
}

// misfitsOpen are at most as many as there are reads.
func (o *choices) misfitsOpen(l isolation.Level, _ *infer.Reads) int64 {
	if o.cfg.Unbounded || l.Special != 0 || !l.Base.Chooses() {
		return 0
	}
	return o.leastMisfits(l)
}

func (o *core) ignoredOpen(_ isolation.Level, r *infer.Reads) int64 {
	return r.Open[infer.OpenUnchecked] + r.Open[infer.OpenDeleted]
}

// Decided says what part of the reads is decided at the level, over all that was seen.
func (m *Machine) Decided(l isolation.Level) Decided {
	r := m.infer.Reads()
	d := Decided{Reads: r.Total}
	if m.foundByTrial(l) {
		d.settle()
		return d
	}
	for _, c := range m.openCauses() {
		if n := c.count(l, &r); n > 0 {
			text := c.text
			if slices.Contains(inTimeDecides[:], c.cause) {
				text += m.timing.unfollowed(l)
			}
			if c.cause == "counters" {
				text += m.totalsText(l)
			}
			d.Why = append(d.Why, Why{c.cause, n, text})
		}
	}
	d.settle()
	return d
}

// inTimeDecides are the causes that vanish with an order in time of the whole stream.
var inTimeDecides = [...]string{"found-nothing", "counters", "searched-values", "several-writers", "repeating-values", "one-writer"}

// settle puts the causes into the order of their weight, and counts the share.
func (d *Decided) settle() {
	slices.SortStableFunc(d.Why, func(a, b Why) int { return cmp.Compare(b.Reads, a.Reads) })
	open := int64(0)
	for i := range d.Why {
		open += d.Why[i].Reads
	}
	if d.Share = 1; d.Reads > 0 {
		d.Share = float64(d.Reads-min(open, d.Reads)) / float64(d.Reads)
	}
}

// With has the counts of both together.
func (d Decided) With(o Decided) Decided {
	d.Why = slices.Clone(d.Why)
	d.Reads += o.Reads
	for _, w := range o.Why {
		if i := slices.IndexFunc(d.Why, func(x Why) bool { return x.Cause == w.Cause }); i >= 0 {
			d.Why[i].Reads += w.Reads
		} else {
			d.Why = append(d.Why, w)
		}
	}
	d.settle()
	return d
}

// Percent is the share in text, never more than it is: "98.7%".
func (d Decided) Percent() string {
	return strconv.FormatFloat(math.Floor(d.Share*1000)/10, 'f', -1, 64) + "%"
}
