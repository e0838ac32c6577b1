package isolation

import (
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
)

func recordOf(t *testing.T, line string) *event.Record {
	t.Helper()
	var b event.Batch
	var d event.Decoder
	d.Decode(&b, event.Position{}, []byte(line))
	if len(b.Txns) != 1 {
		t.Fatalf("no record: %s", line)
	}
	r := b.Record(&b.Txns[0])
	return &r
}

func TestDifferences(t *testing.T) {
	const first = `{"txn":"T","session":"s","seq":1,"status":"committed","start":1,"end":2,"ops":[{"op":"w","key":"x","value":1},{"op":"r","key":"y","value":[1,2]}]}`
	for _, c := range []struct {
		second, want string
		ops          []int
	}{
		{first, "fields that are not shown", nil},
		{strings.Replace(first, "committed", "aborted", 1), "outcome (committed, then aborted)", nil},
		{strings.Replace(first, `"seq":1,`, "", 1), "seq (1, then none)", nil},
		{strings.Replace(first, `"end":2`, `"end":3`, 1), "start or end", nil},
		{strings.Replace(first, "[1,2]", "[2,1]", 1), "content of operation 2 (read y)", []int{1}},
		{strings.Replace(first, `"key":"x"`, `"key":"z"`, 1), "operation 1 (write x, then write z)", []int{0}},
		{strings.Replace(first, `,{"op":"r","key":"y","value":[1,2]}`, "", 1), "number of operations (2, then 1)", []int{1}},
		{
			strings.Replace(first, `"ops":[`, `"ops":[{"op":"r","key":"a","value":1},{"op":"r","key":"b","value":1},{"op":"r","key":"c","value":1},`, 1),
			"number of operations (2, then 5); operation 1 (write x, then read a); operation 2 (read y, then read b)", []int{0, 1, 2, 3, 4},
		},
	} {
		a, b := recordOf(t, first), recordOf(t, c.second)
		if got := strings.Join(Differences(a, b), "; "); got != c.want {
			t.Errorf("%s\ndiffers in %s, want %s", c.second, got, c.want)
		}
		if got := Differing(a, b); !slices.Equal(got, c.ops) {
			t.Errorf("%s\noperations %v, want %v", c.second, got, c.ops)
		}
	}
}
