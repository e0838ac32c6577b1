package saturation

// derive finds the edges that t's reads force.
func (s *State) derive(t *Txn) {
	if s.stamp++; s.stamp == 0 { // around after 2^32 transactions: nothing may look marked
		for i := range s.keys {
			s.keys[i].stamp = 0
		}
		for i := range s.txns {
			s.txns[i].stamp = 0
		}
		s.stamp = 1
	}
	s.mark(t)
	s.direct(t)
	if s.clocked && !s.TooWide {
		s.indirect(t.Number, t.Session, t.Reads)
	}
}

// mark notes by key the versions that t read, and when it first read from each writer.
func (s *State) mark(t *Txn) {
	reads := t.Reads
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
		s.markWriter(t.Number, r.Writer, r.First)
	}
	for i := range t.Shown {
		s.markWriter(t.Number, t.Shown[i].Writer, t.Shown[i].First)
	}
}

func (s *State) markWriter(t, w, first uint32) {
	if w == 0 || w == t {
		return
	}
	s.grow(w)
	if x := &s.txns[w]; x.stamp != s.stamp || first < x.firstRead {
		x.stamp, x.firstRead = s.stamp, first
	}
}

// noKey is for a writer whose element stood in a list before the last one.
const noKey = ^uint32(0)

// direct applies the rules by direct reads: whoever t read from comes before the
// others that t read the same keys from. It costs at most the writes of those it
// read from, or t's reads for each of them, whichever is less.
func (s *State) direct(t *Txn) {
	for i := range t.Reads {
		r := &t.Reads[i]
		if w := r.Writer; w != 0 && w != t.Number && s.txns[w].firstRead == r.First {
			s.directFrom(t, w, r.First, r.Key)
		}
	}
	for i := range t.Shown {
		x := &t.Shown[i]
		if w := x.Writer; w != 0 && w != t.Number && s.txns[w].firstRead == x.First {
			s.directFrom(t, w, x.First, noKey)
		}
	}
}

// directFrom derives the edges for one writer, from which t read the key first.
func (s *State) directFrom(t *Txn, w, first, key uint32) {
	budget := 4 * len(t.Reads)
	for id := s.txns[w].entries; id != 0; id = s.entries[id].nextOfTxn {
		if k := &s.keys[s.entries[id].key]; k.stamp == s.stamp {
			for j := k.reads; j != 0; j = s.sameKey[j-1] {
				s.directOne(t.Number, w, first, key, &t.Reads[j-1])
			}
		}
		if budget--; budget == 0 {
			s.directByReads(t.Number, w, first, key, s.entries[id].nextOfTxn, t.Reads)
			break
		}
	}
}

// directByReads does the same for the writes of w from the entry on, when they are many. For
// each key that t read, it asks whether w wrote it. Edges that are already out come twice.
func (s *State) directByReads(t, w, first, key, rest uint32, reads []Read) {
	if rest == 0 {
		return
	}
	x := &s.txns[w]
	for j := range reads {
		for c := s.keys[reads[j].Key].columns; c != 0; c = s.columns[c].nextOfKey {
			if col := &s.columns[c]; col.chain == x.chain {
				if id := s.find(col, x.pos); id != 0 && s.entries[id].txn == w {
					s.directOne(t, w, first, key, &reads[j])
				}
				break
			}
		}
	}
}

// directOne is for one read. A scan reads all at once: each key when all others are read.
func (s *State) directOne(t, w, first, key uint32, r *Read) {
	other := key != noKey && key != r.Key
	if r.Writer == w || r.Writer == t || r.First == first && !other {
		return // one operation of t saw both, and shows which came first
	}
	rule := Atomic
	if first < r.Last || first == r.Last && other {
		rule = AtomicView
	}
	s.Out = append(s.Out, Edge{From: w, To: r.Writer, By: t, Key: r.Key, Rule: rule, Again: s.was(w)})
}

// was says whether w was in the past of the transaction in work before it was renewed.
func (s *State) was(w uint32) bool {
	x := &s.txns[w]
	return x.chain != 0 && x.pos <= of(s.before, x.chain)
}

// indirect applies the rules by session order and causal past.
func (s *State) indirect(t, session uint32, reads []Read) {
	mine := s.row(t)
	for i := range reads {
		r := &reads[i]
		if r.Writer == t {
			continue
		}
		var theirs []uint32
		if r.Writer != 0 && s.Known(r.Writer) {
			theirs = s.row(r.Writer)
		}
		for c := s.keys[r.Key].columns; c != 0; c = s.columns[c].nextOfKey {
			col := &s.columns[c]
			seen, upTo := of(theirs, col.chain), of(mine, col.chain)
			if col.lastPos <= seen || upTo <= seen {
				continue // what t has of this chain in its past, the writer has in its past too
			}
			id := col.last
			if col.lastPos > upTo {
				id = s.find(col, upTo)
			}
			if id == 0 || s.entries[id].pos <= seen {
				continue
			}
			s.indirectOne(t, session, id, r)
			if s.chains[col.chain].mixed != 0 && session != 0 {
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
	s.Out = append(s.Out, Edge{From: w, To: r.Writer, By: t, Key: r.Key, Rule: rule, Again: s.was(w)})
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
