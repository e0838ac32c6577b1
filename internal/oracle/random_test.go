package oracle

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
)

func TestRandomIsDeterministic(t *testing.T) {
	make := func(seed uint64) []History {
		rng := rand.New(rand.NewPCG(seed, 0))
		var all []History
		for range 200 {
			all = append(all, Random(rng, Wide()))
		}
		return all
	}
	if !reflect.DeepEqual(make(1), make(1)) {
		t.Error("the same seed gave different histories")
	}
	if reflect.DeepEqual(make(1), make(2)) {
		t.Error("different seeds gave the same histories")
	}
}

// TestRandomCoversEverything checks that random histories show every anomaly
// and every reason for an inexact verdict, that about half are valid, and that
// their ids, sizes and sessions are as promised.
func TestRandomCoversEverything(t *testing.T) {
	n := testrun.Size(1_250, 20_000)
	rng := rand.New(rand.NewPCG(3, 4))
	names := map[string]int{}
	valid, ambiguous, undecided, observed := 0, 0, 0, 0
	for range n {
		h := Random(rng, Wide())
		if len(h) < 3 || len(h) > 12 {
			t.Fatalf("%d transactions, want 3 to 12", len(h))
		}
		checkShape(t, h)
		v := Check(h)
		if len(v.Graph.NotSequential) > 0 {
			t.Fatalf("sessions %v are not sequential\n%s", v.Graph.NotSequential, h.Text())
		}
		if !v.Violated[SessionSerializable] {
			valid++
		}
		ambiguous += min(1, v.Graph.Ambiguous)
		undecided += min(1, v.Graph.Undecided)
		for i := range h {
			if h[i].Status == event.Unknown && v.Graph.Counts[i] {
				observed++
			}
		}
		for _, name := range v.Names() {
			names[name]++
		}
	}
	t.Logf("valid %d, ambiguous %d, undecided %d, observed unknown outcomes %d, anomalies %v", valid, ambiguous, undecided, observed, names)
	if valid < n*35/100 || valid > n*65/100 {
		t.Errorf("%d of %d histories are valid, want about half", valid, n)
	}
	for what, count := range map[string]int{"ambiguous": ambiguous, "undecided": undecided, "observed unknown outcomes": observed} {
		if count < n/50 {
			t.Errorf("only %d histories with %s", count, what)
		}
	}
	for _, name := range []string{"G0", "G1a", "G1b", "G1c", "G-single-item", "G-nonadjacent-item", "G2-item", "G1c-process",
		"G-single-item-process", "G-nonadjacent-item-process", "G2-item-process", "lost-update", "dirty-update",
		"duplicate-elements", "incompatible-order", "internal", "future-read", "garbage-read"} {
		if names[name] < testrun.Least(3) {
			t.Errorf("%s occurs in %d histories of %d", name, names[name], n)
		}
	}
}

func checkShape(t *testing.T, h History) {
	t.Helper()
	if !slices.IsSortedFunc(h, func(a, b workload.Txn) int { return int(a.End - b.End) }) {
		t.Fatalf("not in the order of ends:\n%s", h.Text())
	}
	ids := map[string]bool{}
	for i := range h {
		if ids[h[i].ID] || h[i].Start >= h[i].End || len(h[i].Ops) == 0 {
			t.Fatalf("an id twice, no time or no operation:\n%s", h.Text())
		}
		ids[h[i].ID] = true
	}
}

// TestTextKeepsVerdicts checks that the printed form of a history is all of it.
func TestTextKeepsVerdicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		h := Random(rng, Wide())
		read, err := workload.Parse(h.Text())
		if err != nil {
			t.Fatal(err)
		}
		if History(read).Text() != h.Text() || describe(Check(read)) != describe(Check(h)) {
			t.Fatalf("read back as\n%s\nfrom\n%s", History(read).Text(), h.Text())
		}
	}
}
