package isolation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// Explain writes the witness in the form that Elle introduced (elle.core and elle.txn: Let,
// Then, because, However). It gives names to the transactions, and one sentence of evidence for
// each edge. The last edge contradicts the others.
func Explain(w *witness, headline string) string {
	var b strings.Builder
	b.WriteString(headline)
	b.WriteString("\n\nLet:\n")
	for i := range w.Txns {
		if !w.inner(i) {
			fmt.Fprintf(&b, "  %s = %s\n", w.short(i), w.describe(i))
		}
	}
	b.WriteString("\nThen:\n")
	if len(w.Choices) > 0 {
		explainChoices(w, &b)
		return b.String()
	}
	if len(w.Edges) == 0 {
		fmt.Fprintf(&b, "  - %s\n", sentence(w))
		return b.String()
	}
	for i := range w.Edges {
		e := &w.Edges[i]
		if i == len(w.Edges)-1 {
			fmt.Fprintf(&b, "  - However, %s < %s, because %s: a contradiction!\n", w.short(e.From), w.short(e.To), w.reason(i))
		} else {
			fmt.Fprintf(&b, "  - %s < %s, because %s.\n", w.short(e.From), w.short(e.To), w.reason(i))
		}
	}
	return b.String()
}

// short is the name of the i-th transaction: its id where all ids are short, otherwise T1, T2
// and so on.
func (w *witness) short(i int) string {
	if w.byID {
		return w.headlineID(i)
	}
	for j := range w.Txns {
		if len(w.Txns[j].ID) > 20 {
			return fmt.Sprintf("T%d", i+1)
		}
	}
	return w.Txns[i].ID
}

// describe is one line for a transaction: id, name, session, endpoint, outcome, operations.
func (w *witness) describe(i int) string {
	t := &w.Txns[i]
	var about []string
	if w.short(i) != t.ID {
		about = append(about, t.ID)
	}
	if t.Name != "" {
		about = append(about, "named "+clip(t.Name))
	}
	if t.Session != "" {
		s := "session " + t.Session
		if t.Flags&event.HasSeq != 0 {
			s += fmt.Sprintf(" #%d", t.Seq)
		}
		about = append(about, s)
	}
	if on := t.Labels[finding.EndpointLabel]; on != "" {
		about = append(about, "on "+on)
	}
	if t.Status != event.Committed {
		about = append(about, t.Status.String())
	}
	var b strings.Builder
	b.WriteString(strings.Join(about, ", "))
	if len(about) > 0 {
		b.WriteString(": ")
	}
	told := w.told(t)
	for n, i := range told {
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Operation(&t.Ops[i]))
	}
	if left := len(t.Ops) - len(told); left > 0 {
		b.WriteString(" and " + finding.Counted(int64(left), "more operation", "more operations"))
	}
	return b.String()
}

// mostTold bounds the operations that an explanation lists of a transaction.
const mostTold = 12

// told are the operations of t to list, in their order: all, or as many as there is room for.
// Operations on the witness's keys come before others.
func (w *witness) told(t *event.Record) []int {
	var about, others []int
	for i := range t.Ops {
		if len(t.Ops) <= mostTold || w.isAbout(t.Ops[i].Key) {
			about = append(about, i)
		} else if len(others) < mostTold {
			others = append(others, i)
		}
	}
	if len(t.Ops) <= mostTold {
		return about
	}
	about = append(about, others...)[:mostTold]
	slices.Sort(about)
	return about
}

// isAbout says whether the key is one that the witness's edges or choices are over.
func (w *witness) isAbout(key string) bool {
	over := func(e finding.Dependency) bool { return e.Key == key }
	return w.Key == key || slices.ContainsFunc(w.Choices, func(c finding.Choice) bool { return c.Key == key }) ||
		slices.ContainsFunc(w.Edges, func(e finding.Dependency) bool { return over(e) || slices.ContainsFunc(e.Past, over) })
}

// Operation is an operation as explanations print it, with its versions: "w x 1 (version 7)". A long value is cut in
// its middle.
func Operation(o *event.RecordOp) string { return operation(o) + versionText(o) }

func operation(o *event.RecordOp) string {
	value := o.Value
	if o.Flags&event.NotFound != 0 {
		value = "nothing"
	}
	switch o.Kind {
	case event.Read:
		return fmt.Sprintf("r %s %s", oneWord(o.Key), clip(value))
	case event.Write:
		return fmt.Sprintf("w %s %s", oneWord(o.Key), clip(value))
	}
	return otherOperation(o)
}

// oneWord is a key between other words.
func oneWord(key string) string { return finding.OneWord(key) }

