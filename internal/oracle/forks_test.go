package oracle

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestForksAgree: of stores whose transactions do not agree on what came first, Check and Possible say the
// same at every level. Without strays the store keeps its promise.
func TestForksAgree(t *testing.T) {
	said := map[string]int{}
	for i := range testrun.Count(1600) {
		rng := rand.New(rand.NewPCG(uint64(i), 91))
		serial, stray := i%2 == 1, []float64{0, 0.3}[i/2%2]
		h := Forks(rng, 5+rng.IntN(2), serial, stray)
		if problem := disagreement(h); problem != "" {
			small := Shrink(h, func(h History) bool { return disagreement(h) != "" })
			t.Fatalf("history %d: %s\n%s", i, disagreement(small), small.Text())
		}
		keeps := Level("consistent-view")
		if serial {
			keeps = "update-serializable"
		}
		v := Check(h)
		if stray == 0 && v.Violated[keeps] {
			t.Fatalf("history %d: not %s: %v\n%s", i, keeps, v.Anomalies, h.Text())
		}
		for _, l := range []Level{"consistent-view", "update-serializable"} {
			switch {
			case v.Violated[l]:
				said[string(l)+" falls"]++
			case v.Violated[Snapshot]:
				said[string(l)+" holds where snapshot isolation falls"]++
			case v.Violated[Serializable]:
				said[string(l)+" holds where serializable falls"]++
			}
		}
	}
	t.Log(said)
	for _, of := range []string{"consistent-view falls", "update-serializable falls", "consistent-view holds where snapshot isolation falls", "update-serializable holds where snapshot isolation falls"} {
		if said[of] < testrun.Size(0, 5) {
			t.Errorf("%s in %d histories: too few to tell", of, said[of])
		}
	}
}
