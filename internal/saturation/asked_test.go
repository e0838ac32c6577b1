package saturation

import (
	"math/rand/v2"
	"testing"
)

// TestDecideAsked: with less asked for, the verdicts are the same, and the rest of a violated history is not looked at.
func TestDecideAsked(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 5))
	held, fell, early := 0, 0, 0
	for i := range 3000 {
		h := random(r, 3+r.IntN(9), 1+r.IntN(3), 1+r.IntN(4))
		all, alone := h.Decide(Causal), h.DecideAsked(Asked{UpTo: Causal, Alone: true})
		sessions := h.DecideAsked(Asked{UpTo: Causal, Alone: true, Session: true})
		if alone.Plain[Causal] != all.Plain[Causal] || sessions.Session[Causal] != all.Session[Causal] {
			t.Fatalf("history %d: %v and %v, asked alone %v and %v\n%v", i, all.Plain[Causal], all.Session[Causal], alone.Plain[Causal], sessions.Session[Causal], h)
		}
		if all.Session[Causal] {
			held++
			continue
		}
		fell++
		run := newRun(h, true)
		run.state, run.alone = New(true), true
		if run.all(); run.refuted && len(run.order) < len(h.Txns) {
			early++
		}
	}
	if held < 300 || fell < 300 || early < 100 {
		t.Errorf("%d held, %d fell, %d of them before the end", held, fell, early)
	}
}
