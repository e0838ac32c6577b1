package oracle

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestGraphAgreesWithBruteForce compares Check with Possible on random
// histories. A violation that Check sees must be impossible by trial, always.
// The other direction holds where Exact says so: with two writers of one value,
// blind writes, or several appends that nobody read, the operations leave an
// order open that only the trial decides, so those count for the first
// direction alone.
func TestGraphAgreesWithBruteForce(t *testing.T) {
	want := testrun.Count(3_000) // exact histories
	options := []Options{Small(), Small(), Wide()}
	options[1].Lists = false
	options[2].Max = 6
	rng := rand.New(rand.NewPCG(11, 12))
	exact, tried := 0, 0
	violated := map[Level]int{}
	for exact < want && tried < 10*want {
		h := Random(rng, options[tried%len(options)])
		tried++
		if v := Check(h); v.Exact(SessionSerializable) {
			exact++
			for _, l := range AllLevels() {
				if v.Violated[l] {
					violated[l]++
				}
			}
		}
		if problem := disagreement(h); problem != "" {
			small := Shrink(h, func(h History) bool { return disagreement(h) != "" })
			t.Fatalf("%s\n%s", disagreement(small), small.Text())
		}
	}
	t.Logf("%d histories, %d of them exact, of which violated: %v", tried, exact, violated)
	if exact < want {
		t.Errorf("only %d exact histories of %d", exact, tried)
	}
	for _, l := range AllLevels() {
		if violated[l] < exact/100 || violated[l] > 4*exact/5 {
			t.Errorf("%s: %d of %d exact histories are violated, want between a hundredth and four fifths", l, violated[l], exact)
		}
	}
}

// disagreement says in which way Check and Possible contradict each other on h.
func disagreement(h History) string {
	v := Check(h)
	for _, l := range AllLevels() {
		possible, err := Possible(h, l)
		switch {
		case err != nil:
			return err.Error()
		case possible && v.Violated[l]:
			return string(l) + ": false alarm: " + strings.Join(v.Names(), ", ")
		case !possible && !v.Violated[l] && v.Exact(l):
			return string(l) + ": missed"
		}
	}
	return ""
}

func TestPossibleRefusesTooMany(t *testing.T) {
	h := make(History, 9)
	for i := range h {
		h[i].Status = 1
	}
	if _, err := Possible(h, Serializable); err == nil || !strings.Contains(err.Error(), "9 transactions") {
		t.Errorf("error is %v, want one that names 9 transactions", err)
	}
}
