package window

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
)

// TestUpcomings: in any order of arrival they stand in their order, and so they come back.
func TestUpcomings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var all upcomings
	for i := range int64(3000) {
		start := 100*i - rng.Int64N(200)
		if i%10 == 0 {
			start = rng.Int64N(100*i + 1)
		}
		x := upcoming{Start: start, End: start + rng.Int64N(50), Until: math.MaxInt64 - rng.Int64N(5), ID: i, Name: rng.Uint64(), Txn: rng.Uint32()}
		all = insert(all, x, byStart)
	}
	if !slices.IsSortedFunc(all, byStart) || len(all) != 3000 {
		t.Errorf("%d, not in their order", len(all))
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var back upcomings
	if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(all, back) {
		t.Errorf("they come back as others: %v", err)
	}
	for _, bad := range []string{`"%"`, `"gA=="`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// TestFollowsManyAtOnce: an order in time is followed where more than 131,072 transactions begin
// within max-transaction.
func TestFollowsManyAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("140,000 transactions, 1 s: not with -short")
	}
	m := New(Config{
		Levels: []isolation.Level{{Base: isolation.Serializable}}, Contract: Contract{Complete: true},
		Lateness: For(0), MaxTxn: 10 * time.Second, Window: For(15 * time.Second),
	})
	var d event.Decoder
	var b event.Batch
	var eff Effects
	b.Partitions = []string{"p"}
	const n = 140_000
	var txns []int32
	for i := range n {
		op := `{"op":"inc","key":"c","value":1}`
		if i > 0 {
			op = fmt.Sprintf(`{"op":"w","key":"x%d","value":%d}`, i%100, i)
		}
		d.Decode(&b, event.Position{Offset: int64(i)}, fmt.Appendf(nil, `{"txn":"T%d","status":"committed","start":%d,"end":%d,"ops":[%s]}`, i, 1_000_000_000_000_000_000+50_000*i, 1_000_000_000_000_000_000+50_000*i+40_000, op))
		txns = append(txns, int32(i))
	}
	m.Step(&b, txns, 0, &eff)
	if x := &m.timing.told; x.Off != "" || len(x.Due) < 1<<17 {
		t.Fatalf("%d wait, off: %q", len(x.Due), x.Off)
	}
	m = readBackHere(t, m)
	m.Close(&eff)
	if !m.timing.stands(isolation.Level{Base: isolation.Serializable}) {
		t.Errorf("no order at the end: %q", m.timing.told.Off)
	}
}

// readBackHere is m after its state was saved and read.
func readBackHere(t *testing.T, m *Machine) *Machine {
	t.Helper()
	again := New(m.Config())
	if err := again.ReadState(m.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	return again
}
