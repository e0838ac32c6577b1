package finding_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// Users read findings as JSON: each field and state is documented.
func TestEveryFieldIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, of := range []reflect.Type{reflect.TypeFor[finding.Finding](), reflect.TypeFor[finding.Edge](), reflect.TypeFor[finding.Mark](), reflect.TypeFor[finding.About](), reflect.TypeFor[finding.Core](), reflect.TypeFor[finding.Op]()} {
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !field.Anonymous {
				names = append(names, name)
			}
		}
	}
	for _, s := range []finding.State{finding.Waiting, finding.Provisional, finding.Final, finding.Withdrawn, finding.ResolvedOK, finding.ResolvedViolated} {
		names = append(names, string(s))
	}
	for _, k := range []finding.Kind{finding.KindViolation, finding.KindHorizon, finding.KindGap, finding.KindRecord} {
		names = append(names, string(k))
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/findings.md does not say what %s is", name)
		}
	}
}
