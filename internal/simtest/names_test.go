package simtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// misnamed says of a cycle why the edges that are printed do not give it its name, by the
// rules of Adya and Elle and nothing of the code that names: "" where they do.
func misnamed(f *finding.Finding) string {
	if f.Kind != finding.KindViolation || !strings.HasPrefix(f.Anomaly, "G") || len(f.Edges) == 0 {
		if f.Anomaly == "lost-update" && len(f.Edges) > 0 {
			return lostOf(f)
		}
		return ""
	}
	n := cycleLen(f.Edges)
	if n == 0 {
		return "the edges close no cycle"
	}
	class := classOf(f.Edges[:n])
	for rest := f.Edges[n:]; cycleLen(rest) > 0; rest = rest[cycleLen(rest):] {
		class = max(class, classOf(rest[:cycleLen(rest)])) // one of the cycles is there, and nobody knows which
	}
	if class < 2 && strings.HasPrefix(f.Anomaly, "G-single") && assumed(f) {
		class = 2 // levels below read atomic are not argued over orders of writers, so no more is claimed
	}
	if isWalk(f.Edges) && strings.HasPrefix(f.Anomaly, "G-nonadjacent") {
		class = classOf(f.Edges) // a cycle that passes a transaction twice
	}
	name := [...]string{"G0", "G1c", "G-single", "G-nonadjacent", "G2"}[class]
	has := func(kind string) bool {
		return slices.ContainsFunc(f.Edges, func(e finding.Edge) bool { return e.Type == kind })
	}
	switch {
	case has("realtime"):
		name += "-realtime"
	case has("process"):
		name += "-process"
	}
	if got := strings.Replace(f.Anomaly, "-item", "", 1); got != name {
		return fmt.Sprintf("the edges are a %s", name)
	}
	return ""
}

// assumed says whether the cycles rest on an order of writers, or on whom a read was of: some
// edge is derived, and no further edges order the writers.
func assumed(f *finding.Finding) bool {
	rest := f.Edges
	for cycleLen(rest) > 0 {
		rest = rest[cycleLen(rest):]
	}
	return len(rest) == 0 && slices.ContainsFunc(f.Edges, func(e finding.Edge) bool { return e.Derived })
}

// classOf is the class of the cycle: from 0, what is forbidden by more levels first.
func classOf(cycle []finding.Edge) int {
	rw, wr, adjacent := 0, 0, false
	for i, e := range cycle {
		switch e.Type {
		case "rw":
			rw++
			adjacent = adjacent || cycle[(i+1)%len(cycle)].Type == "rw"
		case "wr":
			wr++
		}
	}
	switch {
	case rw == 0 && wr == 0:
		return 0
	case rw == 0:
		return 1
	case rw == 1:
		return 2
	case !adjacent:
		return 3
	}
	return 4
}

// isWalk says whether all edges are one closed path, which may pass a transaction twice.
func isWalk(edges []finding.Edge) bool {
	for i, e := range edges {
		if e.To != edges[(i+1)%len(edges)].From {
			return false
		}
	}
	return true
}

// cycleLen is how many of the first edges close a cycle, 0 if none do.
func cycleLen(edges []finding.Edge) int {
	for i, e := range edges {
		if i > 0 && e.From != edges[i-1].To {
			return 0
		}
		if e.To == edges[0].From {
			return i + 1
		}
	}
	return 0
}

// lostOf: a lost update is an anti-dependency with the way back, by writes or by another one,
// all of one key.
func lostOf(f *finding.Finding) string {
	n := cycleLen(f.Edges)
	if n == 0 {
		return "the edges close no cycle"
	}
	if !slices.ContainsFunc(f.Edges[:n], func(e finding.Edge) bool { return e.Type == "rw" }) {
		return "it misses no update"
	}
	for _, e := range f.Edges[:n] {
		if e.Key != f.Edges[0].Key || e.Type != "rw" && e.Type != "ww" {
			return "it is no update of one key"
		}
	}
	return ""
}
