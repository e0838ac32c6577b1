package app

import (
	"fmt"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/internal/engine"
)

// What units may take follows from what all of them hold.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		held []holding
		want []int64
	}{
		{"one unit has all", []holding{{70, 75}}, []int64{96}},
		{"an idle one leaves its rest", []holding{{70, 75}, {1, 1}}, []int64{94, 26}},
		{"two idle ones", []holding{{60, 66}, {1, 1}, {1, 2}}, []int64{92, 32, 32}},
		{"one that grows has room for twice as much", []holding{{70, 75}, {10, 11}}, []int64{76, 26}},
		{"all want it: a fair share each", []holding{{40, 44}, {41, 45}}, []int64{48, 48}},
		{"the large one gives way, and meanwhile nobody grows into what it uses", []holding{{84, 90}, {40, 44}}, []int64{48, 12}},
		{"free places that do not go back take nobody's fair share", []holding{{5, 90}, {40, 44}}, []int64{48, 48}},
		{"an eighth is left for those that begin", []holding{{96, 96}, {0, 0}, {0, 0}}, []int64{96, 4, 4}},
	} {
		if got := limits(96, c.held); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// grow has each unit make steps in turn, as a machine does with its limit: it grows by at most 2 up to 14/16 of it, and gives back a
// sixteenth beyond it. Free places stay.
func grow(p *pool, units []*unit, held []holding, wants []int64, steps int) (most int64) {
	for range steps {
		for i, u := range units {
			limit, h := p.limit(u, held[i])*14/16, held[i]
			if h.used > limit {
				h.used = max(limit, h.used*15/16)
			} else {
				h.used = min(h.used+2, limit, max(wants[i], h.used))
			}
			h.taken = max(h.taken, h.used)
			held[i] = h
			var sum int64
			for _, h := range held {
				sum += h.used
			}
			most = max(most, sum)
		}
	}
	return most
}

// TestPool: a unit has nearly all while the other one is idle. It gives way when the other one grows, up to a fair share each. All
// the time they use no more than there is.
func TestPool(t *testing.T) {
	const bytes = 1000
	p, units, held := &pool{bytes: bytes}, []*unit{{}, {}}, make([]holding, 2)
	most := grow(p, units, held, []int64{bytes, 1}, 1000)
	if held[0].used < bytes*85/100 {
		t.Errorf("one unit uses %d of %d, beside an idle one with %d", held[0].used, bytes, held[1].used)
	}
	most = max(most, grow(p, units, held, []int64{bytes, bytes}, 1000))
	for i := range held {
		if held[i].used < bytes/2*85/100 {
			t.Errorf("unit %d uses %d of %d, when both want it", i, held[i].used, bytes)
		}
	}
	if most > bytes {
		t.Errorf("together they use up to %d of %d", most, bytes)
	}
	p.leave(units[1])
	if got := p.limit(units[0], held[0]); got != bytes {
		t.Errorf("alone again, the unit may take %d of %d", got, bytes)
	}
	p.leave(units[1]) // as one that has not begun
	if free := (&pool{}).limit(units[0], holding{5, 5}); free != 0 {
		t.Errorf("without a limit of memory a unit may take %d", free)
	}
}

// The pools are those parts of the process's memory that one monitor has by itself.
func TestPools(t *testing.T) {
	const memory = 512 * mib
	p, b := poolsOf(memory), divide(memory)
	state, open := p.bound(&unit{})(engine.Held{Used: 1, Taken: 2, Open: 3})
	if state != b.state || open != b.open-b.open/8 {
		t.Errorf("a unit alone has %s, and one monitor %s", fmt.Sprint(state, open), fmt.Sprint(b.state, b.open))
	}
}
