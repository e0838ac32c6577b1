package isolation

import (
	"slices"
	"strings"
)

// joint matches all that may stand between two letters of a name.
const joint = "[-_ ]*"

// LevelPattern is a regular expression, without anchors, of the names that [ParseLevel] takes. It uses
// no more than RE2 and ECMAScript have in common. It also takes G-SI, which is an anomaly.
func LevelPattern() string {
	var keys []string
	for _, name := range EveryName() {
		key := letters(name)
		for _, prefix := range []string{"", "strongsession", "session", "strong", "strict"} {
			if _, ok := Understood(prefix + key); ok {
				keys = append(keys, prefix+key)
			}
		}
	}
	slices.Sort(keys)
	return joint + patternOf(slices.Compact(keys), joint) + joint
}

// SettingPattern is one of the products' settings that [ParseExpected] takes.
func SettingPattern() string {
	var all []string
	for i := range products {
		p := &products[i]
		var settings []string
		for _, name := range []string{"ru", "rc", "rr", "ser", "s", "si", "snapshot", "snapshot-isolation"} {
			if p.meant(name) != nil {
				settings = append(settings, name)
			}
		}
		for _, x := range p.settings {
			settings = append(settings, x.setting)
		}
		slices.Sort(settings)
		names := append([]string{p.name}, p.others...)
		slices.Sort(names)
		all = append(all, patternOf(names, "")+`\s*/\s*`+patternOf(slices.Compact(settings), ""))
	}
	return "(" + strings.Join(all, "|") + ")"
}

// SettingNames are the settings of all products, as in postgresql/repeatable-read.
func SettingNames() []string {
	var names []string
	for i := range products {
		names = append(names, products[i].names()...)
	}
	return names
}

// patternOf matches one of the words, which are sorted, in small and large letters, with the joint between
// any two. A common beginning stands once.
func patternOf(words []string, joint string) string {
	var ways []string
	for len(words) > 0 {
		if words[0] == "" {
			ways, words = append(ways, ""), words[1:]
			continue
		}
		c, n := words[0][0], 0
		var rest []string
		for n < len(words) && words[n][0] == c {
			rest = append(rest, words[n][1:])
			n++
		}
		words = words[n:]
		way := letterPattern(c)
		if len(rest) > 1 || rest[0] != "" {
			way += joint + patternOf(rest, joint)
		}
		ways = append(ways, way)
	}
	if len(ways) == 1 {
		return ways[0]
	}
	return "(" + strings.Join(ways, "|") + ")"
}

func letterPattern(c byte) string {
	switch {
	case c == 'z':
		return "[zZsS]" // serialisable
	case c == '-':
		return "[-_ ]"
	case 'a' <= c && c <= 'z':
		return "[" + string(c) + strings.ToUpper(string(c)) + "]"
	}
	return strings.NewReplacer(".", `\.`, "+", `\+`, "(", `\(`, ")", `\)`).Replace(string(c))
}
