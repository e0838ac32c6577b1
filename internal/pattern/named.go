package pattern

import (
	"errors"
	"fmt"
	"strings"
)

// MaxNamed bounds the patterns that are named.
const MaxNamed = 256

// CheckNamed says what is wrong with patterns that a person names.
func CheckNamed(named []string) error {
	var faults []error
	if len(named) > MaxNamed {
		faults = append(faults, fmt.Errorf("%d are named, at most %d may be", len(named), MaxNamed))
	}
	seen := map[string]bool{}
	for _, p := range named {
		switch {
		case p == "":
			faults = append(faults, errors.New("one is empty"))
		case strings.Contains(p, "##"):
			faults = append(faults, fmt.Errorf("%q: where does the first # end?", p))
		case seen[p]:
			faults = append(faults, fmt.Errorf("%q is named twice", p))
		}
		seen[p] = true
	}
	return errors.Join(faults...)
}

// Matches says whether the key with this name is of the named pattern. Each "#" stands for one
// or more bytes other than "/", ":" and ".", and all else for itself. O(len(named) *
// len(name)).
func Matches(named string, name []byte) bool {
	for i := 0; i < len(named); i++ {
		if named[i] != '#' {
			if len(name) == 0 || name[0] != named[i] {
				return false
			}
			name = name[1:]
			continue
		}
		rest := named[i+1:]
		for n := 1; n <= len(name) && strings.IndexByte("/:.", name[n-1]) < 0; n++ {
			if Matches(rest, name[n:]) {
				return true
			}
		}
		return false
	}
	return len(name) == 0
}

// Named is the pattern of this name in the epoch. It is merged with no other one.
func (t *Table) Named(epoch uint64, named string) ID {
	at, ok := t.step(0, append(append(epochText(epoch), 0), named...)) // the root's children are never merged
	if ok {
		at, ok = t.step(at, []byte(named))
	}
	if !ok {
		return 0
	}
	return t.end(at)
}

func epochText(epoch uint64) []byte {
	text := make([]byte, 8)
	for i := range text {
		text[i] = byte(epoch >> (8 * i))
	}
	return text
}
