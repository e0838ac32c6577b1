package config

import (
	"strings"
	"testing"
)

// TestSubjectsOverlap: two filters that match one record would have it read twice, in a group as two units. Each case holds both ways round.
func TestSubjectsOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.x", "a.x", true},
		{"a.x", "a.y", false},
		{"a.>", "a.x", true},
		{"a.>", "a.x.y", true},
		{"a.>", "a", false},
		{"a.>", "b.x", false},
		{">", "a", true},
		{">", "*.x", true},
		{"a.*", "a.x", true},
		{"a.*", "a.x.y", false},
		{"a.*", "*.x", true},
		{"a.*.c", "a.b.*", true},
		{"a.*.c", "a.b.d", false},
		{"*.b.>", "a.*.c", true},
		{"*.b.>", "a.c.>", false},
		{"a.*", "a.>", true},
		{"a.*x", "a.yx", false}, // a star counts as a whole token only
	} {
		for _, subjects := range [][]string{{c.a, c.b}, {c.b, c.a}} {
			in := Input{NATS: &NATS{URLs: []string{"nats://h"}, Stream: "S", Subjects: subjects}}
			err := in.Validate()
			if (err != nil) != c.want {
				t.Errorf("%q: %v, want a fault: %v", subjects, err, c.want)
			}
			if err != nil && (!strings.Contains(err.Error(), `"`+c.a+`"`) || !strings.Contains(err.Error(), `"`+c.b+`"`) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%q: %v does not name both in a line", subjects, err)
			}
		}
	}
}
