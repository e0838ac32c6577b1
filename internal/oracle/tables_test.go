package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/workload"
)

// scenario is a block of a testdata file.
type scenario struct {
	name, text, want string
}

func readScenarios(t *testing.T, file string) []scenario {
	t.Helper()
	return readBlocks(t, file, "\nwant ")
}

// readBlocks reads blocks of a name, transactions and, behind the separator,
// what is wanted.
func readBlocks(t *testing.T, file, separator string) []scenario {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var all []scenario
	for _, block := range strings.Split(string(data), "\n== ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		text, want, ok := strings.Cut(rest, separator)
		if !ok {
			t.Fatalf("%s: %q lacks%q", file, name, separator)
		}
		all = append(all, scenario{name, text, strings.TrimSpace(want)})
	}
	return all
}

// describe is the want line that v deserves.
func describe(v Verdicts) string {
	scopes := map[string]string{
		"":        "nothing",
		"v v v v": "all",
		"v - v -": "serializable",
		"- - v v": "sessions",
		"- - v -": "session-serializable",
		"v - v v": "serializable and sessions",
	}
	var marks []string
	for _, l := range Levels() {
		marks = append(marks, map[bool]string{true: "v", false: "-"}[v.Violated[l]])
	}
	key := strings.Join(marks, " ")
	if !strings.Contains(key, "v") {
		key = ""
	}
	scope, ok := scopes[key]
	if !ok {
		scope = fmt.Sprintf("levels %s, which breaks an implication,", key)
	}
	if !v.Exact(SessionSerializable) {
		scope += " inexact"
	}
	return strings.TrimSpace(scope + ": " + strings.Join(v.Names(), ", "))
}

func TestScenarios(t *testing.T) {
	for _, file := range []string{"papers.txt", "hard-cases.txt"} {
		for _, s := range readScenarios(t, file) {
			t.Run(file+"/"+s.name, func(t *testing.T) {
				h, err := workload.Parse(s.text)
				if err != nil {
					t.Fatal(err)
				}
				v := Check(h)
				if got := describe(v); got != s.want {
					t.Errorf("got  %s\nwant %s\nanomalies %v\nedges %v", got, s.want, v.Anomalies, v.Graph.Edges)
				}
				if len(v.Graph.NotSequential) == 0 {
					if problem := disagreement(h); problem != "" {
						t.Error(problem)
					}
				}
			})
		}
	}
}

// TestTransactionOrderIsIrrelevant checks that a history's verdicts and names
// do not depend on the order of its records.
func TestTransactionOrderIsIrrelevant(t *testing.T) {
	for _, file := range []string{"papers.txt", "hard-cases.txt"} {
		for _, s := range readScenarios(t, file) {
			h, err := workload.Parse(s.text)
			if err != nil {
				t.Fatal(err)
			}
			v := Check(h)
			slices.Reverse(h)
			r := Check(h)
			a, b := v.Names(), r.Names()
			slices.Sort(a)
			slices.Sort(b)
			if !slices.Equal(a, b) {
				t.Errorf("%s: %v forwards, %v backwards", s.name, a, b)
			}
		}
	}
}

// TestPlantedAnomalies checks that each planted group shows the anomaly that it
// is named for and refutes exactly the levels that it claims, whatever the kind.
func TestPlantedAnomalies(t *testing.T) {
	for _, kind := range []workload.Kind{workload.Registers, workload.Lists} {
		for _, name := range workload.Anomalies(kind) {
			planted, txns, err := workload.PlantGroup(kind, name, "p1-", 1000, 50, 80)
			if err != nil {
				t.Fatal(err)
			}
			v := Check(txns)
			var refuted []string
			for _, l := range Levels() {
				if v.Violated[l] {
					refuted = append(refuted, string(l))
				}
			}
			if !slices.Equal(refuted, planted.Refutes) {
				t.Errorf("%s refutes %v, planted as %v\n%s", name, refuted, planted.Refutes, History(txns).Text())
			}
			if !slices.Contains(v.Names(), planted.Anomaly) {
				t.Errorf("%s shows %v, planted as %s\n%s", name, v.Names(), planted.Anomaly, History(txns).Text())
			}
			if problem := disagreement(txns); problem != "" {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
}
