package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// NameChoices names a witness with choices by the weakest levels that it refutes.
func NameChoices(of *finding.Witness) Name {
	w := plainly(&witness{Witness: of})
	w.shown = w.show()
	n := Name{Kind: finding.KindViolation}
	for _, family := range []Family{Plain, StrongSession, Strong} {
		for _, base := range []Base{ReadAtomic, Causal, Prefix, SnapshotIsolation, Serializable} {
			if l := (Level{Base: base, Family: family}); w.contradicts(l) {
				if !l.Refuted(n.Weakest) {
					n.Weakest = append(n.Weakest, l)
				}
				break
			}
		}
		for _, base := range []Base{CursorStability, RepeatableRead} {
			if l := (Level{Base: base, Family: family}); !l.Refuted(n.Weakest) && w.contradicts(l) {
				n.Weakest = append(slices.DeleteFunc(n.Weakest, func(x Level) bool { return x.Implies(l) }), l)
			}
		}
	}
	if l := (Level{Special: GeneralizedSI}); !l.Refuted(n.Weakest) && w.contradicts(l) {
		n.Weakest = slices.DeleteFunc(n.Weakest, func(x Level) bool { return x.Implies(l) })
		n.Weakest = append(n.Weakest, l)
	}
	family := Strong
	for _, l := range n.Weakest {
		if l.Special == 0 {
			family = min(family, l.Family)
		}
	}
	c := classG2
	switch least(n.Weakest) {
	case ReadAtomic, Causal:
		c = classSingle
	case Prefix, SnapshotIsolation:
		c = w.certainClass(w.choiceLevel(n.Weakest))
	}
	n.Severity = severity(c, family)
	n.Anomaly, n.Title = choiceTitle(least(n.Weakest), c, family)
	return n
}

// choiceTitle is the title for choices that cannot be made at the level, if a cycle of the
// class is certain.
func choiceTitle(base Base, c class, f Family) (name, title string) {
	name = cycleName(c, f)
	switch {
	case c != classG2 && (base == ReadAtomic || base == Causal):
		return name, missedTitle(base, f)
	case c != classG2 && base == SnapshotIsolation:
		return name, "conflicting writes"
	}
	return name, TitleOf(name)
}

// certainClass is the class that is certain. The argument rules sides out by cycles. In any
// order of the writers one of these cycles is there, and nobody knows which. So the class is
// the one that all of them imply. Where a cycle has no anti-dependencies, more holds.
func (w *witness) certainClass(l Level) class {
	c := classSingle
	var look func(steps []deduction)
	look = func(steps []deduction) {
		for i := range steps {
			c = max(c, steps[i].class)
			for _, cycle := range steps[i].closed {
				var labels []finding.Label
				for _, e := range cycle {
					labels = append(labels, e.Label)
				}
				if x, _ := classify(labels); len(labels) > 0 {
					c = max(c, x)
				}
			}
			for _, b := range steps[i].branches {
				look(b)
			}
		}
	}
	steps := w.argument(l)
	if steps == nil {
		return classNonadjacent
	}
	look(steps)
	return c
}

func least(ls []Level) Base {
	b := Serializable
	for _, l := range ls {
		if of := l.Underlying().argued(); of.Strength() < b.Strength() {
			b = of
		}
	}
	return b
}

// argued is the base whose graph over choices stands for b. It is b itself, or the weakest base
// with such a graph that implies b.
func (b Base) argued() Base {
	switch b {
	case CursorStability, ConsistentView:
		return SnapshotIsolation
	case RepeatableRead, UpdateSerializable:
		return Serializable
	}
	return b
}

// ChoiceLevel is the level at which a witness with choices that refutes these levels is argued.
// It is the first of them, or the weakest above it that is a graph over choices. If that level
// leaves an order, the witness keeps its own level: reads beside the edges refute it.
func ChoiceLevel(w *finding.Witness, weakest []Level) Level {
	return (&witness{Witness: w}).choiceLevel(weakest)
}

func (w *witness) choiceLevel(weakest []Level) Level {
	l := weakest[0]
	if l.Special == 0 {
		if l.Base = l.Base.argued(); !l.Base.Chooses() {
			l.Base = Prefix
		}
	}
	if w.argument(l) == nil {
		return w.level()
	}
	return l
}
