package group

// share lists the units that one member should take or give, as it sees the group.
type share struct {
	claims []int32 // units to take
	gives  []give
	full   bool // the member has what it should have
}

// give is a unit to hand over.
type give struct {
	unit int32
	to   int32 // place among the living
}

// lent is a unit with another member than its home. Both are places among the living.
type lent struct {
	unit, from, home int32
	mine             bool // this member could give it
}

// planner divides units evenly. Units above the even load of one member go to members below it, and to no
// others. Among those that go anyway, a unit goes to its home first: so a member that left and is back has its units
// again. Members that see the same group come to the same division.
type planner struct {
	load  []int32 // by the place of the living member, in the order of names
	pool  []int32 // units that may be taken, ascending
	mine  []int32 // units that this member could give and that are not lent, ascending
	lent  []lent  // ascending by unit
	has   int     // units that this member could give
	me    int32   // place of this member; below 0: it only looks on
	units int     // of the group, those without a place included

	targets, ideals []int32 // scratch
}

// quotas sets what each member should have: units/n, and one more for the rest. The rest goes first to members that
// would have it if lent units were back, and then to those that have it now. The order of names decides between equals.
func (p *planner) quotas() []int32 {
	n := len(p.load)
	low, rest := int32(p.units/n), p.units%n
	p.ideals = append(p.ideals[:0], p.load...)
	for _, l := range p.lent {
		if p.load[l.home] < low { // others have their share, and nothing moves on their account
			p.ideals[l.from]--
			p.ideals[l.home]++
		}
	}
	p.targets = p.targets[:0]
	for range n {
		p.targets = append(p.targets, low)
	}
	for _, rich := range []func(i int) bool{
		func(i int) bool { return p.ideals[i] > low },
		func(i int) bool { return p.load[i] > low },
		func(int) bool { return true },
	} {
		for i := 0; i < n && rest > 0; i++ {
			if p.targets[i] == low && rich(i) {
				p.targets[i]++
				rest--
			}
		}
	}
	return p.targets
}

// divide has lent units go home first. Then it matches units in order, first the pool and then what members have
// above their quotas, with members below theirs in order. O(members + units).
func (p *planner) divide() (s share) {
	if p.me < 0 {
		return s
	}
	quota := p.quotas()
	s.full = p.has >= int(quota[p.me])
	p.goHome(quota, &s)
	mine := p.load[p.me] - quota[p.me]
	// first is the place, among all receivers, or among all that is given, of this member's first.
	first := int32(0)
	if mine > 0 {
		first = int32(len(p.pool))
	}
	for i := range p.me {
		over := p.load[i] - quota[i]
		if mine < 0 {
			over = -over
		}
		first += max(over, 0)
	}
	switch {
	case mine < 0:
		for at := first; at < min(first-mine, int32(len(p.pool))); at++ {
			s.claims = append(s.claims, p.pool[at])
		}
	case mine > 0:
		receivers := p.receivers(quota, first, first+mine)
		for i, to := range receivers {
			if i >= len(p.mine) {
				break
			}
			s.gives = append(s.gives, give{p.mine[len(p.mine)-1-i], to})
		}
	}
	return s
}

// goHome gives lent units back, where their owner has too many and their home has too few. The others come last
// among mine: so they go elsewhere before units that were never moved.
func (p *planner) goHome(quota []int32, s *share) {
	for _, l := range p.lent {
		goes := p.load[l.from] > quota[l.from] && p.load[l.home] < quota[l.home]
		if goes {
			p.load[l.from]--
			p.load[l.home]++
		}
		switch {
		case !l.mine:
		case goes:
			s.gives = append(s.gives, give{l.unit, l.home})
		default:
			p.mine = append(p.mine, l.unit)
		}
	}
}

// receivers are those at places from to to among all that members lack.
func (p *planner) receivers(quota []int32, from, to int32) (all []int32) {
	at := int32(0)
	for i, l := range p.load {
		for range max(quota[i]-l, 0) {
			if at >= from && at < to {
				all = append(all, int32(i))
			}
			at++
		}
		if at >= to {
			break
		}
	}
	return all
}
