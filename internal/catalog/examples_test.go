package catalog

import (
	"fmt"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// Each group has an example as long as there is room, and the rest of the room has the first others.
func TestExamples(t *testing.T) {
	var list []finding.Finding
	for _, anomaly := range []string{"G0", "G0", "G0", "G1a", "G0", "G1b", "G1a"} {
		list = append(list, finding.Finding{Source: "orders", Anomaly: anomaly})
	}
	for most, want := range map[int]string{0: "[]", 1: "[0]", 2: "[0 3]", 3: "[0 3 5]", 4: "[0 1 3 5]", 5: "[0 1 2 3 5]", 6: "[0 1 2 3 4 5]", 7: "[0 1 2 3 4 5 6]", 9: "[0 1 2 3 4 5 6]"} {
		if got := fmt.Sprint(Examples(list, most)); got != want {
			t.Errorf("at most %d: %s, want %s", most, got, want)
		}
	}
}
