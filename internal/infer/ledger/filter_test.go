package ledger

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/flat"
)

// TestFilterRemembers: as a set does, until the budget is used up, and through a
// snapshot; what it forgets is the oldest, and it says that it has.
func TestFilterRemembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	f := &Filter{Limit: 256 << 10} // 4 panes of 8,192 entries, up to 6,144 of them used
	var added []uint64
	for range 20_000 {
		h := rng.Uint64() >> rng.IntN(40)
		added = append(added, h)
		f.Add(h)
	}
	r := &flat.Reader{Bytes: f.AppendState(flat.NewWriter(nil)).Bytes()}
	again := &Filter{Limit: f.Limit}
	if again.ReadState(r); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, g := range []*Filter{f, again} {
		for _, h := range added {
			if !g.Has(h) || g.Has(h^1<<63) || g.Forgot {
				t.Fatalf("%x: %v, with another first bit %v, forgot %v", h, g.Has(h), g.Has(h^1<<63), g.Forgot)
			}
		}
		var latest []uint64
		for range 30_000 {
			latest = append(latest, rng.Uint64())
			g.Add(latest[len(latest)-1])
		}
		for i, h := range latest[30_000-3*6_144:] { // three panes are full, and the fourth takes what comes
			if !g.Has(h) {
				t.Fatalf("the %d. before the latest is forgotten", 3*6_144-i)
			}
		}
		if g.Has(added[0]) || !g.Forgot || g.Bytes() > int64(g.Limit)+8*FrontSlots {
			t.Errorf("the first of 50,000: %v, forgot %v, %d bytes", g.Has(added[0]), g.Forgot, g.Bytes())
		}
	}
}
