package isolation

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// derived says whether operations alone do not show the edge. Then a level forces it, a way out
// of a choice supposes it, or writes of its key in a row lead along it.
func derived(e *finding.Dependency) bool {
	return e.Assumed || e.Label&finding.Saturated != 0 || chained(e)
}

// chained says whether the edge stands for writes of its key, one behind the other.
func chained(e *finding.Dependency) bool {
	return len(e.Past) > 1 && e.Label&(finding.WW|finding.RW) != 0
}

// chainSentence says how the writes lead along e.
func chainSentence(w *witness, e *finding.Dependency) string {
	first, n := because(w, &e.Past[0]), len(e.Past)-1
	if n == 1 {
		return fmt.Sprintf("%s, and right behind that %s left %s", first, w.short(e.To), withVersion(w, e.To, e.Key, e.Value))
	}
	return fmt.Sprintf("%s, and %d writes of %s later, each behind the one before, %s left %s", first, n, keyName(e.Key), w.short(e.To), withVersion(w, e.To, e.Key, e.Value))
}

// inner says whether the i-th transaction is only on the way of a chain, not the first on it.
func (w *witness) inner(i int) bool {
	if i < w.members() {
		return false
	}
	on := false
	for k := range w.Edges {
		e := &w.Edges[k]
		if !chained(e) {
			if e.Shown == i || slices.ContainsFunc(e.Past, func(p finding.Dependency) bool { return p.From == i || p.To == i || p.Shown == i }) {
				return false
			}
			continue
		}
		if e.Past[0].To == i {
			return false
		}
		on = on || slices.ContainsFunc(e.Past, func(p finding.Dependency) bool { return p.From == i || p.To == i || p.Shown == i })
	}
	return on
}
