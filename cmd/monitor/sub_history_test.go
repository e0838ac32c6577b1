package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/docs"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/render/records"
)

// subHistories are histories beside those of the pages, with what is found in each.
var subHistories = []struct{ what, anomaly, level, history string }{
	{"a stale read of a set", "G-single-item-realtime", "strong-serializable", `{"txn":"A","session":"a","status":"committed","start":100,"end":200,"ops":[{"op":"add","key":"s","value":"a"}]}
{"txn":"B","session":"b","status":"committed","start":300,"end":400,"ops":[{"op":"add","key":"s","value":"b"}]}
{"txn":"C","session":"c","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"s","kind":"set","value":["a"]}]}`},
	{"a stale read of a list", "G-single-item-realtime", "strong-serializable", `{"txn":"A","session":"a","status":"committed","start":100,"end":200,"ops":[{"op":"append","key":"l","value":1}]}
{"txn":"B","session":"b","status":"committed","start":300,"end":400,"ops":[{"op":"append","key":"l","value":2}]}
{"txn":"C","session":"c","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"l","value":[1]}]}`},
	{"appends against real time", "G0-realtime", "strong-serializable", `{"txn":"A","session":"a","status":"committed","start":100,"end":200,"ops":[{"op":"append","key":"l","value":1}]}
{"txn":"B","session":"b","status":"committed","start":300,"end":400,"ops":[{"op":"append","key":"l","value":2}]}
{"txn":"C","session":"c","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"l","value":[2,1]}]}`},
	{"a cas of what was replaced", "lost-update", "strong-serializable", `{"txn":"A","session":"a","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":1}]}
{"txn":"B","session":"b","status":"committed","start":300,"end":400,"ops":[{"op":"cas","key":"x","expected":1,"value":2,"success":true}]}
{"txn":"C","session":"c","status":"committed","start":500,"end":600,"ops":[{"op":"cas","key":"x","expected":1,"value":3,"success":true}]}`},
	{"a cas that failed", "G-single-item-realtime", "strong-serializable", `{"txn":"A","session":"a","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":1}]}
{"txn":"B","session":"b","status":"committed","start":300,"end":400,"ops":[{"op":"cas","key":"x","expected":1,"value":2,"success":false}]}`},
	{"a read behind a delete", "G-single-item-realtime", "strong-serializable", `{"txn":"A","session":"a","status":"committed","start":100,"end":200,"ops":[{"op":"w","key":"x","value":1}]}
{"txn":"B","session":"b","status":"committed","start":300,"end":400,"ops":[{"op":"delete","key":"x"}]}
{"txn":"C","session":"c","status":"committed","start":500,"end":600,"ops":[{"op":"r","key":"x","value":1}]}`},
	{"a value that no record wrote", "unattributed-read", "serializable --contract capture=partial,start=existing,clock-drift=100ms", `{"txn":"A","status":"committed","start":100000000000,"end":100000000001,"ops":[{"op":"w","key":"x","value":1}]}
{"txn":"B","status":"committed","start":200000000000,"end":200000000001,"ops":[{"op":"r","key":"x","value":7}]}
{"txn":"C","status":"committed","start":300000000000,"end":300000000001,"ops":[{"op":"r","key":"x","value":8}]}`},
	{"a value that nobody wrote, where all writers are recorded", "garbage-read", "serializable --contract start=existing", `{"txn":"A","status":"committed","start":1000000000,"end":1000000001,"ops":[{"op":"w","key":"x","value":0}]}
{"txn":"B","status":"committed","start":200000000000,"end":200000000001,"ops":[{"op":"r","key":"x","value":7}]}
{"txn":"C","status":"committed","start":300000000000,"end":300000000001,"ops":[{"op":"r","key":"x","value":8}]}`},
	{"what was read had been read from another one", "lost-update", "serializable", `{"txn":"A","status":"committed","ops":[{"op":"w","key":"y","value":7}]}
{"txn":"B","status":"committed","ops":[{"op":"r","key":"y","value":7},{"op":"w","key":"x","value":1}]}
{"txn":"C","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":2}]}
{"txn":"D","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":3}]}`},
}

