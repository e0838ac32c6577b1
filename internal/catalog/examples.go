package catalog

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// Examples are the places of at most so many findings of a list: the first of each group, and then the first others.
func Examples(list []finding.Finding, most int) (chosen []int) {
	if most < 1 {
		return nil
	}
	if len(list) <= most {
		for i := range list {
			chosen = append(chosen, i)
		}
		return chosen
	}
	var others []int
	seen := map[string]bool{}
	for i := range list {
		of := GroupOf(&list[i])
		key := of.Key()
		if seen[key] {
			if len(others) < most {
				others = append(others, i)
			}
			continue
		}
		seen[key] = true
		if chosen = append(chosen, i); len(chosen) == most {
			return chosen
		}
	}
	chosen = append(chosen, others[:most-len(chosen)]...)
	slices.Sort(chosen)
	return chosen
}

// ExamplesOf are these findings themselves.
func ExamplesOf(list []finding.Finding, most int) []finding.Finding {
	if len(list) <= most {
		return list
	}
	var all []finding.Finding
	for _, i := range Examples(list, most) {
		all = append(all, list[i])
	}
	return all
}
