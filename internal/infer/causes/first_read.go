package causes

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// FirstRead takes the i-th operation of n, the transaction in work. It must be a read of a register
// that the transaction has not touched so far, and the plan must know the version. Nearly all reads are
// such. For these it has the same effect as the general way.
func (s *Absences) FirstRead(i int, o *event.Op, n uint32) bool {
	at := s.PlanFrom + uint32(i)
	if at >= s.PlanTo || o.Kind != event.Read || o.Data > event.Register || o.Nothing() || s.Freed != s.PlanFreed {
		return false
	}
	p := &s.Planned[at]
	if p.Version == 0 {
		return false
	}
	x := &s.Keys[p.Key]
	if x.Kind != event.Register || x.Flags&(ledger.Unsupported|ledger.Versioned|ledger.Repeats) != 0 || o.Flags&event.HasExtra != 0 || x.Stamp == s.Stamp ||
		len(s.Touches) == cap(s.Touches) {
		return false
	}
	x.Flags |= ledger.Used
	x.Stamp, x.Touch = s.Stamp, uint32(len(s.Touches))
	s.Touches = s.Touches[:len(s.Touches)+1]
	c := &s.Touches[len(s.Touches)-1]
	*c = Touch{}
	c.Key, c.Flags = p.Key, HasRead|Plain
	c.ReadVer, c.ReadHash, c.ReadOp = p.Version, o.ValueHash, uint32(i)
	s.AddReader(n, p.Version, uint32(i))
	if s.Opt.Observed {
		s.CountRead(p.Key)
		s.Nobody(p.Version)
	}
	return true
}

// Planned is where an operation leads; 0 is not known.
type Planned struct{ Key, Version, Op, Fp uint32 }
