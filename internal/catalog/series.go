package catalog

import (
	"cmp"
	"slices"
)

// Series is how many findings of an anomaly were found first in each part of a span of time.
type Series struct {
	Anomaly string
	Counts  []int
	Total   int // in the span
}

// Count counts the findings that match by anomaly, in parts of the span from one instant to another, ns. The
// largest series come first. O(findings).
func (c *Catalog) Count(q Query, from, to int64, parts int) (all []Series) {
	if parts < 1 || to <= from {
		return nil
	}
	m := c.matcher(&q)
	at := map[string]int{}
	for i := c.head; i < len(c.entries); i++ {
		e := &c.entries[i]
		if e.first < from || e.first >= to || !m.matches(e) {
			continue
		}
		anomaly := c.slots[e.group].group.Anomaly
		n, ok := at[anomaly]
		if !ok {
			n = len(all)
			at[anomaly] = n
			all = append(all, Series{Anomaly: anomaly, Counts: make([]int, parts)})
		}
		part := int(float64(e.first-from) / float64(to-from) * float64(parts))
		all[n].Counts[min(part, parts-1)]++
		all[n].Total++
	}
	slices.SortFunc(all, func(a, b Series) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Anomaly, b.Anomaly)) })
	return all
}
