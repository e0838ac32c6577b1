package words

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// Who asks for levels expects none of them.
func TestAppendAsked(t *testing.T) {
	f := finding.Finding{Kind: finding.KindViolation, Certain: true, Expected: true, Refutes: []string{"serializable"}}
	if got := string(AppendAsked(nil, &f, false, OfService)); !strings.Contains(got, "Allowed by the levels asked for. Refutes serializable.") {
		t.Error(got)
	}
	f.Expected = false
	if got := string(AppendAsked(nil, &f, false, OfService)); got != string(Append(nil, &f, false)) {
		t.Error(got)
	}
}
