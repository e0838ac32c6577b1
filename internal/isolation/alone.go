package isolation

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// alone is a row: all that this package knows of an anomaly without a cycle. Its texts have blanks, where
// $a and $b stand for the first and the last transaction of the witness.
type alone struct {
	anomaly  string       // its name; "": it is told as a horizon finding
	title    string       // "": the title of the name
	kind     finding.Kind // "": a violation
	weakest  []Level
	class    class  // the class of cycles that is as severe
	headline string // "": text
	text     string
	says     func(w *witness, a, b string) string // in place of text
	rests    func(b *Basis, w *finding.Witness)   // nil: on its edges, choices, and reads of its key
	oneKey   bool                                 // linearizability falls with it
	value    bool                                 // another writer of its value refutes the finding
	versions int                                  // how many of its versions rest on who read them: none, one or both
}

// withoutCycle is the table of these anomalies. To add one: a kind in finding/kind.go, a row here, a rule in
// internal/verify, a page in docs/anomalies, and what finds it.
var withoutCycle = map[finding.AnomalyKind]*alone{
	finding.Internal: {
		anomaly: "internal", title: "own write not read", weakest: each(MonotonicAtomicView), class: classG0, oneKey: true, // MTC, figure 5
		rests:    onNothing,
		text:     "operation $op of $a read $key and did not get what it had just written: $did",
		headline: "$a did not read what it had written to $key itself",
	},
	finding.Nonrepeatable: {
		anomaly: "internal", title: "non-repeatable read", class: classG0, oneKey: true, // MTC, figure 5
		weakest:  each(ReadAtomic, RepeatableRead), // two versions: one is overwritten, and both were read
		rests:    onNothing,
		text:     "operation $op of $a read $key again and got another $answer: $did",
		headline: "$a read $key twice and got two $answers",
	},
	finding.Divergence: {anomaly: "lost-update", weakest: each(ConsistentView), class: classSingle, oneKey: true, versions: 1},
	finding.G1a: {
		anomaly: "G1a", weakest: each(ReadCommitted), class: classG0, oneKey: true, value: true,
		rests:    onOneWriter,
		text:     "$a read $value of $key, which only $b wrote, and $b aborted",
		headline: "$a read $key = $plain of $b, and $b was rolled back",
	},
	finding.G1b: {
		anomaly: "G1b", weakest: each(ReadCommitted), class: classG0, oneKey: true, versions: 1,
		rests:    func(b *Basis, w *finding.Witness) { b.read(w, w.Key, 0) },
		text:     "$a read $value of $key, which $b wrote and then overwrote",
		headline: "$a read $key = $plain of $b, which $b replaced before it committed",
	},
	finding.DirtyUpdate: {
		anomaly: "dirty-update", weakest: each(ReadCommitted), class: classG0, oneKey: true, value: true,
		rests:    onAbsence,
		text:     "$a read $value of the aborted $b in $key, before an append that committed",
		headline: "$a read $plain in $key: $b was rolled back, and what it had added is below committed data",
	},
	finding.IncompatibleOrder: {
		anomaly: "incompatible-order", weakest: each(ReadCommitted), class: classG0, oneKey: true, versions: 2,
		rests: onApart,
		says: func(w *witness, _, _ string) string {
			if outOfOrder(w.Witness) {
				return w.fill("$a saw an element of $b in $key, and not behind what $b had appended before")
			}
			return w.fill("$a and $b saw the elements of $key in orders that contradict each other")
		},
	},
	finding.DuplicateElements: {
		anomaly: "duplicate-elements", weakest: each(ReadUncommitted), class: classG0, oneKey: true, value: true,
		rests: onAbsence,
		text:  "$a read $value twice in $key, and it was appended once",
	},
	finding.FutureRead: {
		anomaly: "future-read", weakest: each(ReadCommitted), class: classG0, oneKey: true, value: true,
		rests: onOneWriter,
		text:  "$a read $value of $key before it wrote it itself",
	},
	finding.GarbageRead: {
		anomaly: "garbage-read", weakest: each(ReadCommitted), class: classG0, oneKey: true, value: true, // the writer may have aborted
		rests: onAbsence,
		text:  "$a read $value of $key, which no transaction wrote$spelling",
	},
	finding.CyclicVersions: {
		anomaly: "cyclic-versions", weakest: each(ReadUncommitted), class: classG0,
		text:     "$a replaced a version of $key that does not come before its own version, $value, in the given order",
		headline: "The known order of the versions of $key contradicts itself: see $group",
	},
	finding.OutOfBounds: {
		anomaly: "garbage-read", weakest: each(ReadCommitted), class: classG0,
		rests: onAbsence,
		says: func(w *witness, a, b string) string {
			if a == b {
				return w.fill("$a read $value of $key, and no set of increments has that sum")
			}
			return w.fill("$a read $value of $key, and no increments lead from there to what $b read, or back")
		},
	},
	finding.WrongTotal: {
		anomaly: "G-single-item", weakest: each(ReadAtomic), class: classSingle,
		rests: onAbsence,
		says: func(w *witness, a, b string) string {
			return fmt.Sprintf(
				"%s read a total of %d and %s one of %d. Every transaction only moves amounts between these counters, so one of the two saw part of a transaction, or a state that no transaction left",
				a,
				totalOf(&w.Txns[0], &w.Txns[1]),
				b,
				totalOf(&w.Txns[1], &w.Txns[0]),
			)
		},
		headline: "$a and $b read totals of $totals of $keys, among which transactions only move amounts",
	},
	finding.Nonlinearizable: {
		anomaly:  "nonlinearizable",
		weakest:  []Level{{Special: Linearizable}},
		text:     "no order of the operations on $key up to the end of $a explains their answers, with each between its start and its end. Two searches, of all orders and of all possible states, found none",
		headline: "No order in time explains the answers that $group got from $key",
	},
	finding.NoOrder: {
		rests:    onAbsence,
		says:     func(w *witness, _, _ string) string { return triedSentence(w) },
		headline: "No order explains what $group read of $keys",
	},
	finding.UnattributedRead: {
		anomaly: "unattributed-read", kind: finding.KindRecord,
		text: "$a read or replaced $value of $key, which no record wrote; a record may be missing",
	},
	finding.Contradictory: {
		anomaly: "contradictory-record", kind: finding.KindRecord,
		text: "a second record has the id of $a and other content; the first one is kept",
	},
	finding.SessionOverlap: {
		anomaly: "session-not-sequential", kind: finding.KindRecord,
		says: func(w *witness, a, b string) string {
			shown := NotSequential(&w.Txns[0], &w.Txns[len(w.Txns)-1], a, b)
			return cmp.Or(shown, a+" and "+b+" of one session overlap") + ": it is not a single-threaded client, and its order is not used"
		},
	},
	finding.SequenceGap: {anomaly: "gap", kind: finding.KindGap, text: "records of this session before $a are missing"},
}

