package witnesses

import (
	"fmt"
	"slices"
	"strings"
)

// Case is a witness, and what the verifier is to say of it.
type Case struct {
	Name    string
	Line    int // from 1
	Witness *Witness
	Refuses string // words of the error; "" where the witness is accepted
}

// entry is one line of a witness: its two first words, which name it, and all of it.
type entry struct{ name, text string }

// Parse reads a file of witnesses. An error names the line.
func Parse(text string) ([]Case, error) {
	var cases []Case
	var base, now []entry
	var c Case
	root := "" // the witness's name
	names := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		fail := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		switch word {
		case "", "#":
		case "witness", "but":
			if c.Name != "" {
				return nil, fail("nothing is said of %q", c.Name)
			}
			if word == "witness" {
				root, base, now = rest, nil, nil
			} else {
				rest = root + ", but " + rest
				now = slices.Clone(base)
			}
			if root == "" || names[rest] {
				return nil, fail("%q has no name of its own", rest)
			}
			names[rest] = true
			c = Case{Name: rest, Line: i + 1}
		case "accepts", "refuses:":
			if c.Name == "" {
				return nil, fail("of what is said %q?", line)
			}
			var err error
			if c.Witness, err = build(now); err != nil {
				return nil, fmt.Errorf("line %d, %s: %w", c.Line, c.Name, err)
			}
			if c.Refuses = rest; word == "refuses:" && rest == "" {
				return nil, fail("no words of the error")
			}
			if c.Name == root {
				base = now
			}
			cases, c = append(cases, c), Case{}
		default:
			if c.Name == "" {
				return nil, fail("%q is part of no witness", line)
			}
			var err error
			if now, err = change(now, line); err != nil {
				return nil, fail("%v", err)
			}
		}
	}
	if c.Name != "" {
		return nil, fmt.Errorf("nothing is said of %q", c.Name)
	}
	return cases, nil
}

// change puts the line in the place of the one of its name.
func change(entries []entry, line string) ([]entry, error) {
	without := strings.HasPrefix(line, "no ")
	words := strings.Fields(strings.TrimPrefix(line, "no "))
	if len(words) < 2 {
		return nil, fmt.Errorf("%q is no line of a witness", line)
	}
	name := words[0] + " " + strings.TrimSuffix(words[1], ":")
	if words[0] == "set" {
		name = "set"
	}
	at := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
	switch {
	case without && at < 0:
		return nil, fmt.Errorf("there is no %s to leave out", name)
	case without:
		return slices.Delete(slices.Clone(entries), at, at+1), nil
	case at < 0:
		return append(entries, entry{name, line}), nil
	case name == "set": // what is set again counts
		line = entries[at].text + strings.TrimPrefix(line, "set")
	}
	entries[at] = entry{name, line}
	return entries, nil
}
