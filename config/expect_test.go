package config

import (
	"strings"
	"testing"
)

// TestExpect: a level or a product's setting, and it is shown as it was given.
func TestExpect(t *testing.T) {
	w := DefaultWatch(LiveContract())
	for _, c := range []struct{ text, level, product string }{
		{"snapshot-isolation", "snapshot-isolation", ""},
		{"postgresql/repeatable-read", "strong-session-snapshot-isolation", "postgresql"},
		{"serializable", "serializable", ""},
	} {
		if err := w.SetExpect(c.text); err != nil || w.Expect.String() != c.level || w.Product() != c.product || w.Expected() != c.text {
			t.Errorf("%s: %v of %q, shown as %q, %v", c.text, w.Expect, w.Product(), w.Expected(), err)
		}
	}
	if err := w.SetExpect("teradata/serializable"); err == nil || !strings.Contains(err.Error(), "no product is called") {
		t.Errorf("teradata/serializable: %v", err)
	}
}
