package isolation

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// explainChoices writes why no order of the writers satisfies the level, where nobody saw their
// order. It shows each choice with the reason that rules a side out. In the last choice both
// sides are ruled out (PolySI, section 4: each shown step is forced).
func explainChoices(w *witness, b *strings.Builder) {
	for i := range w.Edges {
		e := &w.Edges[i]
		fmt.Fprintf(b, "  - %s < %s, because %s.\n", w.short(e.From), w.short(e.To), because(w, e))
	}
	p := plainly(w)
	p.writeSteps(b, p.argument(p.level()), "  ")
}

func (w *witness) writeSteps(b *strings.Builder, steps []deduction, indent string) {
	for i := range steps {
		s := &steps[i]
		if s.behind != nil {
			w.writeBehind(b, s.behind, indent)
			continue
		}
		sides := sidesOf(s.choice)
		var closes []string // what rules a side out
		for j, x := range sides {
			if s.closed[j] != nil {
				closes = append(closes, fmt.Sprintf("if %s, %s", w.claims(s.choice, x), w.walk(s.closed[j])))
			}
		}
		ruledOut := strings.Join(closes, "; and ")
		switch {
		case s.branches != nil:
			if ruledOut != "" {
				fmt.Fprintf(b, "%s- %s.\n", indent, ruledOut)
			}
			for j, x := range sides {
				if s.closed[j] == nil {
					fmt.Fprintf(b, "%s- Suppose that %s:\n", indent, w.claims(s.choice, x))
					w.writeSteps(b, s.branches[j], indent+"  ")
				}
			}
		case s.left >= 0:
			x := sides[s.left]
			switch {
			case !x.read:
				fmt.Fprintf(b, "%s- %s; so %s did before %s", indent, ruledOut, w.short(x.first), w.short(x.then))
			case ruledOut == "":
				fmt.Fprintf(b, "%s- %s, the only other transaction that left this value there", indent, w.claims(s.choice, x))
			default:
				fmt.Fprintf(b, "%s- %s; so %s", indent, ruledOut, w.claims(s.choice, x))
			}
			for k := range s.taken[1:] {
				e := &s.taken[k+1]
				fmt.Fprintf(b, ", and %s < %s, because %s", w.short(e.From), w.short(e.To), w.missed(e, x.first))
			}
			b.WriteString(".\n")
		default:
			fmt.Fprintf(b, "%s- However, %s: a contradiction!\n", indent, ruledOut)
		}
	}
}

// claims is the statement of one side of a choice.
func (w *witness) claims(c *finding.Choice, x side) string {
	if x.read {
		return fmt.Sprintf("%s read %s of %s", w.short(x.then), keyName(c.Key), w.short(x.first))
	}
	return fmt.Sprintf("%s wrote %s before %s did", w.short(x.first), keyName(c.Key), w.short(x.then))
}

// missed says why a reader of first's version comes before the writer of a later version.
func (w *witness) missed(e *finding.Dependency, first int) string {
	return fmt.Sprintf("%s read %s of %s", w.short(e.From), keyName(e.Key), w.short(first))
}

// walk is a cycle in one line.
func (w *witness) walk(cycle []*finding.Dependency) string {
	var b strings.Builder
	for _, e := range cycle {
		fmt.Fprintf(&b, "%s -%s-> ", w.short(e.From), e.Label)
	}
	return b.String() + w.short(cycle[0].From)
}
