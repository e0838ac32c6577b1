package linear

import "sort"

// possibility is a possible situation so far: a state, and the running operations that have
// taken effect, as bits of slots that are used again. Operations that never return keep theirs.
type possibility struct {
	state string
	done  [4]uint64 // operations that return
	open  [4]uint64 // operations that never do
}

func has(set *[4]uint64, slot int) bool { return set[slot/64]>>(slot%64)&1 == 1 }

// Refute says whether no order explains the results, in another way than [Check]. It goes
// through the calls and returns once, with all possibilities so far. Two of them may differ in
// the operations that never return. The one in which fewer have taken effect can still become
// all that the other can. Refute gives up, and says false, beyond the budget. at is the
// operation whose return leaves no possibility.
func Refute(ops []Op, budget int) (at int, refuted bool) {
	type moment struct {
		time    int64
		returns bool
		op      int
	}
	var moments []moment
	for i := range ops {
		moments = append(moments, moment{ops[i].Call, false, i})
		if !ops[i].Open {
			moments = append(moments, moment{ops[i].Return, true, i})
		}
	}
	sort.SliceStable(moments, func(a, b int) bool {
		x, y := moments[a], moments[b]
		return x.time < y.time || x.time == y.time && !x.returns && y.returns
	})
	now := []possibility{{}}
	var running, open [256]int // operation+1 by slot
	slot := make([]int, len(ops))
	for _, m := range moments {
		if !m.returns {
			slots := &running
			if ops[m.op].Open {
				slots = &open
			}
			s := 0
			for s < len(slots) && slots[s] != 0 {
				s++
			}
			if s == len(slots) {
				return 0, false
			}
			slots[s], slot[m.op] = m.op+1, s
			continue
		}
		mine := slot[m.op]
		var next []possibility
		seen := frontier{}
		work := append([]possibility(nil), now...)
		for i := range work {
			seen.add(&work[i])
		}
		for i := 0; i < len(work); i++ {
			if budget--; budget < 0 {
				return 0, false
			}
			p := work[i]
			if has(&p.done, mine) {
				p.done[mine/64] &^= 1 << (mine % 64)
				next = append(next, p)
				continue // what else it may do it may do later
			}
			for s, op := range running {
				if op == 0 || has(&p.done, s) {
					continue
				}
				if state, ok := apply(p.state, &ops[op-1]); ok {
					q := possibility{state, p.done, p.open}
					q.done[s/64] |= 1 << (s % 64)
					if seen.add(&q) {
						work = append(work, q)
					}
				}
			}
			for s, op := range open {
				if op == 0 || has(&p.open, s) {
					continue
				}
				if state, ok := apply(p.state, &ops[op-1]); ok && state != p.state {
					q := possibility{state, p.done, p.open}
					q.open[s/64] |= 1 << (s % 64)
					if seen.add(&q) {
						work = append(work, q)
					}
				}
			}
		}
		if len(next) == 0 {
			return m.op, true
		}
		kept := frontier{}
		now = now[:0]
		for i := range next {
			if kept.add(&next[i]) {
				now = append(now, next[i])
			}
		}
		running[mine] = 0
	}
	return 0, false
}

// frontier holds possibilities. No one of them makes another needless.
type frontier map[frontierKey][][4]uint64

type frontierKey struct {
	state string
	done  [4]uint64
}

// add says whether p is not covered by one that is there.
func (f frontier) add(p *possibility) bool {
	k := frontierKey{p.state, p.done}
	for _, o := range f[k] {
		if o[0]&^p.open[0]|o[1]&^p.open[1]|o[2]&^p.open[2]|o[3]&^p.open[3] == 0 {
			return false
		}
	}
	f[k] = append(f[k], p.open)
	return true
}
