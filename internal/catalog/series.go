package catalog

import (
	"cmp"
	"math"
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// Series is how many findings of an anomaly have a last transaction that ended in each part of a span of time.
type Series struct {
	Anomaly  string
	Expected bool // the expected level allows them
	Counts   []int
	Total    int // in the span
}

// Count counts the findings that match by anomaly, in parts of the span from one instant to another, ns. As in trends of groups,
// the end of the last transaction counts. A clock that is ahead counts in the last part. Allowed findings are series of their
// own. The largest series come first. O(findings).
func (c *Catalog) Count(q Query, from, to int64, parts int) (all []Series) {
	if parts < 1 || to <= from {
		return nil
	}
	m := c.matcher(&q)
	type line struct {
		anomaly  string
		expected bool
	}
	at := map[line]int{}
	for i := c.head; i < len(c.entries); i++ {
		e := &c.entries[i]
		if e.ended[1] < from || !m.matches(e) {
			continue
		}
		anomaly := c.slots[e.group].group.Anomaly
		of := line{anomaly, e.flags&flagExpected != 0}
		n, ok := at[of]
		if !ok {
			n = len(all)
			at[of] = n
			all = append(all, Series{Anomaly: anomaly, Expected: of.expected, Counts: make([]int, parts)})
		}
		part := float64(e.ended[1]-from) / float64(to-from) * float64(parts)
		all[n].Counts[int(min(part, float64(parts-1)))]++
		all[n].Total++
	}
	slices.SortFunc(all, func(a, b Series) int { // an anomaly may be there twice
		apart := -1
		if a.Expected {
			apart = 1
		}
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Anomaly, b.Anomaly), apart)
	})
	return all
}

// Violations calls fn for the findings that surely violate a level, if their last transaction ended at the instant of their
// source or later, ns. Sources without an instant have none. It gives when their first and last transactions ended. O(findings).
func (c *Catalog) Violations(since map[string]int64, fn func(source string, refutes []string, first, last int64)) {
	asked := make([]int64, len(c.slots))
	for i := range c.slots {
		asked[i] = math.MaxInt64
		if at, ok := since[c.slots[i].group.Source]; ok && c.slots[i].group.Kind == finding.KindViolation {
			asked[i] = at
		}
	}
	for i := c.head; i < len(c.entries); i++ {
		if e := &c.entries[i]; e.ended[1] >= asked[e.group] && e.stands() {
			fn(c.slots[e.group].group.Source, c.refuted[e.refutes], e.ended[0], e.ended[1])
		}
	}
}

// stands says of a violation whether it is certain, has been told, and was not taken back.
func (e *entry) stands() bool {
	switch states[e.state] {
	case finding.ResolvedViolated:
		return true
	case finding.Provisional, finding.Final:
		return e.flags&flagCertain != 0
	}
	return false
}
