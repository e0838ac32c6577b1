package window

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The records of what was read of counters are kept within their bound, and counted as they are.
func TestReadsOfCountersAreBounded(t *testing.T) {
	const counters = 2000
	var ops []string
	for i := range counters {
		ops = append(ops, fmt.Sprintf(`{"op":"r","kind":"counter","key":"counter-%d","value":0}`, i))
	}
	lines := `{"txn":"J","status":"committed","start":0,"end":1,"ops":[]}` + "\n"
	for i, value := range []string{"5", "0", "9"} {
		lines += fmt.Sprintf(`{"txn":"T%d","status":"committed","start":%d,"end":%d,"ops":[%s]}`+"\n", i, 1000*(i+1), 1000*(i+1)+1,
			strings.ReplaceAll(strings.Join(ops, ","), `"value":0`, `"value":`+value))
	}
	lines += `{"txn":"I","status":"committed","start":5000,"end":5001,"ops":[{"op":"inc","key":"counter-0","value":1}]}` + "\n"
	m, eff := check(t, Config{
		Window: For(time.Nanosecond), Lateness: For(0), MaxTxn: time.Nanosecond, Contract: Contract{Complete: true, Existing: true},
	}, lines)
	size, kept := 0, 0
	for i := range m.sums.counting.Keys {
		x := &m.sums.counting.Keys[i]
		for _, r := range []*storedRead{x.Lowest, x.Highest} {
			if r != nil {
				size += len(r.Record)
				kept++
			}
		}
	}
	if size != m.sums.counting.Stored || size > maxStored || kept == 0 || kept == 2*counters {
		t.Errorf("%d records of %d bytes are kept, %d counted", kept, size, m.sums.counting.Stored)
	}
	if len(eff.Findings) == 0 {
		t.Error("what is kept was compared with nothing")
	}
}
