package trial

import "slices"

// part is some of the transactions of a history, with what counts there of what they read.
type part struct {
	h            *History
	of           []int32         // which transactions, ascending
	observations [][]observation // by place in of
	readers      [][]int32       // by cell: places in of
	silent       []Silent        // reads that do not count, since what they can be of is not all here
	writers      []int32         // by cell: how many of of change it
	begins       []bool          // by cell, nil for none: who inserts there may begin another row
	told         bool            // versions count
	asAsked      bool            // each transaction is judged by no more than it asked for
}

// whole is all of the history; what nobody left counts there too.
func (h *History) whole() *part {
	return h.part(nil, 0)
}

// part is the part with the transactions that in has, all for nil. In a part the reads of a
// transaction that was not promised the base say nothing.
func (h *History) part(in []bool, base Base) *part {
	p := &part{h: h, told: in == nil, readers: make([][]int32, len(h.cells)), writers: make([]int32, len(h.cells))}
	for i := range h.txns {
		if in == nil || in[i] {
			p.of = append(p.of, int32(i))
		}
	}
	for at, i := range p.of {
		t := &h.txns[i]
		var kept []observation
		open := map[int32]bool{} // cells
		for _, s := range t.observations {
			if in != nil && s.how == replaced {
				continue
			}
			if in != nil && (h.asksLess(i, base) || !h.named(&s) || !h.tells(&s, i, in)) {
				open[s.cell] = true
				p.silence(int(i), s.cell)
			}
		}
		for _, s := range t.observations {
			if open[s.cell] || in != nil && s.how == replaced {
				continue
			}
			if in != nil {
				s.told = 0
			}
			if (s.how == showedList || s.how == misread) && in != nil {
				s.elems = h.appendedIn(s.cell, s.elems, in)
			}
			kept = append(kept, s)
			if n := len(p.readers[s.cell]); n == 0 || p.readers[s.cell][n-1] != int32(at) {
				p.readers[s.cell] = append(p.readers[s.cell], int32(at))
			}
		}
		p.observations = append(p.observations, kept)
		for _, w := range t.writes {
			p.writers[w.cell]++
		}
	}
	if in != nil && h.rows {
		p.begins = h.deletedOutside(in)
	}
	return p
}

// deletedOutside are the registers with a deleter outside the part, or without a record. It may
// have deleted the row between any writes of the others.
func (h *History) deletedOutside(in []bool) []bool {
	all := make([]bool, len(h.cells))
	for c := range h.cells {
		all[c] = h.deleted != nil && h.cells[c].kind == register && h.deleted(h.cells[c].name)
	}
	for i := range h.txns {
		for _, w := range h.txns[i].writes {
			all[w.cell] = all[w.cell] || !in[i] && w.value == 0 && h.cells[w.cell].kind == register
		}
	}
	return all
}

// rows are the names of such keys, where two of the part write.
func (p *part) rows() (keys []string) {
	for c, begins := range p.begins {
		if begins && p.writers[c] > 1 {
			keys = append(keys, p.h.cells[c].name)
		}
	}
	return keys
}

func (p *part) silence(i int, c int32) {
	x := &p.h.cells[c]
	r := Silent{Txn: i, Key: x.name, Elem: x.elem}
	if !slices.Contains(p.silent, r) {
		p.silent = append(p.silent, r)
	}
}

// tells says whether the observation of transaction i counts in a part.
func (h *History) tells(s *observation, i int32, in []bool) bool {
	if c := &h.cells[s.cell]; h.counts != nil && (s.how == another || !h.counts(int(i), c.name, c.elem)) {
		return false
	}
	if (s.how == misread || s.how == showedList) && h.appendedOutside(s, in) {
		return false
	}
	return s.how == misread || h.decided(s, i, in)
}

// appendedOutside says whether an element that the observation shows was appended in the part, and by
// others too, as by a client that tried again. It is not known whose append is shown.
func (h *History) appendedOutside(s *observation, in []bool) bool {
	inside, outside := map[int32]bool{}, map[int32]bool{}
	for _, i := range h.cells[s.cell].writers {
		of := outside
		if in[i] {
			of = inside
		}
		for _, w := range h.txns[i].writes {
			for _, e := range w.elems {
				if w.cell == s.cell {
					of[e] = true
				}
			}
		}
	}
	return slices.ContainsFunc(s.elems, func(e int32) bool { return inside[e] && outside[e] })
}

// decided says whether all possible sources of transaction i's observation are in the part. A value
// without a writer is told elsewhere. One that others wrote, and wrote over, is told here.
func (h *History) decided(s *observation, i int32, in []bool) bool {
	some := false
	for _, w := range h.cells[s.cell].writers {
		if w == i {
			continue
		}
		switch s.how {
		case showedList:
			return true
		case another, showedSum:
			if !in[w] {
				return false
			}
		default:
			if t := &h.txns[w]; t.leaves(s.cell, s.value) || t.passes(s.cell, s.value) {
				if some = true; !in[w] {
					return false
				}
			}
		}
	}
	return s.how != showed || s.value == 0 || some
}

// appendedIn are the elements of those that the part has.
func (h *History) appendedIn(c int32, elems []int32, in []bool) []int32 {
	return slices.DeleteFunc(slices.Clone(elems), func(v int32) bool {
		return !slices.ContainsFunc(h.cells[c].writers, func(w int32) bool {
			return in[w] && slices.ContainsFunc(h.txns[w].writes, func(x write) bool { return x.cell == c && slices.Contains(x.elems, v) })
		})
	})
}

// Silent is a read of a key, or of an element of a set, that says nothing in a part.
type Silent struct {
	Txn       int
	Key, Elem string
}
