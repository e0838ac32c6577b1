package saturation

// derive finds the edges that t's reads force.
func (s *State) derive(t, session uint32, reads []Read) {
	if s.stamp++; s.stamp == 0 { // around after 2^32 transactions: nothing may look marked
		for i := range s.keys {
			s.keys[i].stamp = 0
		}
		for i := range s.txns {
			s.txns[i].stamp = 0
		}
		s.stamp = 1
	}
	s.mark(t, reads)
	s.direct(t, reads)
	if s.clocked && !s.TooWide {
		s.indirect(t, session, reads)
	}
}

// mark notes by key what t read, and of whom it read first.
func (s *State) mark(t uint32, reads []Read) {
	if n := len(reads); len(s.sameKey) < n {
		s.sameKey = make([]uint32, 2*n)
	}
	for i := range reads {
		r := &reads[i]
		k := s.keyAt(r.Key)
		s.sameKey[i] = 0
		if k.stamp == s.stamp {
			s.sameKey[i] = k.reads
		}
		k.stamp, k.reads = s.stamp, uint32(i)+1
		if w := r.Writer; w != 0 && w != t {
			s.grow(w)
			if x := &s.txns[w]; x.stamp != s.stamp {
				x.stamp, x.firstRead = s.stamp, r.First
			}
		}
	}
}

// direct applies the rules by direct reads: whoever t read from comes before the
// others that t read the same keys from. It costs at most the writes of those it
// read from, or t's reads for each of them, whichever is less.
func (s *State) direct(t uint32, reads []Read) {
	for i := range reads {
		w := reads[i].Writer
		if w == 0 || w == t || s.txns[w].firstRead != reads[i].First {
			continue
		}
		budget := 4 * len(reads)
		for id := s.txns[w].entries; id != 0; id = s.entries[id].nextOfTxn {
			if k := &s.keys[s.entries[id].key]; k.stamp == s.stamp {
				for j := k.reads; j != 0; j = s.sameKey[j-1] {
					s.directOne(t, w, reads[i].First, &reads[j-1])
				}
			}
			if budget--; budget == 0 {
				s.directByReads(t, w, reads[i].First, s.entries[id].nextOfTxn, reads)
				break
			}
		}
	}
}

// directByReads does the same for the writes of w from the entry on, when they are
// many: it asks of each key that t read whether w wrote it. Edges that are already
// out come twice.
func (s *State) directByReads(t, w, first, rest uint32, reads []Read) {
	if rest == 0 {
		return
	}
	x := &s.txns[w]
	for j := range reads {
		for c := s.keys[reads[j].Key].columns; c != 0; c = s.columns[c].nextOfKey {
			if col := &s.columns[c]; col.chain == x.chain {
				if id := s.find(col, x.pos); id != 0 && s.entries[id].txn == w {
					s.directOne(t, w, first, &reads[j])
				}
				break
			}
		}
	}
}

func (s *State) directOne(t, w, first uint32, r *Read) {
	if r.Writer == w || r.Writer == t {
		return
	}
	rule := Atomic
	if first < r.Last {
		rule = AtomicView
	}
	s.Out = append(s.Out, Edge{From: w, To: r.Writer, By: t, Key: r.Key, Rule: rule})
}

// indirect applies the rules by session order and causal past.
func (s *State) indirect(t, session uint32, reads []Read) {
	mine := s.row(t)
	if n := int(s.stride); len(s.zero) < n {
		s.zero = make([]uint32, n)
	}
	for i := range reads {
		r := &reads[i]
		if r.Writer == t {
			continue
		}
		theirs := s.zero[:s.stride]
		if r.Writer != 0 && s.Known(r.Writer) {
			theirs = s.row(r.Writer)
		}
		for c := s.keys[r.Key].columns; c != 0; c = s.columns[c].nextOfKey {
			col := &s.columns[c]
			seen := theirs[col.chain]
			if col.lastPos <= seen || mine[col.chain] <= seen {
				continue // what of it is in t's past is in that of the writer
			}
			id := col.last
			if col.lastPos > mine[col.chain] {
				id = s.find(col, mine[col.chain])
			}
			if id == 0 || s.entries[id].pos <= seen {
				continue
			}
			s.indirectOne(t, session, id, r)
			if s.chains[col.chain].mixed && session != 0 {
				s.ofSession(t, session, id, seen, r)
			}
		}
	}
}

func (s *State) indirectOne(t, session, id uint32, r *Read) {
	w := s.entries[id].txn
	x := &s.txns[w]
	if w == r.Writer || w == t || x.stamp == s.stamp {
		return // read from: given by direct
	}
	rule := Causal
	if session != 0 && x.session == session {
		rule = SessionAtomic
	}
	s.Out = append(s.Out, Edge{From: w, To: r.Writer, By: t, Key: r.Key, Rule: rule})
}

// ofSession looks in a chain of several sessions for the latest write of t's own.
func (s *State) ofSession(t, session, id, seen uint32, r *Read) {
	for first := id; ; {
		e := &s.entries[id]
		if e.pos <= seen {
			return
		}
		if s.txns[e.txn].session == session {
			if id != first {
				s.indirectOne(t, session, id, r)
			}
			return
		}
		if e.prev == 0 || !s.older(e.prev, e) {
			return
		}
		id = e.prev
	}
}
