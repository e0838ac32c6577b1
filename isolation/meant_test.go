package isolation

import (
	"strings"
	"testing"
)

func TestMeantLevels(t *testing.T) {
	for name, want := range map[string]string{
		"SI": "snapshot-isolation", "SER": "serializable", "RC": "read-committed", "mav": "monotonic-atomic-view",
		"Serializable": "serializable", "serialisable": "serializable", "linearisable": "linearizable",
		"read committed": "read-committed", "REPEATABLE_READ": "", "SNAPSHOT_ISOLATION": "snapshot-isolation",
		"strong-session-SI": "strong-session-snapshot-isolation", "strong-session-serialisable": "strong-session-serializable",
		"strict-serialisable": "strong-serializable", "strong-SSER": "", "generalised-snapshot-isolation": "generalized-snapshot-isolation",
		"nonsense": "", "": "", "strong-": "",
	} {
		_, err := ParseLevel(name)
		switch {
		case err == nil:
			t.Errorf("%q is taken as a level", name)
		case want == "" && strings.Contains(err.Error(), "did you mean"), want != "" && !strings.Contains(err.Error(), "(did you mean "+want+"?)"):
			t.Errorf("%q: %.90q, want %q", name, err, want)
		}
	}
}
