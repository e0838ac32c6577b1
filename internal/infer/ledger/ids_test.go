package ledger

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/flat"
)

// TestIDFilterRemembers: as a map does, until the budget is used up, and through
// a snapshot; what it forgets is the oldest.
func TestIDFilterRemembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	f := &idFilter{Limit: 64 << 10} // 4 panes of 1,024 entries
	type entry struct{ id, content uint64 }
	var added []entry
	for range 2500 {
		e := entry{rng.Uint64() >> rng.IntN(40), rng.Uint64()}
		added = append(added, e)
		f.Add(e.id, e.content, e.content%3 == 0)
	}
	r := &flat.Reader{Bytes: f.AppendState(flat.NewWriter(nil)).Bytes()}
	again := &idFilter{Limit: f.Limit}
	if again.ReadState(r); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, g := range []*idFilter{f, again} {
		for _, e := range added {
			if known, same, open := g.Get(e.id, e.content); !known || !same || open != (e.content%3 == 0) {
				t.Fatalf("%x: known %v, same %v, open %v", e.id, known, same, open)
			}
			if known, same, _ := g.Get(e.id, e.content^2); !known || same {
				t.Fatalf("%x with other content: known %v, same %v", e.id, known, same)
			}
			if known, _, _ := g.Get(e.id^1<<63, e.content); known {
				t.Fatalf("%x is known", e.id^1<<63)
			}
		}
	}
	var latest []uint64
	for range 10_000 {
		latest = append(latest, rng.Uint64())
		f.Add(latest[len(latest)-1], 0, false)
	}
	for i, id := range latest[10_000-3*768:] { // three panes are full, and the fourth takes what comes
		if known, _, _ := f.Get(id, 0); !known {
			t.Fatalf("the %d. before the latest is forgotten", 3*768-i)
		}
	}
	if known, _, _ := f.Get(added[0].id, 0); known || f.Bytes() > int64(f.Limit) {
		t.Errorf("the oldest of 12,500 is known: %v; %d bytes", known, f.Bytes())
	}
}

// TestIDFilterTakesTheLatest: an id that comes again has the content of its latest record, also when both have
// left the front.
func TestIDFilterTakesTheLatest(t *testing.T) {
	f := &idFilter{Limit: 64 << 10}
	for _, content := range []uint64{2, 4} {
		f.Add(7, content, false)
		for i := range uint64(2 * idFront) {
			f.Add(100+i, 0, false)
		}
		if known, same, _ := f.Get(7, content); !known || !same {
			t.Errorf("content %d: known %v, same %v", content, known, same)
		}
	}
}
