package infer

import "github.com/isowatch/isowatch/event"

// firstRead takes the i-th operation of n, the transaction in work. It must be a read of a register
// that the transaction has not touched so far, and the plan must know the version. Nearly all reads are
// such. For these it has the same effect as the general way.
func (s *absences) firstRead(i int, o *event.Op, n uint32) bool {
	at := s.planFrom + uint32(i)
	if at >= s.planTo || o.Kind != event.Read || o.Data > event.Register || o.Nothing() || s.freed != s.planFreed {
		return false
	}
	p := &s.plan[at]
	if p.version == 0 {
		return false
	}
	x := &s.keys[p.key]
	if x.kind != event.Register || x.flags&(unsupported|versioned|repeats) != 0 || o.Flags&event.HasExtra != 0 || x.stamp == s.stamp || len(s.touches) == cap(s.touches) {
		return false
	}
	x.flags |= used
	x.stamp, x.touch = s.stamp, uint32(len(s.touches))
	s.touches = s.touches[:len(s.touches)+1]
	c := &s.touches[len(s.touches)-1]
	*c = touch{}
	c.key, c.flags = p.key, hasRead|plain
	c.readVer, c.readHash, c.readOp = p.version, o.ValueHash, uint32(i)
	s.addReader(n, p.version, uint32(i))
	if s.opt.Observed {
		s.countRead(p.key)
		s.nobody(p.version)
	}
	return true
}
