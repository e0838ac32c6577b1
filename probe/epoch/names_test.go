package epoch

import (
	"slices"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for name, ok := range map[string]bool{
		"e1": true, "0": true, strings.Repeat("x", 32): true,
		"": false, "E1": false, "e_1": false, "e1; DROP": false, strings.Repeat("x", 33): false,
	} {
		if err := Check(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A schema with one table that has not both name and mark is somebody else's.
func TestOurs(t *testing.T) {
	ours := []Table{{"e1_registers", Mark}, {"e2_lists", Mark}}
	if names, err := Ours("s", ours); err != nil || !slices.Equal(names, []string{"e1_registers", "e2_lists"}) {
		t.Error(names, err)
	}
	if names, err := Ours("s", nil); err != nil || len(names) > 0 {
		t.Error(names, err)
	}
	for _, table := range []Table{{"e1_registers", ""}, {"registers", Mark}, {"e1_registers2", Mark}, {"E1_registers", Mark}, {"orders", "orders of the shop"}} {
		names, err := Ours("s", append(slices.Clip(ours), table))
		if err == nil || len(names) > 0 || !strings.Contains(err.Error(), `"`+table.Name+`", which no probe has made`) {
			t.Errorf("%+v: %q, %v", table, names, err)
		}
	}
	for _, name := range Names() {
		if _, err := Ours("s", []Table{{"e1_" + name, Mark}}); err != nil {
			t.Error(err)
		}
	}
}
