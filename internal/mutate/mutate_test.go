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

func rootOf(t *testing.T) string {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}
