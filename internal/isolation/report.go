package isolation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// Name is the name of a witness, with the levels that it refutes.
type Name struct {
	Anomaly  string
	Title    string
	Kind     finding.Kind
	Weakest  []Level
	Severity int // less is worse; for choosing between names of one finding
}

// NameCycle names a witness that is a cycle.
func NameCycle(of *finding.Witness) Name {
	w := &witness{Witness: of}
	p := plainly(w)
	if n, ok := saturatedName(p); ok {
		return n
	}
	labels := w.labels()
	c, f := classify(labels)
	name, title := titled(labels, predicates(w))
	if losesUpdate(p, labels) {
		name = "lost-update"
		title = TitleOf(name)
	}
	if nonMonotonic(p) {
		return Name{name, missedTitle(MonotonicAtomicView, Plain), finding.KindViolation, w.selected([]Level{{Base: MonotonicAtomicView}}, f), severity(c, f)}
	}
	return Name{name, title, finding.KindViolation, w.selected(weakest(labels), f), severity(c, f)}
}

// titled is the name of a cycle with these labels; ranged: a range takes part.
func titled(labels []finding.Label, ranged bool) (name, title string) {
	c, f := classify(labels)
	name = cycleName(c, f)
	title = cycleTitle(labels, name)
	if ranged {
		name = strings.Replace(name, "-item", "", 1)
		if c == classG2 {
			title = TitleOf(name)
		}
	}
	return name, title
}

// NameDivergence names two updates of one version. The witness is one of [finding.Divergence].
func NameDivergence(of *finding.Witness) Name {
	n := NameOf(finding.Divergence)
	all := func(b Base) bool {
		return !slices.ContainsFunc(of.Txns, func(t event.Record) bool { return !b.Follows(&t, of.Key) })
	}
	switch {
	case all(CursorStability):
		n.Weakest = []Level{{Base: CursorStability}}
	case all(RepeatableRead): // each has an anti-dependency on the other
		n.Weakest = append(n.Weakest, Level{Base: RepeatableRead})
	}
	return n
}

// Fill writes name and witness into the finding: what does not depend on where
// and when it was found.
func (n Name) Fill(f *finding.Finding, of *finding.Witness, expect Level) {
	w := (&witness{Witness: of}).shownFirst(&n)
	n.fillFacts(f, w, expect)
	n.fillTexts(f, w)
}

// FillFacts is the part of Fill without texts: an edge has no more than its place in the list.
// FillTexts is the rest.
func (n Name) FillFacts(f *finding.Finding, of *finding.Witness, expect Level) {
	n.fillFacts(f, (&witness{Witness: of}).shownFirst(&n), expect)
	f.Edges = make([]finding.Edge, len(of.Edges))
}

// FillTexts writes the texts into a finding that has the facts. See FillFacts.
func (n Name) FillTexts(f *finding.Finding, of *finding.Witness) {
	n.fillTexts(f, (&witness{Witness: of}).shownFirst(&n))
}

func (n Name) fillFacts(f *finding.Finding, w *witness, expect Level) {
	f.Kind, f.Anomaly, f.Title = n.Kind, n.Anomaly, n.Title
	f.Meaning = MeaningOf(n.Anomaly)
	SetRefuted(f, n.Weakest, expect)
	f.ElleNot = anomalyOf(n.Anomaly).elleNot
	if w.Anomaly == finding.Internal && interleaved(w) {
		f.ElleNot = anomalyOf("G0").elleNot
	}
	f.Txns, f.Edges, f.Levels, f.Names, f.Endpoints = nil, nil, nil, nil, nil
	f.Headline, f.About, f.Core, f.Explanation = "", nil, nil, ""
	for i := range w.members() {
		f.Txns = append(f.Txns, w.Txns[i].ID)
	}
}

