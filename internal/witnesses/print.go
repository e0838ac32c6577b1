package witnesses

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// Text is w in the form that [Parse] reads, without what is to be said of it.
func (w *Witness) Text() string {
	var b strings.Builder
	if s := w.settings(); s != "" {
		b.WriteString("set" + s + "\n")
	}
	for i := range w.Members {
		m := &w.Members[i]
		head, ops, _ := strings.Cut(m.Txn.Text(), ":")
		if m.Epoch != "" {
			head += " epoch=" + m.Epoch
		}
		if m.Commit != 0 {
			head += fmt.Sprintf(" commit=%d", m.Commit)
		}
		if m.Stale {
			head += " stale"
		}
		b.WriteString(head + ":" + ops + "\n")
	}
	for i := range w.Rest.Edges {
		e := &w.Rest.Edges[i]
		fmt.Fprintf(&b, "edge %d: %s\n", i+1, w.edgeText(e))
		for j := range e.Past {
			fmt.Fprintf(&b, "edge %d.%d: %s\n", i+1, j+1, w.edgeText(&e.Past[j]))
		}
	}
	for i, c := range w.Rest.Choices {
		fmt.Fprintf(&b, "choice %d: %s %s", i+1, c.Key, w.Members[c.A].ID)
		if len(c.Writers) == 0 {
			b.WriteString(" " + w.Members[c.B].ID)
		} else {
			b.WriteString(" from")
		}
		for _, t := range c.Writers {
			b.WriteString(" " + w.Members[t].ID)
		}
		b.WriteByte('\n')
	}
	for i, r := range w.Rest.Repeated {
		fmt.Fprintf(&b, "repeated %d: %s %s\n", i+1, w.Members[r.Txn].ID, r.Key)
	}
	return b.String()
}

func (w *Witness) settings() (s string) {
	r := &w.Rest
	if r.Anomaly != 0 {
		s += " anomaly=" + r.Anomaly.String()
	}
	for _, x := range [...]struct{ name, value string }{{"key", r.Key}, {"value", r.Value}, {"level", r.Level}} {
		if x.value != "" {
			s += " " + x.name + "=" + x.value
		}
	}
	if r.Op != 0 {
		s += fmt.Sprintf(" op=%d", r.Op)
	}
	if r.Drift != 0 {
		s += fmt.Sprintf(" drift=%d", r.Drift)
	}
	for _, x := range [...]struct {
		name string
		is   bool
	}{{"rows", r.Rows}, {"vacant", r.Vacant}, {"strangers", r.Strangers}, {"by-version", r.ByVersion}, {"numeric", r.Numeric}, {"by-commit", r.ByCommit}} {
		if x.is {
			s += " " + x.name + "=true"
		}
	}
	return s
}

func (w *Witness) edgeText(e *finding.Dependency) string {
	var words []string
	for _, l := range labels {
		if e.Label&l.label != 0 {
			words = append(words, l.word)
		}
	}
	label := strings.Join(words, "+")
	if label == "" {
		label = "none"
	}
	if e.Key != "" {
		label += " " + e.Key
		if e.Value != "" {
			label += "=" + e.Value
		}
	}
	text := fmt.Sprintf("%s -%s-> %s", w.Members[e.From].ID, label, w.Members[e.To].ID)
	if e.Shown >= 0 {
		text += " shown=" + w.Members[e.Shown].ID
	}
	if e.Assumed {
		text += " assumed"
	}
	return text
}
