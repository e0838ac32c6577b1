package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// Titled is a name that a finding can have, with its title in words.
type Titled struct{ Anomaly, Title string }

// longestCycle is the number of edges up to which [EveryTitle] walks cycles. The title of a longer one depends
// on no more than how many anti-dependencies it has, and on which labels take part.
const longestCycle = 4

// EveryTitle is all that findings can be called, each once, in a fixed order. It walks what names
// them: kinds, classes of cycles, levels.
func EveryTitle() []Titled {
	var all []Titled
	add := func(name, title string) {
		if t := (Titled{name, title}); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	eachCycle(nil, func(labels []finding.Label) {
		add(titled(labels, false))
		if slices.Contains(labels, finding.RW) {
			add(titled(labels, true))
		}
	})
	for kind := range 256 { // finding.AnomalyKind is one byte
		n := NameOf(finding.AnomalyKind(kind))
		add(n.Anomaly, n.Title)
	}
	for _, l := range AllLevels() {
		n := NameTried([]Level{l})
		add(n.Anomaly, n.Title)
		if l.Special != 0 {
			continue
		}
		if l.Base == ReadAtomic || l.Base == Causal {
			n = missedName(l)
			add(n.Anomaly, n.Title)
		}
		for c := classSingle; c <= classG2; c++ {
			if l.Base.Chooses() {
				add(choiceTitle(l.Base, c, l.Family))
			}
		}
	}
	for _, name := range []string{cycleName(classSingle, Plain), "G-single"} { // see nonMonotonic
		add(name, missedTitle(MonotonicAtomicView, Plain))
	}
	add(NameLinear().Anomaly, NameLinear().Title)
	add(finding.WeakerThanExpected, TitleOf(finding.WeakerThanExpected))
	return all
}

// eachCycle calls do with the labels of every cycle of two edges or more that begins so.
func eachCycle(labels []finding.Label, do func([]finding.Label)) {
	if len(labels) > 1 {
		do(labels)
	}
	if len(labels) == longestCycle {
		return
	}
	for _, l := range []finding.Label{finding.WW, finding.WR, finding.RW, finding.Process, finding.Realtime} {
		eachCycle(append(slices.Clone(labels), l), do)
	}
}
