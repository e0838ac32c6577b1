package whole

import (
	"encoding/json"

	"github.com/isowatch/isowatch/window"
)

// KindVerdict is the kind of a line that holds verdicts, among lines that hold findings.
const KindVerdict = "verdict"

// verdictLine has the verdicts on one source at the end of its input.
type verdictLine struct {
	Kind         string                  `json:"kind"`
	Source       string                  `json:"source"`
	Transactions int64                   `json:"transactions"`
	Verdicts     map[string]string       `json:"verdicts"`
	Reasons      map[string]string       `json:"reasons"`
	Decided      map[string]float64      `json:"decided,omitempty"`
	Why          map[string][]window.Why `json:"why,omitempty"`
	Repeats      []window.WrittenTwice   `json:"repeats,omitempty"`
	Notes        []string                `json:"notes,omitempty"`
}

// AppendVerdictLine appends the verdicts of r as one line of JSON, for output that holds a finding a
// line. Its kind tells it from these.
func AppendVerdictLine(dst []byte, r *Report) ([]byte, error) {
	line, err := json.Marshal(verdictLine{KindVerdict, r.File, r.Transactions, r.Verdicts, r.Reasons, r.Decided, r.Why, r.Repeats, r.Notes})
	if err != nil {
		return dst, err
	}
	return append(append(dst, line...), '\n'), nil
}
