package pattern

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		named, name string
		want        bool
	}{
		{"acct/#/balance", "acct/17/balance", true}, {"acct/#/balance", "acct/a-b/balance", true}, {"acct/#/balance", "acct//balance", false},
		{"acct/#/balance", "acct/1/2/balance", false}, {"acct/#/balance", "acct/1/balances", false}, {"acct/#/balance", "acct/1", false},
		{"#", "x", true}, {"#", "x.y", false}, {"#", "", false}, {"x#y", "xyy", true}, {"x#y", "xy", false}, {"a#b#c", "abbbc", true},
		{"plain", "plain", true}, {"plain", "plai", false}, {"plain", "plains", false},
	} {
		if got := Matches(c.named, []byte(c.name)); got != c.want {
			t.Errorf("%q of %q: %t", c.name, c.named, got)
		}
	}
}

func TestCheckNamed(t *testing.T) {
	if err := CheckNamed([]string{"a/#", "b/#"}); err != nil {
		t.Error(err)
	}
	for text, named := range map[string][]string{
		"one is empty": {""}, `"a" is named twice`: {"a", "b", "a"}, `"a##": where does the first # end?`: {"a##"},
		"257 are named, at most 256": strings.Split(strings.Repeat("a,", 256)+"a", ","),
	} {
		if err := CheckNamed(named); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}

// A named pattern stays one of its own where its neighbours are merged, also when the table
// was written and read.
func TestNamed(t *testing.T) {
	table := New()
	balance := table.Named(1, "acct/#/balance")
	for i := range 100 {
		table.Of(1, []byte("acct/"+strings.Repeat("x", i)+"/note"))
	}
	if got := table.Named(1, "acct/#/balance"); got != balance || table.Name(got) != "acct/#/balance" {
		t.Errorf("%d called %q, want %d", got, table.Name(got), balance)
	}
	if other := table.Named(2, "acct/#/balance"); other == balance {
		t.Error("one pattern in two epochs")
	}
	if of, _ := table.Of(1, []byte("acct/7/balance")); of == balance {
		t.Error("a key that was not matched has the named pattern")
	}
}
