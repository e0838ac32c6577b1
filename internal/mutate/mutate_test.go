package mutate

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSum: what is found of a small package, and what its tests miss.
func TestSum(t *testing.T) {
	b, err := build(rootOf(t), "./internal/mutate/testdata/sum", t.TempDir(), []Judge{{Name: "own"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range b.mutants {
		verdict, _, err := b.judge(context.Background(), &b.mutants[i])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s", verdict, b.mutants[i].Name))
	}
	want := strings.Split(strings.TrimSpace(`
killed sum.go Sum: does nothing
survived sum.go Sum: without note(sum)
killed sum.go Sum: never n > 0 && sum+n <= most
killed sum.go Sum: always n > 0 && sum+n <= most
killed sum.go Sum: without n > 0 in n > 0 && sum+n <= most
unreached sum.go Sum: without sum+n <= most in n > 0 && sum+n <= most
unreached sum.go Sum: n > 0 with >=
killed sum.go Sum: 0 and one more
killed sum.go Sum: sum+n <= most with <
survived sum.go Sum: sum+n with -
killed sum.go const: most is 1
killed sum.go Sum: without sum += n
survived sum.go note: does nothing
survived sum.go note: without latest = n
unreached sum.go Unused: never latest == 0
unreached sum.go Unused: always latest == 0
unreached sum.go Unused: 0 and one more`), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSample: a seed chooses the same mutants each time, another one others; what is explained is
// no fault, what is new is one, and so is an explanation of what does not survive.
func TestSample(t *testing.T) {
	run := func(seed uint64) *Result {
		r := Run{
			Root: rootOf(t), Rooms: []Room{{Pattern: "./internal/mutate/testdata/sum"}}, Mutants: 8, Seed: seed, Workers: 2, Log: t.Logf,
		}
		res, err := r.Do(context.Background(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	one, again, other := run(1), run(1), run(2)
	if len(one.Tried) != 8 || len(one.All) != 17 || !slices.Equal(one.Tried, again.Tried) || slices.Equal(one.Tried, other.Tried) {
		t.Fatalf("seed 1: %v\nagain: %v\nseed 2: %v", one.Tried, again.Tried, other.Tried)
	}
	known, err := ReadKnown("# Why.\nsum sum.go note: without latest = n // nobody looks\n" +
		"sum sum.go Sum: never n > 0 && sum+n <= most // wrong\nsum sum.go Sum: gone // was there\nother sum.go x: y // of no package here")
	if err != nil {
		t.Fatal(err)
	}
	all := &Result{All: one.All, Tried: []Tried{
		{Mutant: one.All["sum sum.go note: without latest = n"]},
		{Mutant: one.All["sum sum.go Sum: never n > 0 && sum+n <= most"], Verdict: Killed, By: "own"},
		{Mutant: one.All["sum sum.go Unused: always latest == 0"], Verdict: Unreached},
	}}
	want := []string{
		`"sum sum.go Sum: gone" is none of the mutants: take it out`,
		"sum sum.go Sum: never n > 0 && sum+n <= most does not survive any more (own): take it out",
		"unreached: sum sum.go:22 Unused: always latest == 0",
	}
	if got := known.Compare(all); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, text := range []string{"sum x.go y: z", "a b: c // d\na b: c // e"} {
		if _, err := ReadKnown(text); err == nil {
			t.Errorf("%q is taken for explained survivors", text)
		}
	}
}

// TestRefuses: mutants that do not compile are none, and those on lines beside them stay.
func TestRefuses(t *testing.T) {
	b, err := build(rootOf(t), "./internal/mutate/testdata/small", t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range b.mutants {
		got = append(got, b.mutants[i].Name)
	}
	want := []string{
		"small.go Least: does nothing", "small.go Least: min(n, 255) with max",
		"small.go Bits: does nothing", "small.go Bits: without all |= 4",
		"small.go Each: does nothing", "small.go Each: without break", "small.go Each: without fn(n)", "small.go Each: never n == 3", "small.go Each: always n == 3", "small.go Each: 3 and one more",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func rootOf(t *testing.T) string {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}
