package solve

import "sort"

// A read with several candidates is a choice, as a pair of units is. It has a variable a
// candidate, and at least one of them holds. An edge from the reader to a unit behind a
// candidate follows from two literals. The read is of the candidate, and the candidate comes
// before the unit. Saturation drops a candidate that the reader reaches. It also drops one if a
// unit forced behind it reaches the reader. When one candidate is left, the reader is a reader
// of it like any other. That holds as far as nothing else rests on the dropped ones.

// dropped is why a candidate of a read is ruled out. The reader reaches its last writer. Or
// unit behind, which reaches the reader, is forced behind it, by a way from head to source.
type dropped struct {
	candidate    int32
	behind       int32 // -1: the reader reaches it
	head, source Node
	via          int32 // the read by which source is a reader of behind, -1 for none
	arcs         int32 // those that were known then
}

// reading is the state of a read.
type reading struct {
	key        int
	candidates []int32 // that are left
	dropped    []dropped
	of         int32 // the one that it is of, -1 while it is open
	why        int32 // the derivation of that, -1 while it is open and where the search decided
}

// startReads makes the solver's own units, which reads are to become readers of.
func (s *solver) startReads() {
	s.units = s.p.Units
	if len(s.p.Reads) == 0 {
		return
	}
	s.units = append([]Unit(nil), s.p.Units...)
	for i := range s.units {
		r := s.units[i].Readers
		s.units[i].Readers = r[:len(r):len(r)]
	}
	s.found = make([][]int32, len(s.units))
	s.reads = make([]reading, len(s.p.Reads))
	for i := range s.reads {
		c := s.p.Reads[i].Candidates
		k := sort.Search(len(s.p.Keys), func(k int) bool { return s.p.Keys[k] > c[0] }) - 1
		s.reads[i] = reading{key: k, candidates: append([]int32(nil), c...), of: -1, why: -1}
	}
}

// readOf is the read by which the j-th reader of unit u is one, -1 if it is known.
func (s *solver) readOf(u int32, j int) int32 {
	if known := len(s.p.Units[u].Readers); j >= known {
		return s.found[u][j-known]
	}
	return -1
}

// passes says whether the j-th reader of unit u says nothing of unit other: that is
// its own.
func (s *solver) passes(u int32, j int, other int32) bool {
	r := s.readOf(u, j)
	return r >= 0 && s.p.Reads[r].Own == other
}

// narrow drops candidates of the i-th read; false when none is left.
func (s *solver) narrow(i int, known int32) bool {
	x, r := &s.reads[i], &s.p.Reads[i]
	left := x.candidates[:0]
	for _, c := range x.candidates {
		if d, ok := s.dropsCandidate(x.key, r, c, known); ok {
			x.dropped = append(x.dropped, d)
		} else {
			left = append(left, c)
		}
	}
	x.candidates = left
	if len(left) == 1 {
		s.settle(i, known)
	}
	return len(left) > 0
}

func (s *solver) dropsCandidate(k int, r *Read, c, known int32) (dropped, bool) {
	u := &s.units[c]
	if s.c.reaches(r.Node, u.Out) {
		return dropped{c, -1, r.Node, u.Out, -1, known}, true
	}
	heads := s.heads()
	row := s.c.row(r.Node)
	for _, x := range heads.of(k) {
		b := heads.last(x, row[x.track], r.Own)
		if b < 0 || b == c {
			continue
		}
		if head, source, via, ok := s.why(c, b); ok {
			return dropped{c, b, head, source, via, known}, true
		}
	}
	return dropped{}, false
}

// heads are the lanes by the nodes that anti-dependencies lead to.
func (s *solver) heads() *lanes {
	if s.split {
		return &s.anti
	}
	return &s.dep
}

// why is by which way unit a comes before unit b in every order.
func (s *solver) why(a, b int32) (head, source Node, via int32, ok bool) {
	x, y := &s.units[a], &s.units[b]
	if s.c.reaches(x.In, y.Out) {
		return x.In, y.Out, -1, true
	}
	for j, r := range y.Readers {
		if !s.passes(b, j, a) && s.c.reaches(x.InAnti, r) {
			return x.InAnti, r, s.readOf(b, j), true
		}
	}
	return 0, 0, -1, false
}

// settle makes the i-th read one of the candidate that is left.
func (s *solver) settle(i int, known int32) {
	x, r := &s.reads[i], &s.p.Reads[i]
	c := x.candidates[0]
	x.of = c
	s.settled++
	u := &s.units[c]
	u.Readers, s.found[c] = append(u.Readers, r.Node), append(s.found[c], int32(i))
	x.why = int32(len(s.whys))
	s.whys = append(s.whys, derivation{before: -1, after: -1, via: -1, read: int32(i), arcs: known})
	if !s.c.reaches(u.Out, r.Node) {
		s.g.add(u.Out, r.Node, x.why)
		s.stats.Derived++
	}
	for _, b := range s.forcedBehind(c) {
		if head, source, via, ok := s.why(c, b); ok {
			s.orderVia(c, b, head, source, known, via)
		}
	}
	row, heads := s.c.row(r.Node), s.heads()
	for _, t := range heads.of(x.key) {
		if b := heads.last(t, row[t.track], r.Own); b >= 0 && b != c {
			s.orderVia(b, c, s.units[b].InAnti, r.Node, known, int32(i))
		}
	}
}

