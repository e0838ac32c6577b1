package group

// share lists the units that one member should take or give, as it sees the group.
type share struct {
	claims []int32 // units to take
	gives  []give
}

// give is a unit to hand over.
type give struct {
	unit int32
	to   int32 // place among the living
}

// planner divides units evenly. Units above the even load of one member go to members below it, and to no
// others. Members that see the same group come
// to the same division.
type planner struct {
	load    []int32 // by the place of the living member, in the order of names
	pool    []int32 // units that may be taken, ascending
	mine    []int32 // units that this member could give, ascending
	me      int32   // place of this member; below 0: it only looks on
	units   int     // of the group, those without a place included
	targets []int32 // scratch
}

// quotas sets what each member should have: units/n, and one more for the rest. The rest stays with those that
// have it, in the order of names.
func (p *planner) quotas() []int32 {
	n := len(p.load)
	low, rest := int32(p.units/n), p.units%n
	rich := 0
	for _, l := range p.load {
		if l > low {
			rich++
		}
	}
	p.targets = p.targets[:0]
	fromRich, fromPoor := min(rest, rich), max(rest-rich, 0)
	for _, l := range p.load {
		quota := low
		switch {
		case l > low && fromRich > 0:
			fromRich--
			quota++
		case l <= low && fromPoor > 0:
			fromPoor--
			quota++
		}
		p.targets = append(p.targets, quota)
	}
	return p.targets
}

// divide matches units in order, first the pool and then what members have above their quotas, with members
// below theirs in order. O(members + units).
func (p *planner) divide() (s share) {
	if p.me < 0 {
		return s
	}
	quota := p.quotas()
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
