package oracle

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
)

func shows(name string) func(History) bool {
	return func(h History) bool { return slices.Contains(Check(h).Names(), name) }
}

func TestShrinkFindsTheCore(t *testing.T) {
	const noise = `
txn n1 session=a start=1 end=2: append q 70, append q 71
txn s1 session=b start=3 end=9: read key40 nil, read q [70,71], write key40 41
txn s2 session=a status=unknown start=3 end=9: read key40 41, write key40 42, append q 72
txn s3 session=b start=11 end=19: read key40 41, read other nil, write key40 43
txn n2 session=c start=12 end=13: read key40 43, read q [70,71,72]`
	const want = "txn T1: write x 1\ntxn T2: read x 1, write x 2\ntxn T3: read x 1, write x 3\n"
	h, err := workload.Parse(noise)
	if err != nil {
		t.Fatal(err)
	}
	before := History(h).Text()
	if got := Shrink(h, shows("lost-update")).Text(); got != want {
		t.Errorf("shrunk to\n%swant\n%s", got, want)
	}
	if History(h).Text() != before {
		t.Error("Shrink changed its argument")
	}
}

// TestShrinkIsMinimal checks on random failures that no transaction and no
// operation of the result can go.
func TestShrinkIsMinimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	done := map[string]int{}
	for range testrun.Count(3000) {
		h := Random(rng, Wide())
		names := Check(h).Names()
		if len(names) == 0 || done[names[0]] == 3 {
			continue
		}
		done[names[0]]++
		fails := shows(names[0])
		small := Shrink(h, fails)
		if !fails(small) {
			t.Fatalf("%s is gone from\n%s", names[0], small.Text())
		}
		for i := range small {
			for _, smaller := range append(withoutTxn(small, i), withoutOp(small, i)...) {
				if fails(smaller) {
					t.Fatalf("%s: smaller still:\n%s\nthan\n%s", names[0], smaller.Text(), small.Text())
				}
			}
		}
	}
	if len(done) < 8 {
		t.Errorf("only the anomalies %v were shrunk", done)
	}
}

func TestShrinkRenames(t *testing.T) {
	h, err := workload.Parse("txn t900 session=client7: read account [500,400], append account 300\ntxn t901 session=client7: read k nil, write k 12")
	if err != nil {
		t.Fatal(err)
	}
	got := renamed(h).Text()
	want := "txn T1 session=a seq=1: read x [1,2], append x 3\ntxn T2 session=a seq=2: read y nil, write y 1\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if lines := strings.Count(History(h).JSONL(), "\n"); lines != 2 {
		t.Errorf("JSONL has %d lines, want 2", lines)
	}
}