// beyondHorizon is the row of all kinds that are in no other.
var beyondHorizon = &alone{anomaly: "horizon", kind: finding.KindHorizon, text: "the order of $a cannot be decided from what is kept"}

func rowOf(kind finding.AnomalyKind) *alone {
	if r := withoutCycle[kind]; r != nil {
		return r
	}
	return beyondHorizon
}

func each(bases ...Base) (levels []Level) {
	for _, b := range bases {
		levels = append(levels, Level{Base: b})
	}
	return levels
}

// onNothing: the operations of one transaction show it.
func onNothing(*Basis, *finding.Witness) {}

// onAbsence: nobody else wrote it.
func onAbsence(b *Basis, _ *finding.Witness) { b.Absence = true }

// onOneWriter: the value names its writer, and nobody else wrote it.
func onOneWriter(b *Basis, w *finding.Witness) {
	b.Absence = true
	b.read(w, w.Key, 0)
}

// onApart: two reads of a list share no element, and nobody deleted it between them. Between two appends
// of one transaction nobody did, or there is a write cycle.
func onApart(b *Basis, w *finding.Witness) {
	if outOfOrder(w) {
		b.read(w, w.Key, 0)
		b.read(w, w.Key, len(w.Txns)-1)
		return
	}
	b.Absence = apart(w, func(string) bool { return true })
	if b.List = apart(w, func(e string) bool { return b.once(w.Key, e) }); b.List {
		b.Missed = append(b.Missed, Missed{Key: w.Key})
	}
}

