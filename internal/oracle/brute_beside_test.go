package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
)

// TestPossibleBeside: where nothing is free the verdicts are those of Possible, and else
// those of Possible on the history with the others written down, who may have been there.
func TestPossibleBeside(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 1))
	said := map[string]int{}
	for range testrun.Count(1500) {
		opt := Options{Min: 2, Max: 5, Keys: 2, Sessions: 2, Registers: true, Lists: rng.IntN(3) == 0, Unknown: 0.05, Blind: 0.2, Repeat: 0.2, Corrupt: 0.6}
		h := Random(rng, opt)
		share := rng.IntN(3)
		free := func(o *workload.Op) bool { return !o.IsList && (int(o.Value)+len(o.Key)+of(o.Absent))%3 < share }
		full := h.Clone()
		for i := range h {
			for _, o := range h[i].Ops {
				if o.Kind == event.Read && h[i].Status != event.Aborted && free(&o) {
					w := workload.Write(o.Key, o.Value)
					if o.Absent {
						w = workload.Op{Kind: event.Delete, Key: o.Key}
					}
					full = append(full, workload.Txn{ID: fmt.Sprint("beside", len(full)), Status: event.Unknown, Ops: []workload.Op{w}})
				}
			}
		}
		if len(full) > 7 {
			continue
		}
		for _, l := range AllLevels() {
			if !l.forbids("prefix") {
				continue
			}
			got, err := PossibleBeside(h, l, func(o *workload.Op) Leaver {
				if free(o) {
					return Anybody
				}
				return ARecord
			})
			if err != nil {
				t.Fatal(err)
			}
			want, err := Possible(full, l)
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Fatalf("%s: possible is %t, and %t with the others written down\n%s\n%s", l, got, want, h.Text(), full.Text())
			}
			said[fmt.Sprint(len(full) > len(h), got)]++
		}
	}
	t.Log(said)
	for _, k := range []string{"true true", "true false", "false true", "false false"} {
		if said[k] < testrun.Least(500) {
			t.Errorf("others beside, possible: %s: %d times", k, said[k])
		}
	}
}

func of(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestPossibleBesideRefuses(t *testing.T) {
	h := make(History, 7)
	for i := range h {
		h[i].Status = event.Committed
	}
	for l, want := range map[Level]string{Serializable: "7 transactions", "read-committed": "not tried"} {
		if _, err := PossibleBeside(h, l, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want one of %s", l, err, want)
		}
	}
}
