package window

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// TestClassesAreBounded: 300 keys with nothing in common are each a class. Reads of
// old states of them make a finding for each of the first 64 and one for the
// others, and all are counted.
func TestClassesAreBounded(t *testing.T) {
	const keys = 300
	var lines strings.Builder
	record := func(id string, end time.Duration, ops string) {
		fmt.Fprintf(&lines, `{"txn":%q,"status":"committed","start":%d,"end":%d,"ops":[%s]}`+"\n", id, end-100, end, ops)
	}
	name := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 1+i/26) }
	for i := range keys {
		at := time.Duration(i+1) * time.Microsecond
		record(fmt.Sprint("w", i), at, fmt.Sprintf(`{"op":"r","key":%q,"value":null},{"op":"w","key":%q,"value":1}`, name(i), name(i)))
	}
	for i := range 3 {
		record(fmt.Sprint("later", i), time.Duration(i+1)*time.Second, `{"op":"r","key":"0","value":null}`)
	}
	for i := range keys {
		record(fmt.Sprint("late", i), time.Duration(i+1)*time.Microsecond, fmt.Sprintf(`{"op":"r","key":%q,"value":null}`, name(i)))
	}
	m, eff := check(t, Config{Window: For(time.Millisecond), Lateness: For(time.Millisecond), Contract: Contract{Complete: true}}, lines.String())
	groups := map[string]bool{}
	for i := range eff.Findings {
		if f := &eff.Findings[i]; f.Kind == finding.KindHorizon {
			groups[f.ID] = true
		}
	}
	if m.Totals().Horizon < keys || len(groups) != maxClasses+1 {
		t.Errorf("%d edges in %d findings, want %d or more in %d", m.Totals().Horizon, len(groups), keys, maxClasses+1)
	}
}