func (n Name) fillTexts(f *finding.Finding, w *witness) {
	told, raw := w.oneLine()
	edges := told.shownEdges(&n)
	f.Headline, f.Edges = Cut(told.shorten(n.summary(told, edges)), maxValue), nil
	for i := range w.Txns[:w.members()] {
		t := &w.Txns[i]
		note(&f.Levels, t.ID, t.Isolation)
		note(&f.Names, t.ID, t.Name)
		note(&f.Endpoints, t.ID, t.Labels[finding.EndpointLabel])
	}
	for i := range edges {
		e := &edges[i]
		f.Edges = append(f.Edges, finding.Edge{
			From: w.Txns[e.From].ID, To: w.Txns[e.To].ID, Type: e.Label.String(),
			Key: raw(e.Key), Value: Cut(e.Value, maxValue), Evidence: Cut(told.shorten(e.evidence), maxValue), Derived: e.derived,
			ShownBy: w.shownBy(&e.Dependency),
		})
	}
	if len(f.Edges) == 0 && w.Key != "" && n.Kind != finding.KindRecord {
		f.About = &finding.About{Txn: w.Txns[0].ID, Op: w.Op, Key: raw(told.Key), Value: Cut(w.Value, maxValue)}
		if w.Anomaly == finding.Nonlinearizable {
			f.About.ClockDrift = time.Duration(w.Drift).String()
		}
	}
	f.Core = coreOf(w, told, raw)
	f.Explanation = Cut(told.shorten(Explain(told, n.headline(f))), maxExplanation)
}

// shownBy is the id of the transaction whose read of a list shows the order of two appends, "" for an edge that is shown otherwise.
func (w *witness) shownBy(e *finding.Dependency) string {
	if e.Shown < 0 || e.Shown == e.From || e.Shown == e.To || e.Label&(finding.WW|finding.Saturated) != finding.WW || w.Numeric || w.ByCommit {
		return ""
	}
	t := &w.Txns[e.Shown]
	if !slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
		return o.Key == e.Key && o.Kind == event.Read && slices.Contains(o.Elems, e.Value)
	}) {
		return ""
	}
	return t.ID
}

// note keeps text by id in of, which may be nil, unless the text is empty.
func note(of *map[string]string, id, text string) {
	if text == "" {
		return
	}
	if *of == nil {
		*of = map[string]string{}
	}
	(*of)[id] = text
}

// Members are the ids of the transactions that a witness is about.
func Members(of *finding.Witness) (ids []string) {
	w := &witness{Witness: of}
	for i := range w.members() {
		ids = append(ids, of.Txns[i].ID)
	}
	return ids
}

// SetRefuted says which levels fall.
func SetRefuted(f *finding.Finding, weakest []Level, expect Level) {
	f.Refutes = LevelNames(weakest)
	f.AlsoRefutes = LevelNames(Above(weakest))
	f.Expected = len(weakest) > 0 && !expect.Refuted(weakest)
}

func (n Name) headline(f *finding.Finding) string {
	name := n.Anomaly
	if n.Title != "" && n.Title != n.Anomaly {
		name = fmt.Sprintf("%s (%s)", n.Anomaly, n.Title)
	}
	if len(f.Refutes) == 0 {
		return name
	}
	return fmt.Sprintf("%s: the results contradict %s and everything stronger", name, f.Refutes[0])
}

// interleaved says whether the list that Txns[0] misread has, right before and right behind
// some of its own elements, such of Txns[1]. Nothing is concluded here from a list that a
// transaction misread. Elle takes it for the order of the appends: a write cycle.
func interleaved(w *witness) bool {
	if len(w.Txns) < 2 || w.Op >= len(w.Txns[0].Ops) || w.Txns[1].Status == event.Aborted {
		return false
	}
	by := map[string]int{} // the element: who appended it
	for i := range 2 {
		for k := range w.Txns[1-i].Ops {
			if o := &w.Txns[1-i].Ops[k]; o.Kind == event.Append && o.Key == w.Key {
				by[o.Value] = 2 - i
			}
		}
	}
	before, own := false, false
	for _, e := range w.Txns[0].Ops[w.Op].Elems {
		if by[e] == 1 {
			own = true
			continue
		}
		if before && own && by[e] == 2 {
			return true
		}
		before, own = by[e] == 2, false
	}
	return false
}
