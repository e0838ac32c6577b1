package trial

// Verdict is the result of trying.
type Verdict uint8

const (
	Unknown    Verdict = iota // the budget was not enough
	Possible                  // some order explains all reads
	Impossible                // none does
	// AsAsked: an order explains what was promised at the level to those that asked for it, or for
	// nothing. The others saw what was committed, if they asked for that.
	AsAsked
)

// maxPasts bounds the transactions whose pasts are kept.
const maxPasts = 64

// search is one over the orders of a part.
type search struct {
	p      *part
	level  Level
	budget int // how many steps are left

	placed []bool
	order  []int32 // places in part.of
	sure   int     // transactions that are to be placed yet
	first  int     // the first that is not placed
	cells  []contents
	before [][]int32 // by place in part.of: those that come before it
	pasts  []uint64  // by place in the order; of levels below prefix
	behind []uint64  // by place in part.of: those that are in its past whatever it reads
	less   []bool    // by place in part.of: it was not promised the level; nil: all were
	free   bool      // somebody asked for less than read committed
}

// contents are the versions of a cell, each with its place in the order.
type contents struct {
	versions []version
	elems    []int32 // of a list
}

type version struct {
	at    int32
	value int32 // of a register; of a list, how many elements there are
	sum   int64
	told  int32 // the version that its writer tells
	// number places it among the versions of its cell, if it is numbered.
	number   int64
	numbered bool
}

// solve looks for an order of the part.
func (p *part) solve(l Level, budget int) (Verdict, int) {
	if l.Base < prefix && len(p.of) > maxPasts {
		return Unknown, budget
	}
	s := &search{p: p, level: l, budget: budget, placed: make([]bool, len(p.of)), cells: make([]contents, len(p.h.cells))}
	for _, i := range p.of {
		if !p.h.txns[i].maybe {
			s.sure++
		}
		if p.wrongAt(i, l) && !p.h.txns[i].maybe {
			return Impossible, budget
		}
	}
	if p.asAsked {
		s.noteLess()
	}
	s.orderKnown()
	if s.extend() {
		return Possible, s.budget
	}
	if s.budget <= 0 {
		return Unknown, 0
	}
	return Impossible, s.budget
}

// orderKnown finds the order of transactions that holds whatever they read. O(n^2).
func (s *search) orderKnown() {
	n := len(s.p.of)
	s.before, s.behind = make([][]int32, n), make([]uint64, n)
	if !s.level.Session && !s.level.Time {
		return
	}
	for a := range n {
		for b := range n {
			if a == b {
				continue
			}
			order, past := s.p.h.before(s.level, s.txn(a), s.txn(b))
			if order {
				s.before[b] = append(s.before[b], int32(a))
			}
			if past && n <= maxPasts {
				s.behind[b] |= 1 << a
			}
		}
	}
}

func (s *search) txn(at int) *txn { return &s.p.h.txns[s.p.of[at]] }

// extend completes the order, if it can be.
func (s *search) extend() bool {
	uncommitted := s.level.Base == readUncommitted
	if s.sure == 0 && (!uncommitted && !s.free || s.listsGrow()) && (!uncommitted || !s.anyLeftOut()) {
		return true
	}
	was := s.first
	for s.first < len(s.placed) && s.placed[s.first] {
		s.first++
	}
	for at := s.first; at < len(s.placed); at++ {
		if s.placed[at] {
			continue
		}
		if s.budget--; s.budget <= 0 {
			break
		}
		if s.waits(at) || !s.fitsTold(at) || s.p.wrongAt(s.p.of[at], s.level) {
			continue
		}
		if s.level.Base >= prefix && s.putState(at) || s.level.Base < prefix && s.putVersions(at) {
			return true
		}
	}
	s.first = was
	return false
}

// waits says whether one that is not placed comes before it. One that need not have
// taken effect keeps nobody waiting: others may have gone on without it.
func (s *search) waits(at int) bool {
	for _, b := range s.before[at] {
		if !s.placed[b] {
			return true
		}
	}
	return false
}

// put places the transaction and goes on.
func (s *search) put(at int) bool {
	t := s.txn(at)
	place := int32(len(s.order))
	s.placed[at] = true
	s.order = append(s.order, int32(at))
	if !t.maybe {
		s.sure--
	}
	for i := range t.writes {
		w := &t.writes[i]
		c := &s.cells[w.cell]
		v := version{at: place, value: w.value, told: w.version, number: w.number, numbered: w.numbered}
		switch s.p.h.cells[w.cell].kind {
		case list:
			c.elems = append(c.elems, w.elems...)
			v.value = int32(len(c.elems))
		case counter:
			v.sum = c.last().sum + w.inc
		}
		c.versions = append(c.versions, v)
	}
	if !s.dead(t) && s.extend() {
		return true
	}
	for i := range t.writes {
		w := &t.writes[i]
		c := &s.cells[w.cell]
		c.versions = c.versions[:len(c.versions)-1]
		c.elems = c.elems[:len(c.elems)-len(w.elems)]
	}
	if !t.maybe {
		s.sure++
	}
	s.order = s.order[:place]
	s.placed[at] = false
	return false
}

func (c *contents) last() version { return c.upTo(1 << 30) }

// upTo is the latest version before the place.
func (c *contents) upTo(place int32) version {
	for i := len(c.versions) - 1; i >= 0; i-- {
		if c.versions[i].at < place {
			return c.versions[i]
		}
	}
	return version{at: -1}
}

// shows says whether the observation is of this version.
func (c *contents) shows(x *observation, v version) bool {
	switch x.how {
	case showed:
		if x.told != 0 {
			return v.told == x.told
		}
		return v.value == x.value
	case another:
		return v.value != x.value
	case replaced:
		return v.told == x.told
	case showedSum:
		return v.sum == x.sum && (x.told == 0 || v.told == x.told)
	case showedList:
		if int(v.value) != len(x.elems) {
			return false
		}
		for i, e := range x.elems {
			if c.elems[i] != e {
				return false
			}
		}
	}
	return true
}
