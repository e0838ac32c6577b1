package app

import (
	"sync"

	"github.com/isowatch/isowatch/internal/engine"
)

// holding has the bytes of a pool that a unit takes: used without the free places of its tables, taken with them.
type holding struct{ used, taken int64 }

// reservedPart of a pool, 1/8, is left for units that begin to grow: the others take until their next step to give way.
const reservedPart = 8

// limits divides bytes among units. Each claims what it has taken, or twice what it uses up to its fair share, so that there is room to
// grow. Units that claim little leave the rest to the others. No unit grows into what others have taken. But free places in tables do
// not go back. So up to its fair share a unit grows into what others do not use any more.
func limits(bytes int64, all []holding) []int64 {
	n := int64(len(all))
	fair := bytes / n
	claims := make([]int64, n)
	var used, taken int64
	for i, h := range all {
		claims[i] = max(h.taken, min(2*h.used, fair))
		used, taken = used+h.used, taken+h.taken
	}
	level := engine.Level(bytes, claims)
	most := make([]int64, n)
	for i, h := range all {
		most[i] = max(min(level, bytes-(taken-h.taken)), min(fair, bytes-(used-h.used)), fair/reservedPart)
	}
	return most
}

// pool is memory that the units of a member share. The limits that it gives are input of the units' steps, and recorded with them. So
// a successor comes to the same findings, whatever its own pool is.
type pool struct {
	bytes int64 // 0: any amount

	mu    sync.Mutex
	units []*unit
	held  []holding
}

// limit bounds u now, by the holdings of all.
func (p *pool) limit(u *unit, h holding) int64 {
	if p.bytes == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.index(u)
	if at < 0 {
		at = len(p.units)
		p.units, p.held = append(p.units, u), append(p.held, h)
	}
	p.held[at] = h
	return limits(p.bytes, p.held)[at]
}

func (p *pool) index(u *unit) int {
	for i := range p.units {
		if p.units[i] == u {
			return i
		}
	}
	return -1
}

// leave gives back what u holds.
func (p *pool) leave(u *unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, last := p.index(u), len(p.units)-1; at >= 0 {
		p.units[at], p.held[at] = p.units[last], p.held[last]
		p.units[last] = nil
		p.units, p.held = p.units[:last], p.held[:last]
	}
}

// pools are the memory that units take by need: state is of the machines, and open of the open transactions. Other parts are small, and
// each unit has a fixed share of them.
type pools struct{ state, open pool }

func poolsOf(memory int64) *pools {
	b := divide(memory)
	return &pools{pool{bytes: b.state}, pool{bytes: b.open - b.open/reservedPart}}
}

// bound is [engine.Options.Bound] of a unit.
func (p *pools) bound(u *unit) func(engine.Held) (state, open int64) {
	return func(h engine.Held) (state, open int64) {
		return p.state.limit(u, holding{h.Used, h.Taken}), p.open.limit(u, holding{h.Open, h.Open})
	}
}

func (p *pools) leave(u *unit) {
	p.state.leave(u)
	p.open.leave(u)
}
