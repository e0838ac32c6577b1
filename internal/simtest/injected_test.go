package simtest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// TestInjected: a store that is strictly serializable but for one bug. Each anomaly
// is found by its name, refutes the level that it should and those that imply it, and
// no weaker one and none beside.
func TestInjected(t *testing.T) {
	t.Parallel()
	for _, kind := range []workload.Kind{workload.Registers, workload.Lists} {
		for n, x := range workload.Injections(kind) {
			if testrun.LeavesOut(n+int(kind), 5) {
				continue
			}
			t.Run([2]string{"registers", "lists"}[kind]+" "+x.Name, func(t *testing.T) {
				injected(t, kind, x, uint64(n))
			})
		}
	}
}

func injected(t *testing.T, kind workload.Kind, x workload.Injection, seed uint64) {
	g, err := workload.NewGenerator(workload.Config{
		Kind: kind, Isolation: workload.Serializable, Count: 400, Keys: 100, PlantEvery: 100, Plant: []string{x.Name},
	}, rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		t.Fatal(err)
	}
	var h []workload.Txn
	a := workload.NewArrivals(g, time.Millisecond, rand.New(rand.NewPCG(seed, 2)))
	for {
		txn, ok := a.Next()
		if !ok {
			break
		}
		h = append(h, txn)
	}
	cfg := exact()
	cfg.Levels = triedLevels()
	m, found, err := run(cfg, batchOf(t, h, identity(len(h))), false)
	if err != nil {
		t.Fatal(err)
	}
	var weakest []isolation.Level
	for _, name := range x.Weakest {
		l, err := isolation.ParseLevel(name)
		if err != nil {
			t.Fatal(err)
		}
		weakest = append(weakest, l)
	}
	for _, l := range m.Levels() {
		verdict, why := m.Verdict(l)
		switch {
		case l.Refuted(weakest) && verdict != window.Violated:
			t.Errorf("%v is %s (%s), and %s refutes %v", l, verdict, why, x.Name, x.Weakest)
		case !l.Refuted(weakest) && verdict == window.Violated:
			t.Errorf("%v is violated, and %s refutes only %v", l, x.Name, x.Weakest)
		}
	}
	latest := map[string]finding.Finding{}
	for _, f := range found {
		if f.Kind == finding.KindViolation {
			latest[f.ID] = f
		}
	}
	named := 0
	for _, f := range latest {
		switch {
		case f.State == finding.Withdrawn:
		case f.Anomaly == x.Anomaly && f.Title == x.Title && slices.Equal(unselected(f.Refutes), unselected(x.Weakest)):
			named++
		default:
			for _, text := range f.Refutes {
				if l, err := isolation.ParseLevel(text); err != nil || !l.Refuted(weakest) && !l.Underlying().Selects() {
					t.Errorf("%s (%s) refutes %v: %s", f.Anomaly, f.Title, f.Refutes, f.Explanation)
				}
			}
		}
	}
	if planted := len(g.Planted()); named < planted || planted < 3 {
		t.Errorf("%d findings are %s (%s) that refute %v, planted %d times; all: %s", named, x.Anomaly, x.Title, x.Weakest, planted, lines(found))
	}
}