// wordWithout is oneWord, where further signs would end a key.
func wordWithout(key, signs string) string {
	if signs != "" && strings.ContainsAny(key, signs) {
		return strconv.Quote(key)
	}
	return oneWord(key)
}

// clip keeps long values readable; the record itself is kept whole.
func clip(v string) string {
	const most = 80
	if len(v) <= most {
		return v
	}
	head, tail := most/2, len(v)-most/2+3
	for head > 0 && !utf8.RuneStart(v[head]) {
		head--
	}
	for tail < len(v) && !utf8.RuneStart(v[tail]) {
		tail++
	}
	return v[:head] + "..." + v[tail:]
}

func because(w *witness, e *finding.Dependency) string {
	of := ofSet(e)
	e = &of
	from, to := w.short(e.From), w.short(e.To)
	if chained(e) {
		return chainSentence(w, e)
	}
	if text := visitsBecause(w, e); text != "" {
		return text
	}
	if text := namedBecause(w, e); text != "" {
		return text
	}
	if text := otherBecause(w, e); text != "" {
		return text
	}
	switch {
	case e.Label&finding.Saturated != 0:
		return pastSentence(w, e)
	case e.Assumed && e.Label&finding.RW != 0:
		return fmt.Sprintf("%s read %s as it was before the write of %s, supposed to come later", from, keyName(e.Key), to)
	case e.Assumed:
		return fmt.Sprintf("%s is supposed to have written %s before %s did", from, keyName(e.Key), to)
	case e.Label&finding.Process != 0:
		return fmt.Sprintf("session %s ran %s before %s", w.Txns[e.From].Session, from, to)
	case e.Label&finding.Realtime != 0:
		return fmt.Sprintf("%s had ended %s before %s began", from, finding.Lasting(time.Duration(w.Txns[e.To].Start-w.Txns[e.From].End)), to)
	case e.Label&finding.RW != 0 && external.Appended(&w.Txns[e.To], e.Key, e.Value) && w.Anomaly == finding.Divergence:
		return fmt.Sprintf("%s read %s as it was before %s appended %s", from, keyName(e.Key), to, clip(e.Value))
	case e.Label&finding.RW != 0 && external.Appended(&w.Txns[e.To], e.Key, e.Value):
		return fmt.Sprintf("%s read %s without %s, which %s appended", from, keyName(e.Key), clip(e.Value), to)
	case e.Label&finding.RW != 0:
		return fmt.Sprintf("%s read %s, which %s overwrote with %s", from, holds(e.Key, withVersion(w, e.From, e.Key, readText(w, e))), to, withVersion(w, e.To, e.Key, e.Value))
	case e.Label&finding.WR != 0 && e.Label&finding.WW != 0:
		return fmt.Sprintf("%s read %s, which %s wrote, and overwrote it", to, holds(e.Key, withVersion(w, e.To, e.Key, e.Value)), from)
	case e.Label&finding.WR != 0:
		return fmt.Sprintf("%s read %s of %s, which %s wrote", to, withVersion(w, e.To, e.Key, e.Value), keyName(e.Key), from)
	case e.Shown >= 0:
		return fmt.Sprintf("the read of %s by %s shows that %s appended before %s appended %s", keyName(e.Key), w.short(e.Shown), from, to, clip(e.Value))
	}
	return fmt.Sprintf("%s read and overwrote what %s left in %s", to, from, keyName(e.Key))
}

// namedBecause is the evidence for an edge where a write itself names the version that it
// replaced, and its transaction had not read it. It is "" for any other edge.
func namedBecause(w *witness, e *finding.Dependency) string {
	if e.Assumed || e.Label&(finding.RW|finding.WW) == 0 || w.Numeric || w.ByCommit {
		return ""
	}
	p := plainly(w)
	from, to := w.short(e.From), w.short(e.To)
	if e.Label&finding.RW != 0 {
		if before, unread := replacedUnread(w, p, e.From, e.Key); unread && !(readsAnother(p, e.From, e.Key) && w.Anomaly != finding.Divergence) {
			return fmt.Sprintf("%s overwrote %s, and %s did so too", from, holds(e.Key, withVersion(w, e.From, e.Key, before)), to)
		}
		return ""
	}
	before, unread := replacedUnread(w, p, e.To, e.Key)
	switch {
	case !unread || e.Label&finding.WR != 0 && before != e.Value:
		return ""
	case readsAnother(p, e.To, e.Key):
		return fmt.Sprintf("%s overwrote what %s left in %s, and had read another version", to, from, keyName(e.Key))
	}
	return fmt.Sprintf("%s overwrote %s, which %s wrote", to, holds(e.Key, withVersion(w, e.To, e.Key, before)), from)
}