// The records of a finding of each kind show it again by themselves, and nothing else: no writer of what they read is missing.
func TestSubHistories(t *testing.T) {
	check := func(t *testing.T, history, command, anomaly string) {
		if whole := findingsOf(t, "history.jsonl", history, command); !slices.ContainsFunc(whole, func(f finding.Finding) bool { return f.Anomaly == anomaly }) {
			t.Fatalf("no %s in\n%s", anomaly, history)
		}
		for _, contract := range []config.Contract{config.WholeContract(), config.LiveContract()} {
			foundAgain(t, history, command, contract)
		}
	}
	for _, p := range docs.Anomalies() {
		for _, m := range example.FindAllStringSubmatch(p.Text, -1) {
			t.Run(p.Names[0], func(t *testing.T) { check(t, m[1], m[2], m[3]) })
		}
	}
	for _, x := range subHistories {
		t.Run(x.what, func(t *testing.T) { check(t, x.history, "check --levels "+x.level, x.anomaly) })
	}
}

// foundAgain checks the records of what is found in a history with the command that the page names: each is found again,
// and nothing else. The contract is what the command of the history does not say otherwise.
func foundAgain(t *testing.T, history, command string, contract config.Contract) {
	t.Helper()
	command, said, _ := strings.Cut(command, "--contract ")
	if said, _, _ = strings.Cut(said, " "); said != "" {
		if err := contract.Set(said); err != nil {
			t.Fatal(err)
		}
	}
	whole := findingsOf(t, "history.jsonl", history, command+" --contract "+contract.String())
	for i := range whole {
		f := &whole[i]
		again := records.Command(f, contract.ForCheck())
		if again == "" {
			continue
		}
		arguments := strings.TrimSuffix(strings.TrimPrefix(again, "monitor "), records.File(f))
		for name, form := range map[string]func(*finding.Finding) ([]byte, error){"history.jsonl": records.JSONL, "history.edn": records.EDN} {
			text, err := form(f)
			if err != nil && (strings.Contains(err.Error(), "holds only these") || strings.Contains(err.Error(), "only JSONL keeps")) {
				continue // EDN does not know its operations, or what it is about
			}
			if err != nil {
				t.Fatal(err)
			}
			found := findingsOf(t, name, string(text), arguments)
			if !slices.ContainsFunc(found, func(g finding.Finding) bool { return g.Anomaly == f.Anomaly }) {
				t.Errorf("%s: %s finds no %s in\n%s", name, again, f.Anomaly, text)
			}
			for _, g := range found {
				if !slices.ContainsFunc(whole, func(w finding.Finding) bool { return w.Anomaly == g.Anomaly }) {
					t.Errorf("%s: %s finds %s too in\n%s", name, again, g.Anomaly, text)
				}
			}
		}
	}
}

// The operations that an unattributed read is about matter, in its picture and timeline. Others do not.
func TestUnattributedReadMatters(t *testing.T) {
	found := findingsOf(t, "history.jsonl", `{"txn":"A","status":"committed","ops":[{"op":"w","key":"x","value":7},{"op":"r","key":"x","value":7},{"op":"r","key":"y","value":7}]}`,
		"check --contract capture=partial")
	if len(found) != 1 || found[0].Core == nil || !slices.Equal(found[0].Core.Ops, []finding.Op{{Txn: "A", Op: 2}}) {
		t.Errorf("%+v", found)
	}
}

// findingsOf checks a history.
func findingsOf(t *testing.T, name, history, command string) []finding.Finding {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(history), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	term := terminal{stdout: &stdout, stderr: &stderr, lookupEnv: func(string) (string, bool) { return "", false }}
	run(t.Context(), append(strings.Fields(command), "--output", "jsonl", file), term)
	var report struct{ Findings []finding.Finding }
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	return report.Findings
}
