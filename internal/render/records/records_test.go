package records

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// A finding is written as its records, those beside its members too. One without records is an error.
func TestRecords(t *testing.T) {
	f := finding.Finding{
		ID: "1f", Anomaly: "lost-update", Txns: []string{"A", "B"},
		History: []json.RawMessage{
			[]byte(`{"txn":"A","session":"a","status":"committed","ops":[{"op":"w","key":"x, w y","value":1}]}`),
			[]byte(`{"txn":"B","session":"b","status":"committed","ops":[{"op":"w","key":"x, w y","value":2}]}`),
		},
	}
	lines, err := JSONL(&f)
	if err != nil || strings.Count(string(lines), "\n") != 2 || strings.Count(string(lines), `"key":"x, w y"`) != 2 {
		t.Errorf("%v\n%s", err, lines)
	}
	if edn, err := EDN(&f); err != nil || strings.Count(string(edn), ":type :ok") != 2 || !strings.Contains(string(edn), "x, w y") {
		t.Errorf("%v\n%s", err, edn)
	}
	f.History = nil
	if text, err := EDN(&f); !errors.Is(err, ErrNone) {
		t.Errorf("%v of no records: %s", err, text)
	}
}
