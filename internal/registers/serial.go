package registers

import (
	"cmp"
	"slices"
)

// constraints are orders that a serial order keeps, beside what reads show.
type constraints struct {
	sessions bool // the order of each session
	time     bool // of two transactions, one that ended more than the drift before the other began comes first
}

// serial looks for an order of the transactions in which each reads what the latest writer before it
// left. Such an order shows that the history is serializable, and so all that serializability implies.
// It is nil where none was found: there may be one all the same.
//
// The search takes back nothing. It tries transactions by their ends, or as they came. One that
// cannot come next waits for a transaction, or for the readers of a version that it overwrites.
// Where each write follows a read of its key, it finds an order if there is one. Where writers are
// blind, it takes the one that ended first. O(operations) if few wait, and never more than the
// budget.
func (h *History) serial(c constraints) []uint32 {
	s := newScheduler(h, c)
	if s.run(s.attempt); len(s.order) != len(s.by) {
		return nil
	}
	return s.order
}

// scheduler is a search for a serial order. Versions are named by the place of their write in
// numbers.Writes, from 1. 0 is the initial version of a key.
type scheduler struct {
	h *History
	c constraints

	by     []uint32 // transactions in the order in which they are tried
	first  int      // of by: those before it have a place in the order
	before []uint32 // by transaction: the one before it in its session, 0 if there is none
	order  []uint32
	placed []bool   // by transaction
	holds  []uint32 // by key: its version
	unread []uint32 // by version: its readers that have no place yet
	unmet  []uint32 // by key: the same of its initial version
	reads  []uint32 // by key: the transaction in work, if it read the key
	ahead  []uint32 // by key: appends of its spine that have no place yet

	// Those that wait, as lists: each waits for one thing.
	forTxn, forKey []uint32
	next           []uint32
	woken          []uint32

	budget int
	dead   bool // some transaction has no place any more
}

// triesPerTransaction bounds the search: in the mean so often a transaction is tried.
const triesPerTransaction = 16

func newScheduler(h *History, c constraints) *scheduler {
	n := len(h.numbers.Txns)
	s := &scheduler{
		h: h, c: c, by: make([]uint32, 0, n), order: make([]uint32, 0, n), placed: make([]bool, n),
		holds: make([]uint32, h.numKeys), unread: make([]uint32, len(h.numbers.Writes)+1), unmet: make([]uint32, h.numKeys),
		reads: make([]uint32, h.numKeys), forTxn: make([]uint32, n), forKey: make([]uint32, h.numKeys), next: make([]uint32, n),
		budget: triesPerTransaction*n + 1024,
	}
	for t := uint32(1); int(t) < n; t++ {
		s.by = append(s.by, t)
	}
	if h.timed() {
		byEnd := func(a, b uint32) int { return cmp.Compare(h.spans[a].End, h.spans[b].End) }
		if !slices.IsSortedFunc(s.by, byEnd) { // most files are in this order
			slices.SortStableFunc(s.by, byEnd)
		}
	}
	if c.sessions {
		s.before = h.predecessors()
	}
	s.ahead = slices.Clone(h.lists.ahead)
	for i, v := range h.saw {
		if v == 0 {
			s.unmet[h.numbers.Reads[i].Key]++
		} else {
			s.unread[v]++
		}
	}
	return s
}

// predecessors are, by transaction, those right before them in their sessions, 0 for none.
func (h *History) predecessors() []uint32 {
	latest := map[uint32]uint32{}
	before := make([]uint32, len(h.numbers.Txns))
	for t := 1; t < len(before); t++ {
		if session := h.numbers.Txns[t].Session; session != 0 {
			before[t] = latest[session]
			latest[session] = uint32(t)
		}
	}
	return before
}

// run attempts all transactions, and those that wait for one of them again, until one has no place.
func (s *scheduler) run(attempt func(t uint32)) {
	for _, t := range s.by {
		attempt(t)
		for len(s.woken) > 0 {
			u := s.woken[len(s.woken)-1]
			s.woken = s.woken[:len(s.woken)-1]
			attempt(u)
		}
		if s.dead {
			return
		}
	}
}

// left is how many readers of the key's version have no place yet.
func (s *scheduler) left(key uint32) *uint32 {
	if v := s.holds[key]; v != 0 {
		return &s.unread[v]
	}
	return &s.unmet[key]
}

// attempt gives t its place, if it can come next. Otherwise t waits.
func (s *scheduler) attempt(t uint32) {
	if s.budget--; s.budget < 0 {
		s.dead = true
	}
	if s.placed[t] || s.dead || !s.follows(t) || !s.reading(t) {
		return
	}
	first, end := s.h.numbers.WritesOf(t)
	for w := first; w < end; w++ {
		key := s.h.numbers.Writes[w]
		if !s.appends(t, key, w+1) {
			return
		}
		own := uint32(0)
		if s.reads[key] == t {
			own = 1
		}
		if *s.left(key) > own {
			s.await(&s.forKey[key], t)
			return
		}
	}
	s.place(t)
}

