package isolation

import (
	"fmt"
	"slices"
	"strings"
)

// Closest is the name that differs least from the one given, "" if none is near.
func Closest(name string, names []string) string { return within(name, names, max(1, len(name)/4)) }

// Likely is Closest among a few names that nothing else can be meant by: half of the letters may differ, or
// the end be missing.
func Likely(name string, names []string) string {
	for _, n := range names {
		if len(name) > 1 && strings.HasPrefix(strings.ToLower(n), strings.ToLower(name)) {
			return n
		}
	}
	return within(name, names, max(1, len(name)/2))
}

// within is the name that differs least, and by so many letters at most.
func within(name string, names []string, most int) string {
	name = strings.ToLower(name)
	best, least := "", most+1
	for _, n := range names {
		if d := edits(name, strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// Offer is the end of an error about an unknown name: the name that was meant, or up to five
// names that differ least. A name is not near if more than half of its letters differ.
func Offer(name string, names []string) string {
	names = slices.Clone(names)
	name = strings.ToLower(name)
	distance := map[string]int{}
	for _, n := range names {
		if distance[n] = edits(name, n); len(name) > 2 && strings.Contains(n, name) {
			distance[n] = 0
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return distance[a] - distance[b] })
	if best := Closest(name, names); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	five := strings.Join(names[:min(len(names), 5)], ", ")
	if distance[names[0]] > len(name)/2 {
		return "some are " + five
	}
	return "the nearest are " + five
}

// edits is how many bytes must be put in, taken out or changed, or neighbours swapped, to make b
// of a (Levenshtein, with swaps).
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range len(b) {
		rows[0][j+1] = j + 1
	}
	for i := range len(a) {
		for j := range len(b) {
			change := rows[i][j]
			if a[i] != b[j] {
				change++
			}
			least := min(change, rows[i][j+1]+1, rows[i+1][j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				least = min(least, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = least
		}
	}
	return rows[len(a)][len(b)]
}
