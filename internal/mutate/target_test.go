package mutate

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// histories are the ones of all kinds of data.
var histories = []Judge{{Name: "histories", Package: "./internal/infer/infertest"}}

// rooms are the packages whose rules are mutated.
var rooms = []Room{
	{Pattern: "./internal/infer", Without: []string{"warm.go", "compact.go", "sizes.go"}, Own: []string{"-test.short"}, More: histories},
	{Pattern: "./internal/infer/ledger", Without: []string{"arena.go", "check.go", "sizes.go"}, More: histories},
	{Pattern: "./internal/infer/causes", Without: []string{"sizes.go"}, More: histories},
	{Pattern: "./internal/infer/orders", More: histories},
	{Pattern: "./internal/infer/registers", More: histories},
	{Pattern: "./internal/infer/lists", Without: []string{"spine.go CheckSpines"}, More: histories},
	{Pattern: "./internal/infer/sets", Without: []string{"scan.go CheckScans"}, More: histories},
	{Pattern: "./internal/infer/counters", Without: []string{"check.go"}, More: histories},
	{Pattern: "./internal/infer/linear", Without: []string{"check.go"}, More: histories},
	{Pattern: "./incremental", Without: []string{"warm.go", "check.go", "state.go Bytes"}, Own: []string{"-test.short"}},
	{Pattern: "./internal/verify", Own: []string{"-test.skip", "^TestMutants$"}},
	{Pattern: "./internal/external"},
	{Pattern: "./internal/isolation", Without: []string{
		"explain.go", "explain_choice.go", "explain_kinds.go", "headline.go", "headline_names.go", "product.go", "argument.go",
		"shown.go", "report.go", "other_names.go", "offer.go", "every_title.go", "meaning.go", "setting.go", "history.go", "counter.go",
	}},
	{Pattern: "./window", Without: []string{"config.go", "needs.go"}, Own: []string{"-test.short"}},
}

// judges come behind a package's own tests: all scenarios, in two manners, and short forms of
// the random tests.
var judges = []Judge{
	{Name: "scenarios", Package: "./internal/simtest", Args: []string{"-test.short", "-test.run", "^TestScenarios$"}},
	{Name: "random", Package: "./internal/simtest", Env: []string{"ISOWATCH_SIM=200"}, Args: []string{
		"-test.short", "-test.run", "^(TestKinds|TestMixed|TestRows|TestBlindWrites|TestDuplicateValuesInWindows|TestDuplicateValues|TestWindowed|TestDelays|TestMixedLevels|" +
			"TestChangedWitnesses|TestSaturatedInTimeWindowed|TestSaturatedWhole|TestWholeHistories|TestStreamVerdicts|TestDeletesInWindows|TestLevelsChange)$",
	}},
}

// TestMutate tries ISOWATCH_MUTANTS mutants ("all" is all), chosen by ISOWATCH_MUTANTS_SEED, of
// the packages named in ISOWATCH_MUTANTS_IN, before their own tests and the judges named in
// ISOWATCH_MUTANTS_JUDGES (all), and of those whose package and name have a line of
// ISOWATCH_MUTANTS_NAMED in them, until ISOWATCH_MUTANTS_TIME is over. It fails for
// each that survives and is not explained in testdata/survivors.txt.
func TestMutate(t *testing.T) {
	number := os.Getenv("ISOWATCH_MUTANTS")
	if number == "" {
		t.Skip("tries mutants for minutes: make mutate")
	}
	r := Run{Root: rootOf(t), Judges: judges, Workers: runtime.NumCPU(), Log: t.Logf}
	parse := func(name, text string) int {
		n, err := strconv.Atoi(text)
		if text != "" && err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	if number != "all" {
		r.Mutants = parse("ISOWATCH_MUTANTS", number)
	}
	r.Seed = uint64(parse("ISOWATCH_MUTANTS_SEED", os.Getenv("ISOWATCH_MUTANTS_SEED")))
	if text := os.Getenv("ISOWATCH_MUTANTS_TIME"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Deadline = time.Now().Add(d)
	}
	if text := os.Getenv("ISOWATCH_MUTANTS_NAMED"); text != "" {
		r.Named = strings.Split(text, "\n")
	}
	if names := strings.Fields(os.Getenv("ISOWATCH_MUTANTS_JUDGES")); len(names) > 0 {
		r.Judges = slices.DeleteFunc(slices.Clone(judges), func(j Judge) bool { return !slices.Contains(names, j.Name) })
	}
	in := strings.Fields(os.Getenv("ISOWATCH_MUTANTS_IN"))
	for _, room := range rooms {
		if len(in) == 0 || slices.Contains(in, strings.TrimPrefix(room.Pattern, "./")) {
			r.Rooms = append(r.Rooms, room)
		}
	}
	text, err := os.ReadFile("testdata/survivors.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, err := ReadKnown(string(text))
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Do(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d mutants, seed %d; %d not tried in time\n%s", len(res.Tried), len(res.All), r.Seed, res.Late, res.Table())
	by := map[string]int{}
	for i := range res.Tried {
		by[res.Tried[i].By]++
	}
	t.Logf("noticed by their own tests: %d, by histories of inference: %d, by scenarios: %d, by random histories: %d, by none: %d", by["own"], by["histories"], by["scenarios"], by["random"], by[""])
	for _, fault := range known.Compare(res) {
		t.Error(fault)
	}
}
