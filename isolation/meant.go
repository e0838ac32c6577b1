package isolation

import "strings"

// Meant is the level that a name which is none stands for elsewhere: in other letters,
// with blanks or underscores, in British spelling, or abbreviated as in the papers. "":
// there is none.
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
		if l, err := parseName(family + rest); err == nil {
			return l.String()
		}
	}
	return ""
}

// abbreviation is the level that the letters stand for.
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
	case "cc", "causal-consistency":
		return "causal", true
	case "pc", "prefix-consistency":
		return "prefix", true
	case "si", "snapshot":
		return "snapshot-isolation", true
	case "gsi":
		return "generalized-snapshot-isolation", true
	case "ser", "serializability", "pl-3":
		return "serializable", true
	case "sser", "strict-serializable", "strict-serializability":
		return "strong-serializable", true
	case "lin", "linearizability":
		return "linearizable", true
	}
	return "", false
}
