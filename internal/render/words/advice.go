package words

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// Advice tells the likely causes of the finding, and what to do. "" if it has neither.
func Advice(f *finding.Finding) string {
	var b strings.Builder
	if len(f.Causes) > 0 {
		b.WriteString("Likely causes:\n")
	}
	for _, text := range f.Causes {
		fmt.Fprintf(&b, "  - %s\n", text)
	}
	if len(f.Next) > 0 {
		b.WriteString("What to do:\n")
	}
	for i, text := range f.Next {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, text)
	}
	return b.String()
}

// Advised knows the findings in one text that have told causes and what to do. The zero value
// knows none.
type Advised struct{ by map[advised]string }

type advised struct{ source, anomaly string }

// maxAdvised is how many anomalies of sources are remembered; further ones tell theirs each time.
const maxAdvised = 1024

// Once is the finding as it stands in that text. A second one of the same anomaly and source
// names the first one, and does not repeat the advice.
func (a *Advised) Once(f *finding.Finding) *finding.Finding {
	if len(f.Next) == 0 {
		return f
	}
	key := advised{f.Source, f.Anomaly}
	first, known := a.by[key]
	switch {
	case known && first != f.ID:
		short := *f
		short.Causes, short.Next = nil, []string{"The same as for finding " + first + "."}
		return &short
	case !known && len(a.by) < maxAdvised:
		if a.by == nil {
			a.by = map[advised]string{}
		}
		a.by[key] = f.ID
	}
	return f
}
