package simtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// arriving is a record and when it comes, ns.
type arriving struct {
	at     int64
	record []byte
}

// recordsBy are the records in the order of their arrival.
func recordsBy(as []arriving) (records [][]byte) {
	slices.SortStableFunc(as, func(a, b arriving) int { return int(a.at - b.at) })
	for _, a := range as {
		records = append(records, a.record)
	}
	return records
}

// wholeOf are the transactions as a record each, which comes at most the lateness
// behind their end.
func wholeOf(txns []workload.Txn, rng *rand.Rand) [][]byte {
	var as []arriving
	for i := range txns {
		t := &txns[i]
		as = append(as, arriving{t.End + rng.Int64N(int64(streamLateness)), workload.AppendJSON(nil, t)})
	}
	return recordsBy(as)
}

// partsOf are the transactions as a record an operation. Begin and end come at most
// the lateness behind their times, operations between them in any order. Those
// whose outcome their client does not know have no end.
func partsOf(tb testing.TB, txns []workload.Txn, rng *rand.Rand) [][]byte {
	tb.Helper()
	var as []arriving
	for i := range txns {
		t := &txns[i]
		var whole map[string]json.RawMessage
		var ops []map[string]json.RawMessage
		err := json.Unmarshal(workload.AppendJSON(nil, t), &whole)
		if err == nil {
			err = json.Unmarshal(whole["ops"], &ops)
		}
		if err != nil {
			tb.Fatal(err)
		}
		end, status := whole["end"], t.Status
		for _, name := range []string{"ops", "status", "end"} {
			delete(whole, name)
		}
		put := func(at int64, kind string, part map[string]json.RawMessage) {
			part["type"], part["txn"] = fmt.Appendf(nil, "%q", kind), whole["txn"]
			text, err := json.Marshal(part)
			if err != nil {
				tb.Fatal(err)
			}
			as = append(as, arriving{at, text})
		}
		last := t.End + rng.Int64N(int64(streamLateness))
		first := min(t.Start+rng.Int64N(int64(streamLateness)), last)
		put(first, "begin", whole)
		for j, op := range ops {
			op["index"] = fmt.Appendf(nil, "%d", j)
			put(first+rng.Int64N(last-first+1), "op", op)
		}
		switch status {
		case event.Committed:
			put(last, "commit", map[string]json.RawMessage{"end": end})
		case event.Aborted:
			put(last, "abort", map[string]json.RawMessage{"end": end})
		}
	}
	return recordsBy(as)
}

// TestStreamParts: a history has the same verdicts as whole records and as records
// of single operations, in any order of arrival within the lateness, however it is
// cut into steps and wherever it is interrupted.
func TestStreamParts(t *testing.T) {
	t.Parallel()
	cfg := streamConfig()
	cfg.Window = window.For(8 * time.Millisecond)
	cfg.Lateness = window.For(streamLateness + cfg.MaxTxn)
	for i, plant := range []string{"", "write-skew", "stale-session-read"} {
		for j, kind := range []workload.Kind{workload.Registers, workload.Lists} {
			if testrun.LeavesOut(i+2*j, 3) {
				continue
			}
			t.Run(fmt.Sprintf("%s kind %d", plant, kind), func(t *testing.T) {
				gen := workload.Config{Kind: kind, Count: streamTxns, Keys: 500, Aborted: 0.02, Unknown: 0.02}
				if plant != "" {
					gen.PlantEvery, gen.Plant = 100, []string{plant}
				}
				g, err := workload.NewGenerator(gen, rand.New(rand.NewPCG(6, 1)))
				if err != nil {
					t.Fatal(err)
				}
				var txns []workload.Txn
				for {
					txn, ok := g.Next()
					if !ok {
						break
					}
					txns = append(txns, txn)
				}
				want := runConfigured(t, cfg, wholeOf(txns, rand.New(rand.NewPCG(1, 3))), cut{step: 100})
				if want.counters.Unknown == 0 || want.counters.Aborted == 0 {
					t.Fatalf("counters %+v", want.counters)
				}
				if v := want.verdicts[workload.LevelSnapshot]; v.Verdict != window.OK && plant != "stale-session-read" {
					t.Fatalf("%s is %+v", workload.LevelSnapshot, v)
				}
				for i, c := range []cut{
					{name: "steps of 9", step: 9},
					{name: "steps of 100", step: 100},
					{name: "steps of 700, crash after each", step: 700, every: 1, happens: (*world).crash},
					{name: "one step", step: 1 << 20},
				} {
					got := runConfigured(t, cfg, partsOf(t, txns, rand.New(rand.NewPCG(uint64(i), 4))), c)
					for level, v := range want.verdicts {
						if g := got.verdicts[level]; !reflect.DeepEqual(g, v) {
							t.Errorf("%s: %s is %+v, want %+v", c.name, level, g, v)
						}
					}
					if got.counters.Unknown != want.counters.Unknown || got.counters.Committed != want.counters.Committed || got.counters.Aborted != want.counters.Aborted {
						t.Errorf("%s: counters %+v, want %+v", c.name, got.counters, want.counters)
					}
					for _, f := range strangers(want.findings, got.findings) {
						t.Errorf("%s: nothing shares a transaction with %s", c.name, summary(&f))
					}
					for _, f := range strangers(got.findings, want.findings) {
						t.Errorf("%s: %s is not found in whole records", c.name, summary(&f))
					}
				}
			})
		}
	}
}
