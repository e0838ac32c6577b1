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

// A text has room as it is drawn: hidden characters are written out, and wide ones take two columns.
func TestClipCountsWhatIsDrawn(t *testing.T) {
	for text, want := range map[string]string{
		"w key \u202e\u202e\u202e\u202e\u2028 of a customer": `w key \u202e\u2… of a customer`,
		strings.Repeat("鍵", 20):                              "鍵鍵鍵鍵鍵鍵鍵…鍵鍵鍵鍵鍵鍵鍵",
		strings.Repeat("鍵", 18):                              strings.Repeat("鍵", 18),
	} {
		if got := clip(text); got != want {
			t.Errorf("%q: %q of %d columns, want %q", text, got, columns(got), want)
		}
	}
	if got := startOf("\u202e\u202e and more", 12); got != `\u202e\u202…` {
		t.Errorf("%q", got)
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
