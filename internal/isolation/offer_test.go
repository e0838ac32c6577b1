package isolation

import (
	"strings"
	"testing"
)

// Neighbours that are swapped are one slip.
func TestClosest(t *testing.T) {
	for name, want := range map[string]string{
		"outptu": "output", "outpt": "output", "Output": "output", "otuptu": "", "x": "", "format": "format", "fromat": "format",
	} {
		if got := Closest(name, []string{"output", "format"}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Five names are offered at most, the nearest first; one that is meant stands alone.
func TestOffer(t *testing.T) {
	near := strings.Fields("start-a start-b start-c start-d start-e start-f start-g start-h end")
	if got, want := Offer("start", near), "the nearest are start-a, start-b, start-c, start-d, start-e"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Offer("strat-f", near), "did you mean start-f?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Offer("foo", near), "some are end, start-a, start-b, start-c, start-d"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	all := Offer("read", strings.Fields("read-a read-b read-c read-d read-e read-f read-g"))
	if n := strings.Count(all, ",") + 1; n != 5 {
		t.Errorf("%d names: %q", n, all)
	}
}
