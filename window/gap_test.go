package window

import (
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// The headline of lost input names where it was: each source may have lost records there, and lists show no more.
func TestLostInputIsNamed(t *testing.T) {
	m := New(Config{Levels: isolation.Encoded()})
	var eff Effects
	m.Lose(Gap{Partition: "file:a\n.jsonl", From: 1, To: 1, Reason: "it was truncated"}, 1, &eff)
	if len(eff.Findings) != 1 || eff.Findings[0].Headline != `Records of file:a\x0a.jsonl are lost.` {
		t.Errorf("%+v", eff.Findings)
	}
}
