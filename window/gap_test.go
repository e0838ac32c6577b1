package window

import (
	"strings"
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

// It is not always known whether what was removed was of the input.
func TestPerhapsLost(t *testing.T) {
	var eff Effects
	New(Config{}).Lose(Gap{Partition: "nats:S", From: 3, To: 9, Reason: "some were removed, and may have been of these subjects"}, 0, &eff)
	if f := eff.Findings[0]; f.Headline != "Records of nats:S may be lost." || !strings.HasPrefix(f.Explanation, "records of nats:S may be lost: some") {
		t.Errorf("%s: %s", f.Headline, f.Explanation)
	}
}

// A unit that loses its state twice begins at the same place each time, and has read further: these are two findings, with two ids.
func TestLostStatesHaveIDs(t *testing.T) {
	m := New(Config{Levels: isolation.Encoded()})
	var eff Effects
	for _, read := range []string{"385", "497", "497"} {
		m.Lose(Gap{Partition: "S", From: 0, To: 1, Reason: StateLost + ". It was read up to " + read}, 1, &eff)
	}
	if len(eff.Findings) != 3 || eff.Findings[0].ID == eff.Findings[1].ID || eff.Findings[1].ID != eff.Findings[2].ID {
		t.Errorf("%+v", eff.Findings)
	}
}
