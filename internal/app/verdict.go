package app

import (
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// worse is the graver of two verdicts; "" is none.
func worse(a, b string) string {
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

// Outcome is the gravest verdict on the levels over all sources of s, each with those
// that levels names: "ok" when there is none.
func Outcome(s *engine.Status, levels func(source string) []isolation.Level) string {
	outcome := window.OK
	for i := range s.Sources {
		for _, l := range levels(s.Sources[i].Source) {
			outcome = worse(outcome, s.Sources[i].Verdicts[l.String()].Verdict)
		}
	}
	return outcome
}
