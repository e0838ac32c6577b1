package picture

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// A text that is little longer than a line stays whole. A bracket at the end stays closed.
func TestClip(t *testing.T) {
	for text, want := range map[string]string{
		"r acc/alice 105 (version 24517)":                  "r acc/alice 105 (version 24517)",
		"r account/alice 10500 (version 24517)":            "r account/alic…(version 24517)",
		"w stock/apple 8 (version 14395 after 14393)":      "w stock/apple 8 (version 143…)",
		"account-of-a-customer-with-a-long-name-and-a-key": "account-of-a-cu…name-and-a-key",
	} {
		if got := clip(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// The key of an arrow is quoted as that of an operation.
func TestArrowQuotes(t *testing.T) {
	e := finding.Edge{From: "A", To: "B", Type: "rw", Key: "x, w y"}
	if got := label(e); got != `rw "x, w y"` {
		t.Error(got)
	}
	if got := DOT(finding.Finding{Txns: []string{"A", "B"}, Edges: []finding.Edge{e}}); !strings.Contains(string(got), `rw \"x, w y\"`) {
		t.Error(string(got))
	}
}
