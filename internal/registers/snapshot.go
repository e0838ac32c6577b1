package registers

// moment is the begin or the commit of a transaction.
type moment struct {
	txn    uint32
	commit bool
}

// snapshots looks for an order of begins and commits. In it, each transaction reads what was committed
// when it began. Nobody commits a key between the begin and the commit of another writer of it. Such an
// order shows snapshot isolation. It is nil where none was found: there may be one all the same. Like
// the search for a serial order, it takes back nothing.
func (h *History) snapshots(c constraints) []moment {
	s := &snapshotter{scheduler: newScheduler(h, c), begun: make([]bool, len(h.numbers.Txns)), writer: make([]uint32, h.numKeys)}
	if s.run(s.attempt); len(s.moments) != 2*len(s.by) {
		return nil
	}
	return s.moments
}

// snapshotter is such a search. A transaction has its place when it has committed.
type snapshotter struct {
	*scheduler
	begun   []bool   // by transaction
	writer  []uint32 // by key: the one that has begun and writes it
	moments []moment
}

// attempt begins t, or commits it, if that can come next. Otherwise t waits.
func (s *snapshotter) attempt(t uint32) {
	if s.budget--; s.budget < 0 {
		s.dead = true
	}
	if s.dead || s.placed[t] || !s.begun[t] && !s.begin(t) {
		return
	}
	first, end := s.h.numbers.WritesOf(t)
	for w := first; w < end; w++ {
		key := s.h.numbers.Writes[w]
		if !s.appends(t, key, w+1) {
			return
		}
		if *s.left(key) > 0 {
			s.await(&s.forKey[key], t)
			return
		}
	}
	s.placed[t] = true
	s.moments = append(s.moments, moment{t, true})
	for w := first; w < end; w++ {
		key := s.h.numbers.Writes[w]
		s.writer[key] = 0
		s.leave(key, w+1)
	}
	s.wake(&s.forTxn[t])
}

// begin begins t, if all that it read is there, and nobody who has begun writes what it writes.
func (s *snapshotter) begin(t uint32) bool {
	if !s.follows(t) || !s.reading(t) {
		return false
	}
	first, end := s.h.numbers.WritesOf(t)
	for w := first; w < end; w++ {
		if key := s.h.numbers.Writes[w]; s.writer[key] != 0 {
			s.await(&s.forTxn[s.writer[key]], t)
			return false
		}
	}
	s.begun[t] = true
	s.moments = append(s.moments, moment{txn: t})
	for w := first; w < end; w++ {
		s.writer[s.h.numbers.Writes[w]] = t
	}
	s.haveRead(t)
	return true
}

// replaysSnapshots says whether every read shows what had been committed when its transaction began,
// nobody overwrites what came since it began, and the constraints are kept. It shares nothing with the
// search.
func (h *History) replaysSnapshots(order []moment, c constraints) bool {
	n := len(h.numbers.Txns)
	if len(order) != 2*(n-1) {
		return false
	}
	began, committed := make([]int, n), make([]int, n) // places from 1
	holds, changed := make([]uint32, h.numKeys), make([]int, h.numKeys)
	appended := make([]int, len(h.lists.authors))
	inSession := map[uint32]uint32{} // the latest that began
	latest := int64(-1 << 62)        // begin of those that began so far
	for i, m := range order {
		t, at := m.txn, i+1
		switch {
		case t == 0 || m.commit && (began[t] == 0 || committed[t] != 0) || !m.commit && began[t] != 0:
			return false
		case !m.commit:
			began[t] = at
			from, to := h.numbers.ReadsOf(t)
			for _, r := range h.numbers.Reads[from:to] {
				if holds[r.Key] != r.Writer {
					return false
				}
			}
			if session := h.numbers.Txns[t].Session; c.sessions && session != 0 {
				if p := inSession[session]; p > t || p != 0 && committed[p] == 0 {
					return false
				}
				inSession[session] = t
			}
			if c.time {
				latest = max(latest, h.spans[t].Start)
			}
			continue
		}
		committed[t] = at
		if c.time && h.spans[t].End+h.Drift < latest {
			return false // somebody began too early
		}
		first, end := h.numbers.WritesOf(t)
		for _, key := range h.numbers.Writes[first:end] {
			if changed[key] > began[t] {
				return false
			}
			holds[key], changed[key] = t, at
			if int(key) < len(appended) {
				if i := appended[key]; i < len(h.lists.authors[key]) && h.lists.authors[key][i] != t {
					return false
				}
				appended[key]++
			}
		}
	}
	return true
}
