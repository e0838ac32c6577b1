package oracle

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
)

// TestOrdersAgreeWithBruteForce: of blind writes the order that is tried decides, as all
// orders of commits do.
func TestOrdersAgreeWithBruteForce(t *testing.T) {
	opt := Small()
	opt.Lists, opt.Keys, opt.Max, opt.Blind = false, 2, 7, 0.7
	rng := rand.New(rand.NewPCG(41, 42))
	open, violated := 0, 0
	for range testrun.Count(3000) {
		h := Random(rng, opt)
		v := Check(h)
		if v.Graph.Undecided == 0 || v.Graph.Ambiguous > 0 {
			continue
		}
		open++
		for _, l := range AllLevels() {
			possible, err := Possible(h, l)
			if err != nil {
				t.Fatal(err)
			}
			if l.forbids("prefix") && possible == v.Violated[l] {
				t.Fatalf("%s: possible %v, violated %v\n%s", l, possible, v.Violated[l], h.Text())
			}
		}
		if v.Violated[SessionSnapshot] {
			violated++
		}
	}
	t.Logf("%d histories with an open order, %d of them violate %s", open, violated, SessionSnapshot)
	if open < testrun.Least(1000) || violated < open/10 || violated > 9*open/10 {
		t.Errorf("%d histories with an open order, %d of them violated", open, violated)
	}
}

// TestOrderOfManyWriters: four transactions have no order, whatever others write blindly.
// T2 read what T1 wrote and replaced it, T4 read T2's version, and T3 wrote between T1 and
// T4 in their session: behind T2, T4 had to see it, and before T2, T2 had.
func TestOrderOfManyWriters(t *testing.T) {
	const four = `
txn T1 session=s seq=1: write x 1
txn T2: read x 1, write x 2
txn T3 session=s seq=2: write x 3
txn T4 session=s seq=3: read x 2, write x 4
`
	for _, blind := range []int{0, 4, 6, 20, 60} {
		text := ""
		for i := range blind {
			text += fmt.Sprintf("txn W%d: write x %d\n", i, 100+i)
		}
		h, err := workload.Parse(text + four)
		if err != nil {
			t.Fatal(err)
		}
		v := Check(h)
		if v.Violated[Snapshot] || v.Violated["strong-session-prefix"] || !v.Violated[SessionSnapshot] || !v.Violated[SessionSerializable] {
			t.Errorf("beside %d writers: %v", blind, v.Violated)
		}
	}
}
