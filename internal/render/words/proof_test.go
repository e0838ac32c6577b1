package words

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// A proof keeps its lines, and a long one ends with where the rest is.
func TestShortProof(t *testing.T) {
	f := finding.Finding{ID: "7f3a", Explanation: "G0: the headline\n\nLet:\n  T1 = w x \x1b[31m\n\nThen:\n  - T1 < T2.\n"}
	if got, want := ShortProof(&f, 100), "Let:\n  T1 = w x \\x1b[31m\n\nThen:\n  - T1 < T2."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Explanation = "G0\n\nLet:\n" + strings.Repeat("  T1 = w x 1\n", 1000)
	got := ShortProof(&f, 100)
	const note = "\n... The rest is in the finding: monitor findings --data DIR --id 7f3a"
	if text, ok := strings.CutSuffix(got, note); !ok || len(text) > 100 || len(text) < 80 || !strings.HasSuffix(text, "w x 1") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