// reading says whether the order so far shows all that t read. If not, t waits, or it can have no place.
func (s *scheduler) reading(t uint32) bool {
	from, to := s.h.numbers.ReadsOf(t)
	for i := from; i < to; i++ {
		r := &s.h.numbers.Reads[i]
		switch saw := s.h.saw[i]; {
		case s.holds[r.Key] == saw:
			s.reads[r.Key] = t
		case saw != 0 && !s.placed[r.Writer]:
			s.await(&s.forTxn[r.Writer], t)
			return false
		default:
			s.dead = true // somebody has overwritten what it read
			return false
		}
	}
	return true
}

// appends says whether the write at this place can come next. An append comes behind the one before
// it in the list, or behind all that were read. Any other write can.
func (s *scheduler) appends(t, key, place uint32) bool {
	l := &s.h.lists
	switch {
	case l.after == nil || l.after[place] == s.holds[key]:
		return true
	case l.after[place] == unread:
		if s.ahead[key] > 0 {
			s.await(&s.forKey[key], t)
			return false
		}
		return true
	}
	p := uint32(0)
	if before := l.after[place]; before != 0 {
		p = s.h.byPlace(before)
	}
	if s.dead = p == 0 || s.placed[p]; !s.dead { // else somebody has appended between them
		s.await(&s.forTxn[p], t)
	}
	return false
}

// follows says whether all that comes before t by session and time has a place. If not, t waits.
func (s *scheduler) follows(t uint32) bool {
	if s.before != nil {
		if p := s.before[t]; p != 0 && !s.placed[p] {
			s.await(&s.forTxn[p], t)
			return false
		}
	}
	if !s.c.time {
		return true
	}
	for s.first < len(s.by) && s.placed[s.by[s.first]] {
		s.first++
	}
	if p := s.by[s.first]; s.h.spans[p].End+s.h.Drift < s.h.spans[t].Start { // p is not t: it ends after it began
		s.await(&s.forTxn[p], t)
		return false
	}
	return true
}

func (s *scheduler) await(list *uint32, t uint32) {
	s.next[t] = *list
	*list = t
}

// wake has those in the list tried again.
func (s *scheduler) wake(list *uint32) {
	for t := *list; t != 0; t = s.next[t] {
		s.woken = append(s.woken, t)
	}
	*list = 0
}

// place puts t at the end of the order.
func (s *scheduler) place(t uint32) {
	s.placed[t] = true
	s.order = append(s.order, t)
	s.haveRead(t)
	first, end := s.h.numbers.WritesOf(t)
	for w := first; w < end; w++ {
		s.leave(s.h.numbers.Writes[w], w+1)
	}
	s.wake(&s.forTxn[t])
}

// haveRead takes t out of the readers that have no place yet.
func (s *scheduler) haveRead(t uint32) {
	from, to := s.h.numbers.ReadsOf(t)
	for i := from; i < to; i++ {
		key := s.h.numbers.Reads[i].Key
		left := s.left(key)
		if *left--; *left <= 1 { // the last one may be the next writer itself
			s.wake(&s.forKey[key])
		}
	}
}

// leave makes the write at this place the version of the key.
func (s *scheduler) leave(key, place uint32) {
	s.holds[key] = place
	if s.ahead != nil && s.h.lists.after[place] != unread {
		s.ahead[key]--
	}
	s.wake(&s.forKey[key])
}

// replays says whether the order explains every read, and keeps the constraints. It shares nothing
// with the search.
func (h *History) replays(order []uint32, c constraints) bool {
	if len(order)+1 != len(h.numbers.Txns) {
		return false
	}
	seen := make([]bool, len(h.numbers.Txns))
	holds := make([]uint32, h.numKeys) // by key: the latest writer
	inSession := map[uint32]uint32{}   // numbers grow within a session
	latest := int64(-1 << 62)          // begin of those so far
	appended := make([]int, len(h.lists.authors))
	for _, t := range order {
		if t == 0 || seen[t] {
			return false
		}
		seen[t] = true
		from, to := h.numbers.ReadsOf(t)
		for _, r := range h.numbers.Reads[from:to] {
			if holds[r.Key] != r.Writer {
				return false
			}
		}
		first, end := h.numbers.WritesOf(t)
		for _, key := range h.numbers.Writes[first:end] {
			holds[key] = t
			if int(key) < len(appended) {
				if i := appended[key]; i < len(h.lists.authors[key]) && h.lists.authors[key][i] != t {
					return false
				}
				appended[key]++
			}
		}
		if session := h.numbers.Txns[t].Session; c.sessions && session != 0 {
			if inSession[session] > t {
				return false
			}
			inSession[session] = t
		}
		if c.time {
			if h.spans[t].End+h.Drift < latest {
				return false
			}
			latest = max(latest, h.spans[t].Start)
		}
	}
	return true
}
