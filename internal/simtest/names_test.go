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
	n := cycleLen(f)
	if n == 0 {
		return "the edges close no cycle"
	}
	rw, wr, adjacent := 0, 0, false
	for i, e := range f.Edges[:n] {
		switch e.Type {
		case "rw":
			rw++
			adjacent = adjacent || f.Edges[(i+1)%n].Type == "rw"
		case "wr":
			wr++
		}
	}
	name := "G2"
	switch {
	case rw == 0 && wr == 0:
		name = "G0"
	case rw == 0:
		name = "G1c"
	case rw == 1:
		name = "G-single"
	case !adjacent:
		name = "G-nonadjacent"
	}
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

// cycleLen is how many of the first edges close a cycle, 0 if none do.
func cycleLen(f *finding.Finding) int {
	for i, e := range f.Edges {
		if i > 0 && e.From != f.Edges[i-1].To {
			return 0
		}
		if e.To == f.Edges[0].From {
			return i + 1
		}
	}
	return 0
}

// lostOf: a lost update is an anti-dependency with the way back, by writes or by another one,
// all of one key.
func lostOf(f *finding.Finding) string {
	n := cycleLen(f)
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
