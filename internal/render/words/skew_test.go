package words

import (
	"github.com/isowatch/isowatch/finding"
)

// skew is a finding as the checker makes it.
func skew() finding.Finding {
	return finding.Finding{
		ID: "7f3a", Source: "orders", Kind: finding.KindViolation, State: finding.Provisional, Certain: true,
		Anomaly: "G2-item", Title: "write skew",
		Refutes: []string{"serializable"}, AlsoRefutes: []string{"strong-session-serializable", "strong-serializable"},
		Txns: []string{"T1", "T2"},
		Edges: []finding.Edge{
			{From: "T1", To: "T2", Type: "rw", Key: "x", Value: "2", Evidence: "T1 read x = 1, which T2 overwrote with 2"},
			{From: "T2", To: "T1", Type: "rw", Key: "y", Value: "2", Evidence: "T2 read y = 1, which T1 overwrote with 2"},
		},
		Explanation: `G2-item (write skew): the results contradict serializable and everything stronger

Let:
  T1 = session a #1: r x 1, w y 2
  T2 = session b #1: r y 1, w x 2

Then:
  - T1 < T2, because T1 read x = 1, which T2 overwrote with 2.
  - However, T2 < T1, because T2 read y = 1, which T1 overwrote with 2: a contradiction!
`,
		FirstPosition: "nats:ISOWATCH/7", LastPosition: "nats:ISOWATCH/9",
	}
}
