package saturation

// History is a whole history. Transactions are numbered from 1, the members of a
// session in its order.
type History struct {
	Txns   []HistoryTxn // at 0 there is none
	Reads  []Read
	Writes []uint32
	// Preds are further transactions that one comes behind, and has in its past: t has those
	// from Before[t] to Before[t+1]. Before is nil where there are none.
	Before, Preds []uint32
}

// HistoryTxn is a transaction of a History. Its reads and writes are spans of the pools, which
// go on to where the next one's begin.
type HistoryTxn struct {
	Session       uint32 // 0: without a place in one
	Reads, Writes uint32
	Open          bool // nothing follows from its end
}

// Verdicts says which levels a history satisfies, plain ones and those with session
// order. Reads of aborted or intermediate versions, and of nobody's, are the
// caller's: it gives none.
type Verdicts struct {
	// Ordered says that reads and session order have no cycle.
	Ordered        bool
	Plain, Session [Causal + 1]bool // by rule; SessionAtomic is none
	// Unknown says that a level's verdict is not known, because causal pasts are too
	// wide to be kept.
	Unknown [2][Causal + 1]bool // plain, session
}

// ReadsOf are the places of t's reads in Reads.
func (h *History) ReadsOf(t uint32) (from, to uint32) {
	if int(t)+1 < len(h.Txns) {
		return h.Txns[t].Reads, h.Txns[t+1].Reads
	}
	return h.Txns[t].Reads, uint32(len(h.Reads))
}

// WritesOf are the places of t's writes in Writes.
func (h *History) WritesOf(t uint32) (from, to uint32) {
	if int(t)+1 < len(h.Txns) {
		return h.Txns[t].Writes, h.Txns[t+1].Writes
	}
	return h.Txns[t].Writes, uint32(len(h.Writes))
}

func (h *History) reads(t uint32) []Read {
	from, to := h.ReadsOf(t)
	return h.Reads[from:to]
}

func (h *History) writes(t uint32) []uint32 {
	from, to := h.WritesOf(t)
	return h.Writes[from:to]
}

func (h *History) preds(t uint32) []uint32 {
	if h.Before == nil {
		return nil
	}
	return h.Preds[h.Before[t]:h.Before[t+1]]
}

// Asked says which verdicts are wanted.
type Asked struct {
	// UpTo is the strongest rule; 0 asks for Ordered only.
	UpTo Rule
	// Alone says that no weaker one is asked for.
	Alone bool
	// Session says that plain levels are not asked for.
	Session bool
}

// Decide decides h at the levels up to the rule; 0 asks for Ordered only. It may
// sort what a transaction wrote.
func (h *History) Decide(upTo Rule) Verdicts { return h.DecideAsked(Asked{UpTo: upTo}) }

// DecideAsked is Decide for what is asked. The other verdicts mean nothing.
func (h *History) DecideAsked(a Asked) Verdicts {
	var v Verdicts
	h.decide(&v, a, true)
	if a.UpTo == Causal && !a.Session {
		// With session order a past is larger: what holds with it holds without.
		if v.Plain[Causal] = v.Session[Causal]; !v.Plain[Causal] || v.Unknown[1][Causal] {
			h.decide(&v, a, false)
		}
	}
	return v
}

// decide runs over h once, with session order or without.
func (h *History) decide(v *Verdicts, a Asked, session bool) {
	upTo := a.UpTo
	r := newRun(h, session)
	if upTo == Causal {
		r.state = New(true)
		r.alone = a.Alone
	}
	if r.all(); r.refuted {
		return
	}
	if upTo > 0 && upTo < Causal {
		d := newDirect(h)
		d.byReads()
		if upTo > AtomicView {
			d.bySessions()
		}
		r.edges = d.edges
	}
	if session {
		v.Ordered = !r.cyclic
		for rule := upTo; rule > 0; rule-- { // a stronger level has all edges of a weaker one
			if rule == SessionAtomic {
				v.Plain[rule], v.Session[rule] = v.Plain[Causal], v.Session[Causal]
				continue
			}
			above := min(rule+1, upTo)
			v.Session[rule] = v.Session[above] || r.holds(rule, true)
			if rule != Causal {
				v.Plain[rule] = v.Session[rule] || v.Plain[above] || r.holds(rule, false)
			}
		}
		v.Plain[SessionAtomic], v.Session[SessionAtomic] = false, false
	} else {
		v.Plain[Causal] = r.holds(Causal, false)
	}
	if r.state != nil && r.state.TooWide {
		which := 0
		if session {
			which = 1
		}
		v.Unknown[which][Causal] = true
		v.Unknown[which][Atomic] = session
		v.Unknown[which][SessionAtomic] = session
	}
}

// run takes the transactions of a history in, those they depend on first.
type run struct {
	*History
	session bool     // follow session order
	state   *State   // nil: only an order of the transactions is asked for
	place   []uint32 // by transaction: when it was taken in, from 1; 0 before
	order   []uint32 // by place
	cyclic  bool     // reads and session order have a cycle
	edges   []Edge
	alone   bool     // causal consistency alone is asked for
	refuted bool     // it is violated: the rest is not looked at
	after   []uint32 // by transaction: the one before it in its session
	next    []uint32 // the one behind it
	waiting []uint32 // by transaction: first of those that wait for it
	also    []uint32 // next of those that wait for the same one
	stack   []uint32
}

