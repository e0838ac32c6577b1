package finding_test

import (
	"encoding/json"
	"fmt"

	"github.com/isowatch/isowatch/finding"
)

// A sink reads the findings that a monitor prints, one JSON object a line. The id is the same in
// every revision, so a reader that keeps the latest one knows what stands.
func ExampleFinding() {
	lines := []string{
		`{"id":"42eb","kind":"violation","state":"provisional","revision":1,"certain":true,"anomaly":"G2-item","refutes":["serializable"],"also_refutes":[],"txns":["t1","t2"]}`,
		`{"id":"42eb","kind":"violation","state":"withdrawn","revision":2,"certain":true,"anomaly":"G2-item","refutes":["serializable"],"also_refutes":[],"txns":["t1","t2"]}`,
	}
	latest := map[string]finding.Finding{}
	for _, line := range lines {
		var f finding.Finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			fmt.Println(err)
			return
		}
		if f.Revision > latest[f.ID].Revision {
			latest[f.ID] = f
		}
	}
	for _, f := range latest {
		fmt.Println(f.ID, f.State, f.Anomaly, f.Refutes)
	}
	// Output:
	// 42eb withdrawn G2-item [serializable]
}
