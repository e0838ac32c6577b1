package infer

// Let a row not be its key (Options.Rows), and let the contract give an order of versions. A
// delete that has no place in the order may have come between any two versions of its key. Then
// the writer of the later one may have inserted another row. Neighbours in the order may be
// transactions that met the key one after the other (partial.go). There no delete has a place:
// two may have met it around a third.

// deletedRow is called when a transaction that counts deleted the row and left v in k. If v has
// no place in the order, it notes that. 0 stands for the version of an unknown outcome, or
// perhaps of another transaction.
func (s *registers) deletedRow(k, v uint32) {
	x := &s.keys[k]
	if !s.opt.Rows || !s.opt.Ordered || x.flags&(rowsApart|element) != 0 || v != 0 && s.isOrdered(v) && !s.opt.partly() {
		return
	}
	x.flags |= rowsApart
	for q := s.versions[x.initial].next; q != 0; q = s.versions[q].next {
		if p := s.knownBefore(s.versions[q].prev); p != 0 {
			s.partRows(p, q)
		}
	}
	if s.opt.partly() {
		for id := *at(&s.partial.precOf, k); id != 0; id = s.partial.precedences[id].behind {
			s.partRows(s.partial.precedences[id].from, s.partial.precedences[id].to)
		}
	}
}

// partRows takes back that the writers of the two versions did not overlap. The second version
// is behind the first one.
func (s *registers) partRows(v, q uint32) {
	if w := s.versions[q].writer; w != 0 && s.versions[q].flags&tombstone == 0 {
		s.killEdges(q, w, WW)
		s.writesFollow(v, q, nil)
	}
}

// otherRow says whether q, which is behind v in the order of the key, may be of another row. If that is
// not known, the pair is counted.
func (s *orders) otherRow(v, q uint32) bool {
	if !s.opt.Rows || s.versions[q].flags&tombstone != 0 {
		return false
	}
	if s.versions[v].flags&tombstone != 0 {
		return true
	}
	if s.keys[s.versions[v].key].flags&rowsApart == 0 {
		return false
	}
	if s.versions[q].writer != 0 && s.versions[v].writer != 0 {
		s.out.OtherRows++
	}
	return true
}
