package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/workload"
)

func stream(t *testing.T, cfg workload.Config, seed uint64, n int) (History, []workload.Planted) {
	t.Helper()
	cfg.Count = n
	rng := rand.New(rand.NewPCG(seed, 21))
	g, err := workload.NewGenerator(cfg, rng)
	if err != nil {
		t.Fatal(err)
	}
	arrivals := workload.NewArrivals(g, time.Millisecond, rng)
	var h History
	for txn, ok := arrivals.Next(); ok; txn, ok = arrivals.Next() {
		h = append(h, txn)
	}
	return h, g.Planted()
}

// TestGeneratorKeepsItsIsolation checks generated streams whole: the store that
// claims to be serializable is, that with snapshot isolation is too and shows
// write skew, both with unknown and aborted transactions under contention.
func TestGeneratorKeepsItsIsolation(t *testing.T) {
	for _, kind := range []workload.Kind{workload.Registers, workload.Lists} {
		for _, iso := range []workload.Isolation{workload.Serializable, workload.SnapshotIsolation} {
			for _, keys := range []int{3, 40, 100_000} {
				t.Run(fmt.Sprintf("kind%d/isolation%d/keys%d", kind, iso, keys), func(t *testing.T) {
					h, _ := stream(t, workload.Config{Kind: kind, Isolation: iso, Keys: keys, Sessions: 12, Aborted: 0.05, Unknown: 0.1}, 1, 2000)
					v := Check(h)
					if v.Violated[Snapshot] || v.Violated[SessionSnapshot] {
						t.Errorf("snapshot isolation is violated: %v", v.Anomalies[0])
					}
					skew := iso == workload.SnapshotIsolation && keys <= 40
					if v.Violated[SessionSerializable] != skew {
						t.Errorf("serializable violated is %v, want %v: %v", !skew, skew, v.Names())
					}
					if v.Graph.Ambiguous > 0 || len(v.Graph.NotSequential) > 0 {
						t.Errorf("%d ambiguous values, sessions %v not sequential", v.Graph.Ambiguous, v.Graph.NotSequential)
					}
				})
			}
		}
	}
}

// TestPlantedAnomaliesStandAlone checks that what is found in a stream with
// planted anomalies is what was planted: every group, nothing outside.
func TestPlantedAnomaliesStandAlone(t *testing.T) {
	for _, kind := range []workload.Kind{workload.Registers, workload.Lists} {
		h, planted := stream(t, workload.Config{Kind: kind, Keys: 200, Sessions: 16, Unknown: 0.05, Aborted: 0.05, PlantEvery: 40}, 2, 3000)
		group := map[string]int{} // transaction -> planted index
		for n, p := range planted {
			for _, id := range p.Txns {
				group[id] = n
			}
		}
		found := map[int][]string{}
		for _, a := range Check(h).Anomalies {
			for _, id := range a.Txns {
				n, ok := group[id]
				if !ok {
					t.Fatalf("%v was not planted", a)
				}
				found[n] = append(found[n], a.Name)
			}
		}
		for n, p := range planted {
			if !slices.Contains(found[n], p.Anomaly) {
				t.Errorf("planted %s %v: found only %v", p.Name, p.Txns, found[n])
			}
		}
		if len(planted) != 3000/40 {
			t.Errorf("kind %d: %d groups were planted, want %d", kind, len(planted), 3000/40)
		}
	}
}
