package catalog

import (
	"cmp"
	"slices"
)

// Series is how many findings of an anomaly were found first in each part of a span of time.
type Series struct {
	Anomaly  string
	Expected bool // the expected level allows them
	Counts   []int
	Total    int // in the span
}

// Count counts the findings that match by anomaly, in parts of the span from one instant to another, ns. Allowed findings
// are series of their own. The largest series come first. O(findings).
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
		if e.first < from || e.first >= to || !m.matches(e) {
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
		part := int(float64(e.first-from) / float64(to-from) * float64(parts))
		all[n].Counts[min(part, parts-1)]++
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
