package isolation

import "testing"

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
