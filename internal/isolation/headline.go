package isolation

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// summary is a finding in one sentence for a person who knows the application and not the
// field. It names transactions and keys by their ids, and tells what they did. It proves
// nothing; the explanation does. edges are the ones that the finding prints.
func (n Name) summary(w *witness, edges []shownEdge) string {
	inHeadline := *w
	w = &inHeadline
	w.byID = true
	switch {
	case w.Anomaly == finding.CyclicVersions || len(edges) == 0 && len(w.Choices) == 0:
		return plainSentence(w)
	case len(edges) == 0 || slices.ContainsFunc(edges, func(e shownEdge) bool { return e.Assumed }):
		return n.withoutOrder(w, edges)
	}
	return n.cycleSentence(w.only(edges), edges)
}

// cycleSentence is a cycle without assumptions.
func (n Name) cycleSentence(w *witness, edges []shownEdge) string {
	rw := first(w, finding.RW)
	switch {
	case n.Anomaly == "lost-update" && rw != nil:
		return lostSentence(w, rw)
	case rw != nil && count(w, finding.RW) == 1:
		return missedSentence(w, rw)
	case len(w.Edges) == 2 && count(w, finding.RW) == 2:
		return fmt.Sprintf("%s each changed what the other one had read: %s.", whoOf(w), keysOf(w))
	case len(w.Edges) == 2 && rw == nil && count(w, finding.WR) == 2:
		return fmt.Sprintf("%s each read what the other one wrote: %s.", whoOf(w), keysOf(w))
	case len(w.Edges) == 2 && count(w, finding.WW) == 2:
		return fmt.Sprintf("%s overwrote each other: %s.", whoOf(w), keysOf(w))
	case strings.HasPrefix(n.Anomaly, "G-nonadjacent") && strings.Contains(keysOf(w), ", "): // changes of one key are not independent
		return fmt.Sprintf("%s saw independent changes in different orders: %s.", group(readersOf(w), count(w, finding.RW)), keysOf(w))
	}
	return n.withoutOrder(w, edges)
}

// missedSentence is a cycle with one anti-dependency: what a reader missed.
func missedSentence(w *witness, rw *finding.Dependency) string {
	back := last(w, rw)
	two := back.From == rw.To && back.To == rw.From // the others are premises
	switch {
	case two && back.Label&finding.Realtime != 0:
		return fmt.Sprintf(
			"%s read old data: it missed %s, which had ended %s before it began.",
			w.short(rw.From),
			change(w, rw),
			finding.Lasting(time.Duration(w.Txns[back.To].Start-w.Txns[back.From].End)),
		)
	case two && back.Label&finding.Process != 0:
		return fmt.Sprintf("Session %s went back in time: %s missed %s, of the same session and earlier.", w.Txns[rw.From].Session, w.short(rw.From), change(w, rw))
	case two && back.Label&finding.WR != 0:
		return fmt.Sprintf(
			"%s saw one part of %s and missed another: it read %s, and missed %s.",
			w.short(rw.From),
			w.short(rw.To),
			holds(ofSet(back).Key, withVersion(w, rw.From, back.Key, ofSet(back).Value)),
			change(w, rw),
		)
	}
	return fmt.Sprintf("%s missed %s, although it had seen what came after it.", w.short(rw.From), change(w, rw))
}

// withoutOrder says who and which keys fit in no order: of more than two transactions, or of orders
// that are supposed.
func (n Name) withoutOrder(w *witness, edges []shownEdge) string {
	v := w.only(edges)
	who, keys := idsOf(v), keysOf(v)
	if len(edges) == 0 {
		who, keys = nil, keysOfChoices(w)
		for _, c := range w.Choices[:min(len(w.Choices), mostNamed)] {
			if who = addName(who, w.short(c.A)); len(c.Writers) == 0 {
				who = addName(who, w.short(c.B))
			}
		}
	}
	for i := 0; i < w.members() && len(who) < mostNamed; i++ { // the others are those whom the argument needs
		who = addName(who, w.short(i))
	}
	kept := ""
	switch {
	case strings.HasSuffix(n.Anomaly, "-process"):
		kept = " that keeps sessions"
	case strings.HasSuffix(n.Anomaly, "-realtime"):
		kept = " that keeps real time"
	}
	return fmt.Sprintf("No order%s explains what %s read and wrote of %s.", kept, group(who, w.members()), keys)
}

