package isolation

import (
	"os"
	"strings"
	"testing"
)

// The table of titles in docs/proofs.md, section 5, has those of all anomalies that
// are not a variant with session order or real time.
func TestTitlesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{} // "anomaly title"
	anomaly := ""
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		if name := strings.Trim(cells[1], " `"); name != "" {
			anomaly = name
		}
		listed[anomaly+" "+strings.TrimSpace(cells[2])] = true
	}
	for _, name := range AnomalyNames() {
		if strings.HasSuffix(name, "-process") || strings.HasSuffix(name, "-realtime") {
			continue
		}
		if want := name + " " + TitleOf(name); !listed[want] {
			t.Errorf("no row for %s", want)
		}
	}
	for _, x := range []struct {
		anomaly, title string
	}{
		{"G-single-item", missedTitle(ReadAtomic, Plain)}, {"G-single-item", missedTitle(Causal, Plain)},
		{"G-single-item", missedTitle(MonotonicAtomicView, Plain)}, {"G2-item", "write skew"},
		{"internal", "own write not read"}, {"internal", "non-repeatable read"}, {"G-single-item", "conflicting writes"},
	} {
		if !listed[x.anomaly+" "+x.title] {
			t.Errorf("no row for %s %s", x.anomaly, x.title)
		}
	}
}

// A longer cycle of anti-dependencies is called what its group is called, on each page and in text.
func TestOneNameOfSkews(t *testing.T) {
	for _, x := range EveryTitle() {
		if strings.HasPrefix(x.Anomaly, "G2") && !IsTried(x.Title) && x.Title != TitleOf(x.Anomaly) && x.Anomaly != "G2-item-process" && x.Anomaly != "G2-item-realtime" {
			t.Errorf("%s is called %q, and its group %q", x.Anomaly, x.Title, TitleOf(x.Anomaly))
		}
	}
}
