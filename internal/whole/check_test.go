package whole

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
)

const (
	skewOne = `{"txn":"T1","status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"y","value":1}]}`
	skewTwo = `{"txn":"T2","status":"committed","ops":[{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}]}`
)

func whole() *Whole { return &Whole{Watch: config.DefaultWatch(config.WholeContract())} }

func checkText(t *testing.T, w *Whole, text string) *Report {
	t.Helper()
	w.Stdin = strings.NewReader(text)
	r, err := w.CheckFile("-")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A transaction that never ends holds the watermark of a bounded check: it is not
// missing in its session, whose next member came long before the end of the input.
func TestCheckHoldsForOpen(t *testing.T) {
	w := whole()
	w.Bounded = true
	r := checkText(t, w, `{"txn":"1","session":"s","seq":1,"start":0,"end":1000000,"status":"committed","ops":[]}
{"type":"begin","txn":"2","session":"s","seq":2,"start":1000000}
{"txn":"3","session":"s","seq":3,"start":20000000,"end":21000000,"status":"committed","ops":[]}
{"txn":"4","session":"t","seq":1,"start":900000000000,"end":900000000001,"status":"committed","ops":[]}
`)
	if r.Counters.Unknown != 1 || r.Counters.Gaps != 0 || r.Counters.Late != 0 || r.Outcome() != "ok" {
		t.Errorf("outcome %s, counters %+v, %v", r.Outcome(), r.Counters, r.Reasons)
	}
}

// Generated histories of several steps: each planted anomaly is found, and
// nothing in the same history without them.
func TestCheckGenerated(t *testing.T) {
	for i, c := range []struct {
		name    string
		kind    workload.Kind
		every   int
		bounded bool
	}{
		{"valid registers", workload.Registers, 0, false},
		{"valid lists", workload.Lists, 0, false},
		{"planted registers", workload.Registers, 500, false},
		{"planted lists", workload.Lists, 500, false},
		{"planted lists, bounded", workload.Lists, 500, true},
	} {
		if testrun.Short() && i%3 == 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			g, err := workload.NewGenerator(workload.Config{
				Kind: c.kind, Count: 10_000, Keys: 300, PlantEvery: c.every, Aborted: 0.02,
			}, rand.New(rand.NewPCG(3, 4)))
			if err != nil {
				t.Fatal(err)
			}
			var text []byte
			for txn, ok := g.Next(); ok; txn, ok = g.Next() {
				text = append(workload.AppendJSON(text, &txn), '\n')
			}
			if len(text) < 2*StepBytes {
				t.Fatalf("%d bytes are one step", len(text))
			}
			w := whole()
			w.Bounded = c.bounded
			r := checkText(t, w, string(text))
			comparePlanted(t, r, g.Planted())
			if want := map[bool]string{true: "ok", false: "violated"}[c.every == 0]; r.Outcome() != want {
				t.Errorf("outcome %s, want %s: %v", r.Outcome(), want, r.Reasons)
			}
			if int(r.Transactions) != bytes.Count(text, []byte{'\n'}) {
				t.Errorf("%d transactions", r.Transactions)
			}
		})
	}
}

// comparePlanted: each planted anomaly is found under its name, and every finding
// is about transactions of one of them. Two findings may speak of one: an
// intermediate read is a cycle as well.
func comparePlanted(t *testing.T, r *Report, planted []workload.Planted) {
	t.Helper()
	found := map[string]bool{} // planted transaction and anomaly
	for _, f := range r.Findings {
		at := slices.IndexFunc(planted, func(p workload.Planted) bool {
			return !slices.ContainsFunc(f.Txns, func(id string) bool { return !slices.Contains(p.Txns, id) })
		})
		if at < 0 {
			t.Errorf("%s of %v was not planted", f.Anomaly, f.Txns)
			continue
		}
		found[planted[at].Txns[0]+" "+f.Anomaly] = true
	}
	for _, p := range planted {
		if !found[p.Txns[0]+" "+p.Anomaly] {
			t.Errorf("%s of %v was not found", p.Anomaly, p.Txns)
		}
	}
}

// A later record may withdraw a finding: it is not in the report.
func TestCheckLeavesOutWithdrawn(t *testing.T) {
	const (
		reader = `{"txn":"R","status":"committed","start":%d,"end":%d,"ops":[{"op":"r","key":"x","value":1}]}` + "\n"
		writer = `{"txn":"W","status":"committed","start":1,"end":2,"ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"x","value":1}]}` + "\n"
		later  = `{"txn":"L","status":"committed","start":900000000000,"end":900000000001,"ops":[{"op":"r","key":"z","found":false}]}` + "\n"
	)
	w := whole()
	w.Bounded, w.Watch.Window = true, config.Window{Duration: 1e15}
	garbage := checkText(t, w, fmt.Sprintf(reader, 3, 4)+later)
	if len(garbage.Findings) != 1 || garbage.Findings[0].Anomaly != "garbage-read" {
		t.Fatalf("without the writer: %+v", garbage.Findings)
	}
	explained := checkText(t, w, fmt.Sprintf(reader, 3, 4)+later+writer)
	if len(explained.Findings) != 0 {
		t.Errorf("with the writer: %+v", explained.Findings)
	}
}

func TestCheckCounters(t *testing.T) {
	var told []string
	w := whole()
	w.DeadLetter = func(position, _ string) { told = append(told, position) }
	r := checkText(t, w, strings.Join([]string{
		`{"txn":"T1","source":"a","session":"s","seq":1,"status":"committed","ops":[{"op":"append","key":"x","value":1}]}`,
		`{"txn":"T1","source":"a","session":"s","seq":1,"status":"committed","ops":[{"op":"append","key":"x","value":1}]}`,
		``,
		`{"txn":"T2","source":"b","status":"aborted","ops":[{"op":"append","key":"x","value":2},{"op":"inc","key":"c","value":2}]}`,
		`{"txn":"T3","source":"b","status":"unknown","ops":[]}`,
		`{"txn":"T4"}`,
	}, "\n"))
	c := r.Counters
	if c.Sources != 2 || c.Committed != 1 || c.Aborted != 1 || c.Unknown != 1 || c.Operations != 3 || c.Duplicates != 1 || c.DeadLetters != 1 {
		t.Errorf("counters %+v", c)
	}
	if r.Transactions != 3 {
		t.Errorf("%d transactions, want 3 distinct ones", r.Transactions)
	}
	if len(told) != 1 || told[0] != "stdin:6" {
		t.Errorf("dead letters at %v", told)
	}
	for level, reason := range r.Reasons {
		if !strings.Contains(reason, "source a: ") || !strings.Contains(reason, "source b: ") {
			t.Errorf("%s: %s", level, reason)
		}
	}
}

func TestCheckFileErrors(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{dir, filepath.Join(dir, "none")} {
		if r, err := whole().CheckFile(name); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	name := filepath.Join(dir, "no line end.jsonl")
	if err := os.WriteFile(name, []byte(skewOne+"\r\n"+skewTwo), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := whole().CheckFile(name)
	if err != nil || r.Transactions != 2 || r.Findings[0].LastPosition != "file:"+name+":2" {
		t.Errorf("a last line without an end: %+v, %v", r, err)
	}
}