// forcedBehind are, of each track, the first unit that is forced behind unit a.
func (s *solver) forcedBehind(a int32) []int32 {
	var bs []int32
	k := sort.Search(len(s.p.Keys), func(k int) bool { return s.p.Keys[k] > a }) - 1
	for _, x := range s.dep.of(k) {
		for i := x.from; i < x.to; i++ {
			b := s.dep.entries[i].unit
			if b != a && s.forced(a, b) {
				bs = append(bs, b)
				break
			}
		}
	}
	return bs
}

// mustFollow are the units that are forced behind unit a, the first of each track.
func (s *solver) mustFollow(a int32) (bs []behind) {
	for _, b := range s.forcedBehind(a) {
		if head, source, via, ok := s.why(a, b); ok {
			s.whys = append(s.whys, derivation{a, b, head, source, int32(len(s.g.arcs)), via, -1})
			bs = append(bs, behind{b, int32(len(s.whys) - 1)})
		}
	}
	return bs
}

// settledReader says of the j-th reader of unit u which unit is its own, and why it is a
// reader: -1 if that is known.
func (s *solver) settledReader(u int32, j int) (own, why int32) {
	r := s.readOf(u, j)
	if r < 0 {
		return -1, -1
	}
	return s.p.Reads[r].Own, s.reads[r].why
}

// liveDuplicates are the reads that have several candidates left.
func (s *solver) openReads() []int32 {
	var open []int32
	for i := range s.reads {
		if s.reads[i].of < 0 {
			open = append(open, int32(i))
		}
	}
	return open
}

// behind is a unit that is forced behind another one, with the derivation.
type behind struct{ unit, why int32 }

// candidates is an index of units for the search of open reads.
type candidates struct {
	reads  []Read
	pairs  map[int32][]int32 // by unit: the pairs that it is in
	picks  map[int32][]int32 // by unit: the variables of the reads that may be of it
	behind map[int32][]behind
}

// candidatesOf indexes the variables of reads that may be of a unit, nil if there are none.
func candidatesOf(reads []Read, vars []variable, behind map[int32][]behind) *candidates {
	c := &candidates{reads: reads, pairs: map[int32][]int32{}, picks: map[int32][]int32{}, behind: behind}
	for v := range vars {
		if vars[v].read() >= 0 {
			c.picks[vars[v].A] = append(c.picks[vars[v].A], int32(v))
		}
	}
	if len(c.picks) == 0 {
		return nil
	}
	for v := range vars {
		if x := &vars[v]; x.read() < 0 {
			for _, u := range [2]int32{x.A, x.B} {
				if c.picks[u] != nil {
					c.pairs[u] = append(c.pairs[u], int32(v))
				}
			}
		}
	}
	return c
}

// maxPicks bounds the candidates that saturation may leave.
const maxPicks = 1 << 20

// picks are the variables of the open reads; false when there are too many.
func (s *solver) picks() (vars []variable, ok bool) {
	for _, i := range s.openReads() {
		for _, c := range s.reads[i].candidates {
			if _, ok := s.behind[c]; !ok {
				s.behind[c] = s.mustFollow(c)
			}
			vars = append(vars, isOf(c, i))
		}
		if len(vars) > maxPicks {
			return nil, false
		}
	}
	return vars, true
}

// pick takes the candidate for the i-th read.
func (s *solver) pick(i, c int32) {
	x, r := &s.reads[i], &s.p.Reads[i]
	if x.of >= 0 {
		return
	}
	x.of = c
	u := &s.units[c]
	u.Readers, s.found[c] = append(u.Readers, r.Node), append(s.found[c], i)
	s.g.add(u.Out, r.Node, -1)
	for _, b := range s.behind[c] {
		if b.unit != r.Own {
			s.g.add(r.Node, s.units[b.unit].InAnti, -1)
		}
	}
}

// fitsReads says whether each read is of a unit before it in the order, and comes before the
// next unit of the key. next are the units that follow.
func (s *solver) fitsReads(order, next []int32) bool {
	for i := range s.reads {
		r := &s.p.Reads[i]
		c := s.reads[i].of
		if c < 0 || order[s.p.Units[c].Out] >= order[r.Node] {
			return false
		}
		if b := next[c]; b >= 0 && b != r.Own && order[r.Node] >= order[s.p.Units[b].InAnti] {
			return false
		}
	}
	return true
}
