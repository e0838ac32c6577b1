package simtest

import (
	"regexp"
	"strconv"
	"testing"
)

// hardCases is how many hard cases there are (docs/testing.md).
const hardCases = 29

// TestHardCases: each of them is a scenario, but for those of blind writes in windows,
// of which there are random histories.
func TestHardCases(t *testing.T) {
	numbered := regexp.MustCompile(`^(?:hard case )?(\d+)[ ,]`)
	is := map[int]bool{10: true, 11: true, 18: true}
	for _, file := range scenarioFiles(t) {
		all, err := parseScenarios(readFile(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if m := numbered.FindStringSubmatch(all[i].name); m != nil {
				n, _ := strconv.Atoi(m[1])
				is[n] = true
			}
		}
	}
	for n := 1; n <= hardCases; n++ {
		if !is[n] {
			t.Errorf("no scenario is of case %d", n)
		}
	}
}
