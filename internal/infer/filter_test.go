package infer

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/flat"
)

// TestFilterRemembers: as a set does, until the budget is used up, and through a
// snapshot; what it forgets is the oldest, and it says that it has.
func TestFilterRemembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	f := &filter{limit: 256 << 10} // 4 panes of 8,192 entries, up to 6,144 of them used
	var added []uint64
	for range 20_000 {
		h := rng.Uint64() >> rng.IntN(40)
		added = append(added, h)
		f.add(h)
	}
	r := &flat.Reader{Bytes: f.appendState(flat.NewWriter(nil)).Bytes()}
	again := &filter{limit: f.limit}
	if again.readState(r); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, g := range []*filter{f, again} {
		for _, h := range added {
			if !g.has(h) || g.has(h^1<<63) || g.forgot {
				t.Fatalf("%x: %v, with another first bit %v, forgot %v", h, g.has(h), g.has(h^1<<63), g.forgot)
			}
		}
		for range 30_000 {
			g.add(rng.Uint64())
		}
		if g.has(added[0]) || !g.forgot || g.bytes() > int64(g.limit)+8*frontSlots {
			t.Errorf("the first of 50,000: %v, forgot %v, %d bytes", g.has(added[0]), g.forgot, g.bytes())
		}
	}
}
