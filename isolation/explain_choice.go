package isolation

import (
	"fmt"
	"strings"
)

// explainChoices writes why no order of the writers that nobody saw in order
// satisfies the level: each choice with what rules a side out, and the last one of
// which both sides do not hold (PolySI, section 4: what is shown is forced).
func explainChoices(w *Witness, b *strings.Builder) {
	for i := range w.Edges {
		e := &w.Edges[i]
		fmt.Fprintf(b, "  - %s < %s, because %s.\n", w.short(e.From), w.short(e.To), because(w, e))
	}
	p := plainly(w)
	p.writeSteps(b, p.argument(p.Level), "  ")
}

func (w *Witness) writeSteps(b *strings.Builder, steps []deduction, indent string) {
	for i := range steps {
		s := &steps[i]
		sides := s.choice.sides()
		closes := func(j int) string {
			return fmt.Sprintf("if %s wrote %s before %s did, %s", w.short(sides[j].first), s.choice.Key, w.short(sides[j].then), w.walk(s.closed[j]))
		}
		switch {
		case s.taken != nil:
			j := 0
			if s.closed[0] == nil {
				j = 1
			}
			fmt.Fprintf(b, "%s- %s; so %s did before %s", indent, closes(j), w.short(sides[1-j].first), w.short(sides[1-j].then))
			for k := range s.taken[1:] {
				e := &s.taken[k+1]
				fmt.Fprintf(b, ", and %s < %s, because %s", w.short(e.From), w.short(e.To), w.missed(e, sides[1-j].first))
			}
			b.WriteString(".\n")
		case s.closed[0] != nil:
			fmt.Fprintf(b, "%s- However, %s; and %s: a contradiction!\n", indent, closes(0), closes(1))
		default:
			for j := range sides {
				fmt.Fprintf(b, "%s- Suppose that %s wrote %s before %s did:\n", indent, w.short(sides[j].first), s.choice.Key, w.short(sides[j].then))
				w.writeSteps(b, s.branches[j], indent+"  ")
			}
		}
	}
}

// missed says why a reader of first's version comes before who wrote a later one.
func (w *Witness) missed(e *Edge, first int) string {
	return fmt.Sprintf("%s read %s of %s", w.short(e.From), e.Key, w.short(first))
}

// walk is a cycle in one line.
func (w *Witness) walk(cycle []*Edge) string {
	var b strings.Builder
	for _, e := range cycle {
		fmt.Fprintf(&b, "%s -%s-> ", w.short(e.From), e.Label)
	}
	return b.String() + w.short(cycle[0].From)
}
