package isolation

import (
	"slices"
	"strings"
	"testing"
)

// AnomalyNames are exactly the names that findings can carry.
func TestAnomalyNamesAreWhole(t *testing.T) {
	listed := AnomalyNames()
	var carried []string
	for _, x := range EveryTitle() {
		if !slices.Contains(carried, x.Anomaly) {
			carried = append(carried, x.Anomaly)
		}
		if x.Title == "" {
			t.Errorf("%s has no title", x.Anomaly)
		}
	}
	for _, name := range carried {
		if !slices.Contains(listed, name) {
			t.Errorf("findings are called %s, and AnomalyNames has it not", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(carried, name) {
			t.Errorf("AnomalyNames has %s, and no finding is called that", name)
		}
	}
	if len(listed) != len(anomalies) {
		t.Errorf("%d names are listed, and %d are known", len(listed), len(anomalies))
	}
}

// A title says what kind of order takes part, or is of a session guarantee or the like.
func TestEveryTitleIsOne(t *testing.T) {
	for _, x := range EveryTitle() {
		if strings.HasSuffix(x.Anomaly, "-process") && strings.Contains(x.Title, "real time") || !strings.HasSuffix(x.Anomaly, "-realtime") && strings.Contains(x.Title, "real time") {
			t.Errorf("%s is called %q", x.Anomaly, x.Title)
		}
	}
}
