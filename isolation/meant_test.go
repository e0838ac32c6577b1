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
		l, err := ParseLevel(name)
		if err == nil && l.String() != want || err != nil && want != "" {
			t.Errorf("%q: %v, %v, want %q", name, l, err, want)
		}
	}
}

// A name that is none is answered with what is nearest, five at most.
func TestNamesThatAreNone(t *testing.T) {
	for name, want := range map[string]string{
		"serializabel": "did you mean serializable?", "snapshot-isolaton": "did you mean snapshot-isolation?",
		"repeatable-read": "postgresql/repeatable-read", "PL-2.99": "serializable is the nearest stronger level",
		"nonsense": "the nearest are ", "cursor stability": "snapshot-isolation is the nearest stronger level",
	} {
		_, err := ParseLevel(name)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), ",") > 5 {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}