func newRun(h *History, session bool) *run {
	n := len(h.Txns)
	r := &run{
		History: h, session: session, place: make([]uint32, n), order: make([]uint32, 1, n),
		after: make([]uint32, n), next: make([]uint32, n), waiting: make([]uint32, n), also: make([]uint32, n),
	}
	last := map[uint32]uint32{}
	for t := 1; t < n && session; t++ {
		s := h.Txns[t].Session
		if s == 0 {
			continue
		}
		r.after[t] = last[s]
		if !h.Txns[t].Open {
			if p := last[s]; p != 0 {
				r.next[p] = uint32(t)
			}
			last[s] = uint32(t)
		}
	}
	return r
}

// all takes all in. A transaction waits for one that it depends on at a time.
func (r *run) all() {
	for t := 1; t < len(r.Txns); t++ {
		r.stack = append(r.stack, uint32(t))
		for len(r.stack) > 0 {
			t := r.stack[len(r.stack)-1]
			r.stack = r.stack[:len(r.stack)-1]
			if r.try(t); r.refuted {
				return
			}
		}
	}
	rest := len(r.order)
	for t := 1; t < len(r.Txns); t++ {
		if r.place[t] == 0 {
			r.cyclic = true
			r.take(uint32(t), false)
		}
	}
	for _, t := range r.order[rest:] {
		r.take(t, true)
	}
}

// try takes t in if what it depends on is in, and what waited for it next.
func (r *run) try(t uint32) {
	if r.place[t] != 0 {
		return
	}
	if p := r.missing(t); p != 0 {
		r.also[t], r.waiting[p] = r.waiting[p], t
		return
	}
	r.take(t, false)
	for w := r.waiting[t]; w != 0; w = r.also[w] {
		r.stack = append(r.stack, w)
	}
}

func (r *run) missing(t uint32) uint32 {
	if p := r.after[t]; p != 0 && r.place[p] == 0 {
		return p
	}
	for _, x := range r.reads(t) {
		if x.Writer != 0 && r.place[x.Writer] == 0 && x.Writer != t {
			return x.Writer
		}
	}
	for _, p := range r.preds(t) {
		if r.place[p] == 0 {
			return p
		}
	}
	return 0
}

func (r *run) take(t uint32, again bool) {
	if !again {
		r.order = append(r.order, t)
		r.place[t] = uint32(len(r.order) - 1)
	}
	if r.state == nil {
		return
	}
	x := Txn{Number: t, After: r.after[t], Reads: r.reads(t), Preds: r.preds(t)}
	if r.session {
		x.Session, x.Open = r.Txns[t].Session, r.Txns[t].Open
	}
	if again {
		r.state.Renew(&x)
	} else {
		r.state.Add(&x, r.writes(t))
	}
	r.edges = append(r.edges, r.state.Out...)
	for i := 0; i < len(r.state.Out) && r.alone && !r.refuted; i++ {
		e := &r.state.Out[i] // it closes a cycle by itself where its head is in its tail's past
		r.refuted = e.To == 0 || r.state.Precedes(e.To, e.From)
	}
}

// takes says whether the level of rule, with session order or without, has e.
func takes(rule Rule, session bool, e *Edge) bool {
	if e.Rule == SessionAtomic {
		return session && rule >= Atomic
	}
	return e.Rule <= rule
}

// holds says whether the edges of the level have no cycle.
func (r *run) holds(rule Rule, session bool) bool {
	against := false // the order; those along it close no cycle by themselves
	for i := range r.edges {
		if e := &r.edges[i]; takes(rule, session, e) {
			if e.To == 0 {
				return false
			}
			against = against || r.place[e.From] > r.place[e.To]
		}
	}
	if !against && !r.cyclic {
		return true
	}
	if session && r.cyclic {
		return false
	}
	return r.acyclic(rule, session)
}

// acyclic orders all transactions by the edges of the level (Kahn).
func (r *run) acyclic(rule Rule, session bool) bool {
	n := len(r.Txns)
	heads := make([]uint32, n+1)
	in := make([]uint32, n)
	each := func(fn func(from, to uint32)) {
		for t := 1; t < n; t++ {
			if p := r.after[t]; p != 0 && session {
				fn(p, uint32(t))
			}
			for _, x := range r.reads(uint32(t)) {
				if x.Writer != 0 && x.Writer != uint32(t) {
					fn(x.Writer, uint32(t))
				}
			}
			for _, p := range r.preds(uint32(t)) {
				fn(p, uint32(t))
			}
		}
		for i := range r.edges {
			if e := &r.edges[i]; takes(rule, session, e) {
				fn(e.From, e.To)
			}
		}
	}
	each(func(from, to uint32) {
		heads[from]++
		in[to]++
	})
	sum := uint32(0)
	for i := range heads {
		sum, heads[i] = sum+heads[i], sum
	}
	to := make([]uint32, sum)
	at := append([]uint32(nil), heads...)
	each(func(a, b uint32) {
		to[at[a]] = b
		at[a]++
	})
	var ready []uint32
	for t := 1; t < n; t++ {
		if in[t] == 0 {
			ready = append(ready, uint32(t))
		}
	}
	done := 1
	for ; len(ready) > 0; done++ {
		t := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, b := range to[heads[t]:heads[t+1]] {
			if in[b]--; in[b] == 0 {
				ready = append(ready, b)
			}
		}
	}
	return done == n
}
