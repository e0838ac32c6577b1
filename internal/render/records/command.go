package records

import (
	"slices"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// File is the name of f's records as JSONL.
func File(f *finding.Finding) string { return "finding-" + f.ID + ".jsonl" }

// shown are the kinds of findings about a record that a check of their records shows again.
var shown = []string{"unattributed-read", "session-not-sequential", "contradictory-record"}

// Command checks the records of f, so that it is found again. It names the levels that f refutes, and the contract of its source,
// KEY=VALUE,..., without defaults. It is "" where a check of the records does not show f.
func Command(f *finding.Finding, contract string) string {
	if len(f.History) == 0 || f.Kind != finding.KindViolation && !slices.Contains(shown, f.Anomaly) {
		return ""
	}
	words := []string{"monitor", "check"}
	for _, level := range f.Refutes {
		if !slices.Contains(isolation.LevelNames(isolation.Watched()), level) {
			words = append(words, "--levels", strings.Join(f.Refutes, ","))
			break
		}
	}
	items := strings.FieldsFunc(contract, func(r rune) bool { return r == ',' })
	drop := func(key string) {
		items = slices.DeleteFunc(items, func(item string) bool { return strings.HasPrefix(item, key+"=") })
	}
	switch f.Anomaly {
	case "unattributed-read": // what it read may be from before the first one of these records
		drop("capture")
		drop("start")
		items = append([]string{"capture=partial"}, items...)
	case "garbage-read":
		drop("start")
	}
	if len(items) > 0 {
		words = append(words, "--contract", strings.Join(items, ","))
	}
	return strings.Join(append(words, File(f)), " ")
}
