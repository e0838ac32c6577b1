package config

import (
	"os"
	"strings"
	"testing"
)

// Each kind of input and of sink is on the page of the configuration, and is named where none is given.
func TestKindsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	check := func(of string, fields []field, all bool, err error) {
		for _, f := range fields {
			if _, kind := f.to.(option); !kind && !all {
				continue
			}
			if !strings.Contains(string(text), "| `"+f.key+"` |") {
				t.Errorf("docs/configuration.md has no row on the %s %s", of, f.key)
			}
			if err == nil || !strings.Contains(err.Error(), f.key) {
				t.Errorf("no %s: %v, which does not name %s", of, err, f.key)
			}
		}
	}
	var in Input
	check("input", in.fields(), true, in.Validate())
	s := NewSink()
	check("sink", s.fields(), false, s.Validate())
}
