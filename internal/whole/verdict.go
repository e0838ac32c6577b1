package whole

import (
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/window"
)

// Worse is the graver of two verdicts; "" is none.
func Worse(a, b string) string {
	if gravity(b) > gravity(a) {
		return b
	}
	return a
}

func gravity(verdict string) int {
	switch verdict {
	case window.OK:
		return 1
	case window.Unknown:
		return 2
	case window.Violated:
		return 3
	}
	return 0
}

// Plural is so many of what one and many name.
func Plural(n int64, one, many string) string { return finding.Counted(n, one, many) }
