package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// foundHiding are the findings of records, by id.
func foundHiding(t *testing.T, records [][]byte, hide string) map[string]finding.Finding {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	e, err := engine.Open(st, engine.Options{Now: func() int64 { return awayEpoch }, Configure: func(string) window.Config {
		return window.Config{
			Levels: levelsBefore(), Expect: isolation.Level{Base: isolation.Serializable}, Hide: hide,
			Window: window.For(time.Second), Lateness: window.For(20 * time.Millisecond), Contract: window.Contract{Complete: true},
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	in := make(chan ingest.Chunk, 1)
	c := ingest.Chunk{Partition: "p", Cursor: ingest.Cursor{Next: int64(len(records))}}
	for i, r := range records {
		c.Messages = append(c.Messages, ingest.Message{Offset: int64(i), Value: r})
	}
	in <- c
	close(in)
	if err := e.Run(context.Background(), in, true); err != nil {
		t.Fatal(err)
	}
	all := map[string]finding.Finding{}
	if err := (engine.Reader{Store: st}).Each(func(f *finding.Finding) error { all[f.ID] = *f; return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// A source that hides values has the same findings, with no value in any text; their history is the
// same, so that it can be replayed.
func TestHiddenValues(t *testing.T) {
	value := regexp.MustCompile(`("value":|"expected":|"seen":|[\[,])(\d+)`)
	for name, c := range map[string]workload.Config{
		"registers": {Kind: workload.Registers, Blind: 0.2}, "lists": {Kind: workload.Lists},
	} {
		t.Run(name, func(t *testing.T) {
			c.Count, c.Keys, c.Sessions, c.PlantEvery, c.Aborted, c.Unknown, c.Start = 1500, 60, 8, 20, 0.1, 0.05, awayEpoch
			g, err := workload.NewGenerator(c, rand.New(rand.NewPCG(5, 26)))
			if err != nil {
				t.Fatal(err)
			}
			var records [][]byte
			for txn, ok := g.Next(); ok; txn, ok = g.Next() {
				records = append(records, value.ReplaceAll(workload.AppendJSON(nil, &txn), []byte(`$1"private-$2"`)))
			}
			if name == "registers" { // findings about one transaction or two, without a cycle
				for _, r := range []string{
					`{"txn":"X1","session":"x","status":"committed","start":%d,"end":%d,"ops":[{"op":"w","key":"a","value":"private-a"},{"op":"r","key":"a","value":"private-b"}]}`,
					`{"txn":"X2","session":"x","status":"aborted","start":%d,"end":%d,"ops":[{"op":"w","key":"c","value":{"x":"private-c"}}]}`,
					`{"txn":"X3","session":"y","status":"committed","start":%d,"end":%d,"ops":[{"op":"r","key":"c","value":{"x":"private-c"}}]}`,
					`{"txn":"X3","session":"y","status":"committed","start":%d,"end":%d,"ops":[{"op":"r","key":"c","value":"private-d"}]}`,
					`{"txn":"X4","session":"y","status":"committed","start":%d,"end":%d,"ops":[{"op":"cas","key":"e","expected":"private-e","value":"private-f","success":true,"seen":"private-g"}]}`,
					`{"txn":"X5","session":"z","status":"committed","start":%d,"end":%d,"ops":[{"op":"range","from":"r","to":"s","result":[{"key":"r1","value":"private-h"}]}]}`,
				} {
					records = append(records, fmt.Appendf(nil, r, awayEpoch+2e9, awayEpoch+2e9+1))
				}
			}
			shown, hidden := foundHiding(t, records, ""), foundHiding(t, records, "a secret")
			anomalies := map[string]int{}
			for id, f := range shown {
				anomalies[f.Anomaly]++
				h, ok := hidden[id]
				if !ok {
					t.Errorf("%s %s is missing where values are hidden", f.Anomaly, id)
					continue
				}
				if f.Kind == finding.KindViolation && !h.Hidden {
					t.Errorf("%s is not marked as hidden", f.Anomaly)
				}
				if strings.Join(f.Txns, " ") != strings.Join(h.Txns, " ") || len(f.Edges) != len(h.Edges) || len(f.History) != len(h.History) || f.Anomaly != h.Anomaly {
					t.Errorf("%+v\nis another finding than\n%+v", h, f)
					continue
				}
				for i := range f.History {
					if string(f.History[i]) != string(h.History[i]) {
						t.Errorf("%s: history %s, want %s", f.Anomaly, h.History[i], f.History[i])
					}
				}
				for i := range f.Edges {
					if a, b := f.Edges[i], h.Edges[i]; a.From != b.From || a.To != b.To || a.Type != b.Type || a.Key != b.Key || (a.Value == "") != (b.Value == "") {
						t.Errorf("%s: edge %+v, want %+v", f.Anomaly, b, a)
					}
				}
				h.History = nil
				text, err := json.Marshal(&h)
				if err != nil || strings.Contains(string(text), "private") {
					t.Errorf("%s tells a value: %s", f.Anomaly, text)
				}
			}
			if len(shown) != len(hidden) || len(shown) < 20 {
				t.Errorf("%d findings, %d where values are hidden", len(shown), len(hidden))
			}
			if name == "registers" && (anomalies["internal"] == 0 || anomalies["G1a"] == 0) {
				t.Errorf("too few kinds: %v", anomalies)
			}
		})
	}
}
