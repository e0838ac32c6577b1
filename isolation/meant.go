package isolation

import (
	"fmt"
	"slices"
	"strings"
)

// Meant is the level that a name which is none stands for elsewhere: in other letters,
// with blanks or underscores, in British spelling, abbreviated, or as the papers and other checkers
// call it. "": there is none, or the name means different things to different people.
func Meant(name string) string {
	name = strings.NewReplacer("_", "-", " ", "-", "isab", "izab", "generalised", "generalized").Replace(strings.ToLower(strings.TrimSpace(name)))
	for _, family := range []string{"", "strong-session-", "strong-"} {
		rest, ok := strings.CutPrefix(name, family)
		if !ok {
			continue
		}
		if level, ok := abbreviation(rest); ok && (family == "" || !strings.HasPrefix(level, "strong-")) {
			rest = level
		}
		if l, ok := named(family + rest); ok {
			return l.String()
		}
	}
	return ""
}

// abbreviation is the level that the letters stand for: Adya's portable levels (PL-), and the
// short names of dbcop, AWDIT, Plume and MTC.
func abbreviation(letters string) (level string, ok bool) {
	switch letters {
	case "ru", "pl-1":
		return "read-uncommitted", true
	case "rc", "pl-2":
		return "read-committed", true
	case "mav":
		return "monotonic-atomic-view", true
	case "ra":
		return "read-atomic", true
	case "cc", "causal-consistency", "causal-cerone":
		return "causal", true
	case "pc", "prefix-consistency", "consistent-prefix":
		return "prefix", true
	case "si", "snapshot", "pl-si", "adya-si":
		return "snapshot-isolation", true
	case "gsi":
		return "generalized-snapshot-isolation", true
	case "ser", "serializability", "pl-3", "conflict-serializable":
		return "serializable", true
	case "sser", "strict-serializable", "strict-serializability", "pl-ss", "external-consistency":
		return "strong-serializable", true
	case "lin", "linearizability":
		return "linearizable", true
	}
	return "", false
}

// Otherwise says of a name that the field knows and this program has no level for which one is
// nearest; "" for other names.
func Otherwise(name string) string {
	switch strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimSpace(name))) {
	case "repeatable-read", "rr":
		return "repeatable-read means different things: in PostgreSQL snapshot-isolation, in MySQL and MariaDB little more than read-committed, " +
			"in Adya's theory PL-2.99. Name the product, as in postgresql/repeatable-read"
	case "pl-2.99":
		return "PL-2.99 (Adya's repeatable read) is not checked by itself; serializable is the nearest stronger level, read-committed the nearest weaker one"
	case "cursor-stability", "pl-cs":
		return "cursor-stability is not checked by itself; snapshot-isolation is the nearest stronger level, read-committed the nearest weaker one"
	case "consistent-view", "pl-2+", "forward-consistent-view", "pl-fcv":
		return "this level is not checked by itself; snapshot-isolation is the nearest stronger level, read-atomic the nearest weaker one"
	case "update-serializability", "pl-3u":
		return "update-serializability is not checked by itself; serializable is the nearest stronger level, read-atomic the nearest weaker one"
	case "oracle", "oracle/serializable":
		return "oracle has no settings here, and its SERIALIZABLE is snapshot isolation: name the level, as in snapshot-isolation"
	case "parallel-snapshot-isolation", "psi":
		return "parallel-snapshot-isolation is not checked by itself; snapshot-isolation is the nearest stronger level, causal the nearest weaker one"
	case "sequential", "sequential-consistency":
		return "sequential consistency of transactions is strong-session-serializable"
	case "read-your-writes", "monotonic-reads", "monotonic-writes", "writes-follow-reads", "pram":
		return "the session guarantees are not checked one by one; strong-session-causal has them all"
	}
	return ""
}

// Taken says, of a name that means one thing here and another to other people, which is taken. ""
// for other names.
func Taken(name string) string {
	const as = "%s means %s here. %s, called %s here"
	name = strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
	level, _ := abbreviation(name)
	switch name {
	case "causal", "cc", "causal-consistency":
		return fmt.Sprintf(as, name, "causal without session order", "dbcop, AWDIT and Plume mean the form with session order", "strong-session-causal")
	case "ser", "si", "ra", "pc":
		return fmt.Sprintf(as, name, level, "dbcop, AWDIT and Plume mean the form with session order", "strong-session-"+level)
	case "rc":
		return fmt.Sprintf(as, name, level, "dbcop, AWDIT and Plume mean a level that also orders the reads of a transaction", "strong-session-monotonic-atomic-view")
	case "pl-si":
		return fmt.Sprintf(as, name, level, "Adya's thesis means the form in real time", "strong-snapshot-isolation")
	}
	return ""
}

// Closest is the name that differs least from the one given, "" if none is near.
func Closest(name string, names []string) string {
	name = strings.ToLower(name)
	best, least := "", max(1, len(name)/4)+1
	for _, n := range names {
		if d := edits(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// nearest is Offer with where all are.
func nearest(name string, names []string) string {
	text := Offer(name, names)
	if Closest(name, names) == "" {
		text += " (monitor explain lists all)"
	}
	return text
}

// Offer is the end of an error about an unknown name: the one that was meant, or up to five
// of the names, those that differ least.
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
	return "the nearest are " + strings.Join(names[:min(len(names), 5)], ", ")
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
