//go:build !race

package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestGroupMemory: of three units of a member, one holds far more than a third of the memory, while the others are idle. Nothing of it
// leaves the window early. Then another one wants as much. Each gets its part, and the process stays within --memory. The race detector
// takes several times the memory: with it there is no such test.
func TestGroupMemory(t *testing.T) {
	t.Parallel()
	if testrun.Short() {
		t.Skip("180,000 transactions, 8 s of CPU: ISOWATCH_SIM=long, as in .ci/run")
	}
	const memory, third, txns = 384 << 20, 384 << 20 / 4 / 3, 30_000
	r := newGroupRun(t, nil, natsGroup, "file")
	r.flags = []string{"--http", "127.0.0.1:0", "--window", "1h", "--live-cap", "2000000", "--memory", strconv.Itoa(memory)}
	r.start(t, "a")
	m, began := r.members[0], time.Now().UnixNano()
	publish := func(unit, from, to int) {
		t.Helper()
		for n := from; n < to; {
			var message []byte
			for ; n < to && len(message) < 64<<10; n++ {
				at := began + int64(n)*1000
				message = fmt.Appendf(message, `{"source":"s%d","txn":"t%d","status":"committed","start":%d,"end":%d,"ops":[`, unit, n, at, at+10)
				for k := range 4 { // keys of its own
					message = fmt.Appendf(message, `{"op":"w","key":"%d.%d","value":1},`, n, k)
				}
				message = append(message[:len(message)-1], "]}\n"...)
			}
			if err := r.input.publish(t.Context(), unit, message); err != nil {
				t.Fatal(err)
			}
		}
	}
	// of adds up a metric of each unit.
	of := func(name string) (all [3]float64) {
		for line := range strings.Lines(get(t, m.address(t)+"/metrics")) {
			for unit := range all {
				if label := fmt.Sprintf(`unit="nats:G:g.%d"`, unit); strings.HasPrefix(line, name+"{") && strings.Contains(line, label) && (!strings.Contains(line, "part=") || strings.Contains(line, `part="state"`)) {
					fields := strings.Fields(line)
					n, _ := strconv.ParseFloat(fields[len(fields)-1], 64)
					all[unit] += n
				}
			}
		}
		return all
	}
	await := func(unit, n int) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); int(of("isowatch_transactions_total")[unit]) < n; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("unit %d has taken in %v of %d transactions", unit, of("isowatch_transactions_total")[unit], n)
			}
		}
	}
	for unit := range 3 {
		publish(unit, 0, 1)
	}
	publish(0, 1, txns)
	await(0, txns)
	state, squeezed := of("isowatch_memory_bytes"), of("isowatch_squeezed_transactions_total")
	if state[0] < 1.5*third || squeezed[0] > 0 {
		t.Errorf("the units hold %.0f bytes, of %d for all three, and %v transactions left early", state, 3*third, squeezed)
	}
	publish(0, txns, 2*txns)
	publish(1, 1, 2*txns)
	await(0, 2*txns)
	await(1, 2*txns)
	state = of("isowatch_memory_bytes")
	for unit := range 2 {
		if state[unit] < third {
			t.Errorf("two units want all, and hold %.0f bytes of %d: less than a third", state, 3*third)
		}
	}
	if peak := m.status(t, "VmHWM"); peak > memory { // the most memory that was resident
		t.Errorf("the process took up to %d bytes, of %d", peak, memory)
	}
	t.Logf("two busy units hold %.0f bytes of %d, and %v transactions left early; the process took up to %d", state, 3*third, of("isowatch_squeezed_transactions_total"), m.status(t, "VmHWM"))
}
