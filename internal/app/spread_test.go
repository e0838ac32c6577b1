package app

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// pieces are the operation-level records of a whole one, which say that they are
// spread.
func pieces(t *testing.T, record []byte) [][]byte {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(record, &whole); err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	piece := func(fields map[string]any) {
		for _, name := range []string{"txn", "source"} {
			if v := whole[name]; v != nil {
				fields[name] = v
			}
		}
		fields["spread"] = true
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	begin := map[string]any{"type": "begin"}
	for _, name := range []string{"session", "seq", "start"} {
		if v, ok := whole[name]; ok {
			begin[name] = v
		}
	}
	ops := whole["ops"].([]any)
	piece(begin)
	for i, op := range ops {
		fields := op.(map[string]any)
		fields["type"], fields["index"] = "op", i
		piece(fields)
	}
	if whole["status"] != "unknown" { // which never ends
		end := map[string]any{"type": map[any]string{"committed": "commit", "aborted": "abort"}[whole["status"]], "count": len(ops)}
		if v, ok := whole["end"]; ok {
			end["end"] = v
		}
		piece(end)
	}
	return out
}

// Pieces of transactions that lie at random in three partitions, out of order by up
// to some hundred pieces, give what the whole transactions give.
func TestSpreadOverPartitions(t *testing.T) {
	addrs, client := kafkaTopic(t, 3)
	rng := rand.New(rand.NewPCG(8, 9))
	// Small times: encoding/json rounds those beyond 2^53.
	g, err := workload.NewGenerator(workload.Config{
		Kind: workload.Registers, Count: 2_000, Keys: 100, PlantEvery: 500, Aborted: 0.02, Unknown: 0.02, Start: 1, Interval: 1000,
	}, rng)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	var all [][]byte
	for txn, ok := g.Next(); ok; txn, ok = g.Next() {
		record := workload.AppendJSON(nil, &txn)
		text = append(append(text, record...), '\n')
		all = append(all, pieces(t, record)...)
	}
	for i := range all {
		j := min(i+rng.IntN(300), len(all)-1)
		all[i], all[j] = all[j], all[i]
	}
	var records []*kgo.Record
	for _, p := range all {
		records = append(records, &kgo.Record{Topic: "t", Partition: rng.Int32N(3), Value: p})
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	r := replayOf()
	contract := config.WholeContract()
	r.Watch = config.DefaultWatch(contract)
	r.Kafka = &config.Kafka{Brokers: addrs, Topics: []string{"t"}}
	got, want := replayed(t, r), checkText(t, string(text))
	if want.Outcome() != window.Violated || len(want.Findings) < 4 || want.Counters.DeadLetters > 0 {
		t.Fatalf("%s, %d findings, %+v", want.Outcome(), len(want.Findings), want.Counters)
	}
	found := func(r *Report) map[string]bool {
		ids := map[string]bool{}
		for _, f := range r.Findings {
			ids[fmt.Sprint(f.ID, f.Anomaly)] = true
		}
		return ids
	}
	if a, b := found(&got.Report), found(want); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("findings %v, want %v", a, b)
	}
	if got.Counters != want.Counters {
		t.Errorf("counters %+v, want %+v", got.Counters, want.Counters)
	}
}