// plainSentence is a witness without a cycle.
func plainSentence(w *witness) string {
	text, b := "", w.short(len(w.Txns)-1)
	if row := rowOf(w.Anomaly); row.headline != "" {
		text = w.fill(row.headline)
	} else {
		text = sentence(w)
	}
	if w.members() > 1 && !strings.Contains(text, w.short(1)) && !strings.Contains(text, b) {
		text += ", beside " + w.groupFrom(1)
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

// shownKey is the key of the edge, or the set, as a sentence tells it.
func shownKey(e *finding.Dependency) string {
	of := ofSet(e)
	return keyName(of.Key)
}

// lostSentence is a lost update. Two "both updated" a version that both read and both replaced.
func lostSentence(w *witness, rw *finding.Dependency) string {
	a, b, key := w.short(rw.From), w.short(rw.To), shownKey(rw)
	switch back := last(w, rw); {
	case sameVersion(w, rw) && !overwrote(w, back):
		return fmt.Sprintf("%s and %s both updated %s%s; one update was lost.", a, b, key, wasBefore(w, rw))
	case back.Label&finding.WW != 0:
		return fmt.Sprintf("%s updated %s%s, and overwrote %s; that update was lost.", a, key, wasBefore(w, rw), leftSince(w, back))
	}
	return fmt.Sprintf("%s updated %s%s, and did not see the update of %s; one update was lost.", a, key, wasBefore(w, rw), b)
}

// sameVersion says whether both ends of e read the same version, and the one wrote over the other.
func sameVersion(w *witness, e *finding.Dependency) bool {
	p := plainly(w)
	a, read := external.Read(&p.Txns[e.From], e.Key)
	b, both := external.Read(&p.Txns[e.To], e.Key)
	if read && both {
		return a.Nothing() == b.Nothing() && a.Value == b.Value
	}
	back := last(w, e) // lists and counters have no such reads
	return !read || back.From == e.To && back.Label&finding.WW == 0
}

// overwrote says whether the edge is one from a write to a write over it, and not to an append.
func overwrote(w *witness, e *finding.Dependency) bool {
	p := plainly(w)
	_, from := external.FinalWrite(&p.Txns[e.From], e.Key)
	_, to := external.FinalWrite(&p.Txns[e.To], e.Key)
	return e.Label&finding.WW != 0 && from && to
}

// leftSince is the version at the begin of the edge, which was overwritten unseen.
func leftSince(w *witness, e *finding.Dependency) string {
	p := plainly(w)
	if o, ok := external.FinalWrite(&p.Txns[e.From], e.Key); ok && o.Flags&event.NotFound == 0 && o.Value != "" {
		return fmt.Sprintf("%s, which %s had written since", withVersion(w, e.From, e.Key, o.Value), w.short(e.From))
	}
	return fmt.Sprintf("what %s had written since", w.short(e.From))
}

// wasBefore is the version that was read, by both if both updated the same version.
func wasBefore(w *witness, e *finding.Dependency) string {
	p := plainly(w)
	if o, ok := external.Read(&p.Txns[e.From], e.Key); ok && o.Flags&(event.NotFound|event.IsArray) == 0 && o.Value != "" {
		return " from " + withVersion(w, e.From, e.Key, o.Value)
	}
	return ""
}

// withVersion is a text for a version of the key in the transaction. It has the value, and the
// version behind it where the text is the version's. It leaves out a hash that says nothing.
func withVersion(w *witness, txn int, key, text string) string {
	version := false
	for i := range w.Txns[txn].Ops {
		switch o := &w.Txns[txn].Ops[i]; {
		case text == "":
		case o.Kind == event.Range:
			if r := shownRow(o, key); r != nil && r.Version == text && r.Value != text {
				return valueOfVersion(r.Value, text)
			}
		case o.Key != key:
		case o.Version == text && o.Kind == event.Inc: // its value is the amount added
			version = true
		case o.Version == text && o.Flags&event.NotFound != 0:
			return fmt.Sprintf("nothing (version %s)", clip(versionName(text)))
		case o.Version == text && o.Value != "" && o.Value != text:
			return valueOfVersion(o.Value, text)
		case o.PrevVersion == text:
			version = true
		}
	}
	if version {
		return "version " + clip(versionName(text))
	}
	return clip(text)
}

// valueOfVersion is a value with its version.
func valueOfVersion(value, version string) string {
	if hashed(value) && !hashed(version) {
		return "version " + clip(versionName(version))
	}
	return fmt.Sprintf("%s (version %s)", clip(value), clip(versionName(version)))
}

// shownRow is the row of the key that the range shows, nil if there is none.
func shownRow(o *event.RecordOp, key string) *event.RecordRow {
	if i := slices.IndexFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == key }); i >= 0 {
		return &o.Rows[i]
	}
	return nil
}

// hashed says whether the text looks like what capture writes in place of a value: 16 bytes in
// base64. It says nothing to a person.
func hashed(text string) bool {
	if len(text) != 24 || text[0] != '"' || text[23] != '"' {
		return false
	}
	sum, err := base64.RawURLEncoding.DecodeString(text[1:23])
	return err == nil && len(sum) == 16
}

// holds says that the key had what the text of withVersion tells.
func holds(key, text string) string {
	if strings.HasPrefix(text, "version ") {
		return text + " of " + keyName(key)
	}
	return keyName(key) + " = " + text
}

// change is the write at the end of an anti-dependency.
func change(w *witness, e *finding.Dependency) string {
	of := ofSet(e)
	if of.Value == "" {
		return fmt.Sprintf("that %s deleted %s", w.short(e.To), keyName(of.Key))
	}
	text := withVersion(w, e.To, of.Key, of.Value)
	if strings.HasPrefix(text, "version ") {
		return fmt.Sprintf("%s by %s", holds(of.Key, text), w.short(e.To))
	}
	return fmt.Sprintf("%s of %s", holds(of.Key, text), w.short(e.To))
}
