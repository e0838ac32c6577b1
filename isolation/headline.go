package isolation

import (
	"fmt"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// summary is a finding in one sentence for a person who knows the application and not the
// field: who did what, by their ids and keys. It proves nothing; the explanation does.
func (n Name) summary(w *witness) string {
	if len(w.Edges) == 0 || len(w.Choices) > 0 || w.Anomaly == finding.CyclicVersions {
		return plainSentence(w)
	}
	rw := first(w, finding.RW)
	switch {
	case n.Anomaly == "lost-update" && rw != nil && overwrote(w, rw):
		return fmt.Sprintf("%s updated %s%s, and overwrote what %s had written since; that update was lost.", w.short(rw.From), shownKey(rw), wasBefore(w, rw), w.short(rw.To))
	case n.Anomaly == "lost-update" && rw != nil:
		return fmt.Sprintf("%s and %s both updated %s%s; one update was lost.", w.short(rw.From), w.short(rw.To), shownKey(rw), wasBefore(w, rw))
	case rw != nil && count(w, finding.RW) == 1 && last(w, rw).Label&finding.Realtime != 0 && len(w.Edges) == 2:
		back := last(w, rw)
		return fmt.Sprintf("%s read old data: it missed %s, which had ended %v before it began.", w.short(rw.From), change(w, rw), time.Duration(w.Txns[back.To].Start-w.Txns[back.From].End))
	case rw != nil && count(w, finding.RW) == 1 && last(w, rw).Label&finding.Process != 0 && len(w.Edges) == 2:
		return fmt.Sprintf("Session %s went back in time: %s missed %s, of the same session and earlier.", w.Txns[rw.From].Session, w.short(rw.From), change(w, rw))
	case rw != nil && count(w, finding.RW) == 1 && len(w.Edges) == 2 && last(w, rw).Label&finding.WR != 0:
		back := last(w, rw)
		return fmt.Sprintf("%s saw one part of %s and missed another: it read %s = %s, and missed %s.", w.short(rw.From), w.short(rw.To), back.Key, withVersion(w, rw.From, back.Key, back.Value), change(w, rw))
	case count(w, finding.RW) == 2 && len(w.Edges) == 2:
		return fmt.Sprintf("%s and %s each changed what the other one had read: %s.", w.short(w.Edges[0].From), w.short(w.Edges[1].From), keysOf(w))
	case rw == nil && len(w.Edges) == 2 && count(w, finding.WR) == 2:
		return fmt.Sprintf("%s and %s each read what the other one wrote: %s.", w.short(w.Edges[0].From), w.short(w.Edges[1].From), keysOf(w))
	case len(w.Edges) == 2 && count(w, finding.WW) == 2:
		return fmt.Sprintf("%s and %s overwrote each other: %s.", w.short(w.Edges[0].From), w.short(w.Edges[1].From), keysOf(w))
	case strings.HasPrefix(n.Anomaly, "G-nonadjacent") && strings.Contains(keysOf(w), ", "): // changes of one key are not independent
		return fmt.Sprintf("Two readers saw independent changes in different orders: %s.", keysOf(w))
	case rw != nil && count(w, finding.RW) == 1:
		return fmt.Sprintf("%s missed %s, although it had seen what came after it.", w.short(rw.From), change(w, rw))
	}
	return fmt.Sprintf("%d transactions each depend on the next, in a circle: no order of them explains what they read and wrote.", w.members())
}

// plainSentence is a witness without a cycle.
func plainSentence(w *witness) string {
	text := sentence(w)
	switch w.Anomaly {
	case finding.Internal:
		text = fmt.Sprintf("%s did not read what it had written to %s itself", w.short(0), w.Key)
	case finding.Nonrepeatable:
		text = fmt.Sprintf("%s read %s twice and got two answers", w.short(0), w.Key)
	case finding.G1a:
		text = fmt.Sprintf("%s read %s = %s, which was rolled back", w.short(0), w.Key, clip(w.Value))
	case finding.G1b:
		text = fmt.Sprintf("%s read %s = %s, which its writer replaced before it committed", w.short(0), w.Key, clip(w.Value))
	case finding.DirtyUpdate:
		text = fmt.Sprintf("%s holds %s, which was rolled back, and committed data that build on it", w.Key, clip(w.Value))
	case finding.Nonlinearizable:
		text = fmt.Sprintf("%s got an answer from %s that no order of the operations in time explains", w.short(0), w.Key)
	case finding.CyclicVersions:
		text = fmt.Sprintf("The known order of the versions of %s contradicts itself", w.Key)
	case finding.NoOrder:
		text = fmt.Sprintf("No order of %s read", finding.Counted(int64(w.members()), "transaction explains what it", "transactions explains what they"))
	default:
		if len(w.Choices) > 0 {
			text = fmt.Sprintf("No order of %s read and wrote", finding.Counted(int64(w.members()), "transaction explains what it", "transactions explains what they"))
		}
	}
	return text + "."
}

// first is the first edge with the label, nil if there is none.
func first(w *witness, l finding.Label) *finding.Dependency {
	for i := range w.Edges {
		if w.Edges[i].Label&l != 0 {
			return &w.Edges[i]
		}
	}
	return nil
}

// last is the edge that leads back to where e begins.
func last(w *witness, e *finding.Dependency) *finding.Dependency {
	for i := range w.Edges {
		if w.Edges[i].To == e.From {
			return &w.Edges[i]
		}
	}
	return e
}

func count(w *witness, l finding.Label) (n int) {
	for i := range w.Edges {
		if w.Edges[i].Label&l != 0 {
			n++
		}
	}
	return n
}

// shownKey is the key of the edge, or the set.
func shownKey(e *finding.Dependency) string {
	of := ofSet(e)
	return of.Key
}

// overwrote says whether who read the version of e wrote over what the other one left, which
// had read another version.
func overwrote(w *witness, e *finding.Dependency) bool {
	if back := last(w, e); back.From != e.To || back.Label&finding.WW == 0 {
		return false
	}
	p := plainly(w)
	a, read := externalRead(&p.Txns[e.From], e.Key)
	b, both := externalRead(&p.Txns[e.To], e.Key)
	return read && !(both && a.Nothing() == b.Nothing() && a.Value == b.Value)
}

// wasBefore is what was read, by both if both updated the same version.
func wasBefore(w *witness, e *finding.Dependency) string {
	p := plainly(w)
	if o, ok := externalRead(&p.Txns[e.From], e.Key); ok && o.Flags&(event.NotFound|event.IsArray) == 0 && o.Value != "" {
		return " from " + withVersion(w, e.From, e.Key, o.Value)
	}
	return ""
}

// withVersion is a text that tells a version of the key in the transaction: the value, and the
// version behind it where the text is the version's.
func withVersion(w *witness, txn int, key, text string) string {
	version := ""
	for i := range w.Txns[txn].Ops {
		switch o := &w.Txns[txn].Ops[i]; {
		case o.Key != key || text == "":
		case o.Version == text && o.Value != "" && o.Value != text:
			return fmt.Sprintf("%s (version %s)", clip(o.Value), clip(text))
		case o.PrevVersion == text:
			version = "version "
		}
	}
	return version + clip(text)
}

// change is what the writer of an anti-dependency did.
func change(w *witness, e *finding.Dependency) string {
	of := ofSet(e)
	if of.Value == "" {
		return fmt.Sprintf("that %s deleted %s", w.short(e.To), of.Key)
	}
	return fmt.Sprintf("%s = %s of %s", of.Key, withVersion(w, e.To, of.Key, of.Value), w.short(e.To))
}

// keysOf are the keys of the cycle, each once, four at most.
func keysOf(w *witness) string {
	var keys []string
	for i := range w.Edges {
		key := shownKey(&w.Edges[i])
		if key != "" && !strings.Contains(strings.Join(keys, "\n")+"\n", key+"\n") {
			keys = append(keys, key)
		}
	}
	if len(keys) > 4 {
		return fmt.Sprintf("%s and %s", strings.Join(keys[:4], ", "), finding.Counted(int64(len(keys)-4), "more key", "more keys"))
	}
	return strings.Join(keys, ", ")
}
