package whole

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// A history in Protobuf gives what its JSON twin gives, also where it begins as
// JSON and goes on as Protobuf. Positions are numbers of records in both.
func TestCheckProto(t *testing.T) {
	g, err := workload.NewGenerator(workload.Config{
		Kind: workload.Lists, Count: 3_000, Keys: 100, PlantEvery: 500, Aborted: 0.02, Unknown: 0.02,
	}, rand.New(rand.NewPCG(5, 6)))
	if err != nil {
		t.Fatal(err)
	}
	var json, proto, mixed []byte
	var d event.Decoder
	for i := 0; ; i++ {
		txn, ok := g.Next()
		if !ok {
			break
		}
		line := workload.AppendJSON(nil, &txn)
		json = append(append(json, line...), '\n')
		var b event.Batch
		d.DecodeMessage(&b, event.Position{}, line)
		r := b.Record(&b.Txns[0])
		proto = event.AppendProto(proto, &r)
		if i < 1000 {
			mixed = append(append(mixed, line...), '\n')
		} else {
			mixed = event.AppendProto(mixed, &r)
		}
	}
	want := checkText(t, plainly(), string(json))
	if len(want.Findings) < 5 || want.Counters.DeadLetters > 0 {
		t.Fatalf("%d findings, %d dead letters", len(want.Findings), want.Counters.DeadLetters)
	}
	for name, text := range map[string][]byte{"protobuf": proto, "both": mixed} {
		got := checkText(t, plainly(), string(text))
		if f := map[string]string{"protobuf": "proto", "both": "jsonl"}[name]; got.Format != f {
			t.Errorf("%s: format %s", name, got.Format)
		}
		got.Format = want.Format
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got.Counters, want.Counters)
		}
	}
	survey, err := SurveyFile("-", bytes.NewReader(proto), nil)
	if err != nil {
		t.Fatal(err)
	}
	if survey.Invalid > 0 || survey.Records != want.Transactions {
		t.Errorf("validate: %d records, %d invalid", survey.Records, survey.Invalid)
	}
	cut := checkText(t, plainly(), string(proto[:len(proto)-3]))
	if cut.Counters.DeadLetters != 1 || cut.Transactions != want.Transactions-1 {
		t.Errorf("cut short: %d dead letters, %d transactions of %d", cut.Counters.DeadLetters, cut.Transactions, want.Transactions)
	}
}
