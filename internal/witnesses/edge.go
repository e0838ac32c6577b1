package witnesses

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// labels are the words for what an edge is.
var labels = [...]struct {
	label finding.Label
	word  string
}{
	{finding.WW, "ww"}, {finding.WR, "wr"}, {finding.RW, "rw"}, {finding.Process, "process"}, {finding.Realtime, "realtime"},
	{finding.Saturated, "forced"}, {finding.Reread, "reread"}, {finding.OtherRow, "other-row"},
}

// edge reads "A -ww+wr KEY=VALUE-> B shown=C"; its number says whose past it is in.
func (w *Witness) edge(number, text string) error {
	head, tail, ok := strings.Cut(text, "->")
	from, about, ok2 := strings.Cut(head, " -")
	words := strings.Fields(tail)
	if !ok || !ok2 || len(words) == 0 {
		return fmt.Errorf("want FROM -LABEL KEY=VALUE-> TO shown=TXN")
	}
	d := finding.Dependency{Shown: -1}
	var err error
	if d.From, err = w.index(strings.TrimSpace(from)); err != nil {
		return err
	}
	if d.To, err = w.index(words[0]); err != nil {
		return err
	}
	for _, s := range words[1:] {
		if s == "assumed" {
			d.Assumed = true
		} else if d.Shown, err = w.index(strings.TrimPrefix(s, "shown=")); err != nil {
			return err
		}
	}
	label, object, _ := strings.Cut(about, " ")
	d.Key, d.Value, _ = strings.Cut(strings.TrimSpace(object), "=")
	for _, s := range strings.Split(label, "+") {
		found := s == "none"
		for _, l := range labels {
			if l.word == s {
				d.Label, found = d.Label|l.label, true
			}
		}
		if !found {
			return fmt.Errorf("no label is called %q", s)
		}
	}
	if strings.Contains(number, ".") { // the past of the latest
		if len(w.Rest.Edges) == 0 {
			return fmt.Errorf("there is no edge before its past")
		}
		e := &w.Rest.Edges[len(w.Rest.Edges)-1]
		e.Past = append(e.Past, d)
		return nil
	}
	w.Rest.Edges = append(w.Rest.Edges, d)
	return nil
}