// blanks are the words that fill replaces. A longer one comes before one that begins it.
var blanks = []struct {
	name string
	says func(w *witness) string
}{
	{"$keys", func(w *witness) string { return keyList(keysRead(w)) }},
	{"$key", func(w *witness) string { return keyName(w.Key) }},
	{"$value", func(w *witness) string { return withVersion(w, 0, w.Key, w.Value) }},
	{"$plain", func(w *witness) string { return clip(w.Value) }},
	{"$spelling", func(w *witness) string {
		if w.Spelling == "" {
			return ""
		}
		return fmt.Sprintf(": %s was written, which is the same in another spelling", clip(w.Spelling))
	}},
	{"$op", func(w *witness) string { return strconv.Itoa(w.Op + 1) }},
	{"$did", func(w *witness) string { return Operation(&w.Txns[0].Ops[w.Op]) }},
	{"$group", func(w *witness) string { return w.groupFrom(0) }},
	{"$totals", func(w *witness) string {
		return fmt.Sprintf("%d and %d", totalOf(&w.Txns[0], &w.Txns[1]), totalOf(&w.Txns[1], &w.Txns[0]))
	}},
	{"$answers", func(w *witness) string { return differs(w) + "s" }},
	{"$answer", differs},
	{"$a", func(w *witness) string { return w.short(0) }},
	{"$b", func(w *witness) string { return w.short(len(w.Txns) - 1) }},
}

// differs says what differs between two reads of the key: only the version, if the values are the same.
func differs(w *witness) string {
	again := &w.Txns[0].Ops[w.Op]
	for i := range w.Txns[0].Ops[:w.Op] {
		o := &w.Txns[0].Ops[i]
		if o.Key == again.Key && o.Kind == again.Kind && o.Value == again.Value && o.Flags&event.NotFound == again.Flags&event.NotFound && o.Version != again.Version {
			return "version"
		}
	}
	return "answer"
}

// fill puts what the witness says into a text of the table.
func (w *witness) fill(text string) string {
	var pairs []string
	for i := range blanks {
		if b := &blanks[i]; strings.Contains(text, b.name) {
			pairs = append(pairs, b.name, b.says(w))
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// NotSequential says what shows that x and y, two transactions of one session, came from two clients: "" where nothing does.
// a and b are their names.
func NotSequential(x, y *event.Record, a, b string) string {
	timed := x.Flags&y.Flags&event.HasTimes != 0
	switch numbered := x.Flags&y.Flags&event.HasSeq != 0; {
	case timed && x.Start < y.End && y.Start < x.End:
		return fmt.Sprintf("%s and %s of one session overlap", a, b)
	case numbered && x.Seq == y.Seq:
		return fmt.Sprintf("%s and %s of one session have the same seq, %d", a, b, x.Seq)
	case timed && numbered && (x.Seq < y.Seq) == (y.End <= x.Start):
		return fmt.Sprintf("%s and %s of one session have another order by seq than by time", a, b)
	}
	return ""
}

// sentence says what is wrong for findings that are not cycles.
func sentence(w *witness) string {
	row := rowOf(w.Anomaly)
	if row.says != nil {
		return row.says(w, w.short(0), w.short(len(w.Txns)-1))
	}
	return w.fill(row.text)
}

// NameOf names what inference found without a cycle.
func NameOf(kind finding.AnomalyKind) Name {
	row := rowOf(kind)
	if row.anomaly == "" {
		row = beyondHorizon
	}
	n := Name{Anomaly: row.anomaly, Title: row.title, Kind: row.kind, Severity: int(row.class)}
	n.Weakest = append(n.Weakest, row.weakest...)
	if n.Kind == "" {
		n.Kind = finding.KindViolation
	}
	if n.Title == "" {
		n.Title = TitleOf(row.anomaly)
	}
	return n
}

// TakenBy says what can take a finding of this kind away. value: another writer of its value. n:
// how many of its versions other readers can do it with, first Version, then Other.
func TakenBy(kind finding.AnomalyKind) (value bool, n int) {
	row := rowOf(kind)
	return row.value, row.versions
}
