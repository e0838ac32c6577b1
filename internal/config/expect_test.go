package config

import (
	"errors"
	"strings"
	"testing"
)

// TestExpect: a level or a product's setting, and it is shown in our spelling.
func TestExpect(t *testing.T) {
	w := DefaultWatch(LiveContract())
	for _, c := range []struct{ text, level, product, shown string }{
		{"snapshot-isolation", "snapshot-isolation", "", "snapshot-isolation"},
		{"postgresql/repeatable-read", "strong-session-snapshot-isolation", "postgresql", "postgresql/repeatable-read"},
		{"PG/Repeatable Read", "strong-session-snapshot-isolation", "postgresql", "postgresql/repeatable-read"},
		{"serializable", "serializable", "", "serializable"},
		{"PL-2.99", "repeatable-read", "", "repeatable-read"}, {"Cursor Stability", "cursor-stability", "", "cursor-stability"},
	} {
		if err := w.SetExpect(c.text); err != nil || w.Expect.String() != c.level || w.Product() != c.product || w.Expected() != c.shown {
			t.Errorf("%s: %v of %q, shown as %q, %v", c.text, w.Expect, w.Product(), w.Expected(), err)
		}
	}
	if err := w.SetExpect("teradata/serializable"); err == nil || !strings.Contains(err.Error(), "no product is called") {
		t.Errorf("teradata/serializable: %v", err)
	}
}

// TestNotes: what is taken of names with other meanings, of the last that were set.
func TestNotes(t *testing.T) {
	w := DefaultWatch(LiveContract())
	for _, c := range []struct {
		expect, levels string
		want           []string
	}{
		{"serializable", "default", nil},
		{"RR", "SI, ser, SI", []string{"RR means Adya's PL-2.99 here", "SI means snapshot-isolation here", "ser means serializable here"}},
		{"RR", "all", []string{"RR means"}},
		{"mysql/rr", "serializable", nil},
	} {
		if err := errors.Join(w.SetExpect(c.expect), w.SetLevels(c.levels)); err != nil {
			t.Fatal(err)
		}
		got := w.Notes()
		if len(got) != len(c.want) {
			t.Errorf("%s, %s: %q", c.expect, c.levels, got)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%s, %s: %q, want %q", c.expect, c.levels, got[i], c.want[i])
			}
		}
	}
}
