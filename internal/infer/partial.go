package infer

import (
	"slices"

	"github.com/isowatch/isowatch/internal/flat"
)

// The contract may give the order of a register's versions: as sessions meet them
// (sequential-keys), or in real time (linearizable-keys). Then one visitor of a key left or saw
// a version, and a later one finds another. The first does not come behind the second (Elle,
// section 5.2). That orders blind writes in part: ww between their writers, rw from the readers
// of the earlier version. Only neighbours are compared. Visits in between order the rest, as
// far as their versions have writers.
//
// Where that makes a cycle of versions, the key does not behave as the contract says. It is
// reported, and its edges are taken back. From then on only the reads and writes themselves
// count, as in ordered.go.

// precedence says that the version from comes before the version to. The transaction a left or saw the
// one, and b, which came later, found the other. 36 bytes.
type precedence struct {
	from, to       uint32
	a, b           uint32
	label          Label // Process or Realtime
	_              [3]byte
	nextOut, prev  uint32 // of from, latest first; prev is of the key
	nextIn, behind uint32 // of to; behind is of the key
}

// partial is the state of orders in part. It is empty unless the contract gives such orders.
type partial struct {
	visits      []visit
	precedences []precedence
	freeVisits  []uint32
	freePrec    []uint32
	ofTxn       []uint32 // by transaction: its visits
	ofKey       []uint32 // by key: its visit that ended last
	precOf      []uint32 // by key: its precedences
	out, in     []uint32 // by version: its precedences
	// latest is the last visit of a key in a session; no state: made from visits.
	latest map[uint64]uint32
	// again are edges that orderAgain gave to writers that have retired, by both transactions, for the
	// step in work. No state.
	again map[[2]uint32]bool
}

// reordering is the work of orderAgain on one key. nil: an order is concluded for the first time.
type reordering struct {
	// settled are edges to writers that have retired, by both transactions. They were given, and
	// are not given a second time.
	settled map[[2]uint32]bool
	// redo says that the old order is out, and the new one is concluded.
	redo bool
}

// settle notes the edges from the readers and the writer of the version from to w.
func (r *reordering) settle(s *orders, from, w uint32) {
	if r.settled == nil {
		r.settled = map[[2]uint32]bool{}
	}
	r.settled[[2]uint32{s.versions[from].writer, w}] = true
	for i := s.versions[from].readers; i != 0; i = s.olderReader(i) {
		r.settled[[2]uint32{s.readers[i].txn, w}] = true
	}
}

// at is the entry i of a list of numbers that grows as needed.
func at(list *[]uint32, i uint32) *uint32 {
	for int(i) >= len(*list) {
		*list = append(*list, 0)
	}
	return &(*list)[i]
}

func takeFrom[T any](slab *[]T, free *[]uint32, x T) uint32 {
	if k := len(*free); k > 0 {
		id := (*free)[k-1]
		*free = (*free)[:k-1]
		(*slab)[id] = x
		return id
	}
	if len(*slab) == 0 {
		var zero T
		*slab = append(*slab, zero)
	}
	*slab = append(*slab, x)
	return uint32(len(*slab) - 1)
}

// precede orders what the visit a left before what b found.
func (s *orders) precede(a, b uint32, label Label, again *reordering) {
	p := &s.partial
	x, y := p.visits[a], p.visits[b]
	from, to := x.last, y.first
	if from == to || !s.comparable(&x) || !s.comparable(&y) {
		return
	}
	for id := *at(&p.out, from); id != 0; id = p.precedences[id].nextOut {
		if p.precedences[id].to == to {
			return
		}
	}
	id := takeFrom(&p.precedences, &p.freePrec, precedence{from: from, to: to, a: x.txn, b: y.txn, label: label})
	q := &p.precedences[id]
	s.pin(x.txn)
	s.pin(y.txn)
	q.nextOut, p.out[from] = p.out[from], id
	in, of := at(&p.in, to), at(&p.precOf, x.key)
	q.nextIn, *in = *in, id
	q.behind, *of = *of, id
	if q.behind != 0 {
		p.precedences[q.behind].prev = id
	}
	if s.closesVersionCycle(x.key, id, again) {
		return
	}
	s.writesFollow(from, to, again)
	s.readersBefore(from, to, again)
}

// edgeAgain gives an edge, and notes it if orderAgain concludes it to a writer that has retired.
func (s *orders) edgeAgain(from, to uint32, label Label, v uint32, again *reordering) {
	p := &s.partial
	if again != nil && again.settled[[2]uint32{from, to}] {
		return
	}
	if again != nil && again.redo && from != 0 && s.txns[to].flags&retired != 0 {
		if p.again == nil {
			p.again = map[[2]uint32]bool{}
		}
		p.again[[2]uint32{from, to}] = true
	}
	s.edge(from, to, label, v, 0)
}

// OrderedAgain says whether e was concluded in this step, when e.To had retired, since visits between
// the two have left memory or are void. It led over those before, or is not known.
func (s *orders) OrderedAgain(e *Edge) bool {
	return e.Label&(WW|RW) != 0 && s.partial.again[[2]uint32{e.From, e.To}]
}

// readersBefore gives the edges from the readers of the one version to the writer of the other,
// which comes later.
func (s *orders) readersBefore(from, to uint32, again *reordering) {
	w := s.versions[to].writer
	if w == 0 || s.versions[from].flags&ambiguous != 0 {
		return
	}
	for r := s.versions[from].readers; r != 0; r = s.olderReader(r) {
		if s.readers[r].saw() {
			s.edgeAgain(s.readers[r].txn, w, RW, to, again)
		}
	}
}

// settlePartly gives the edges of v, whose writer is known now.
func (s *orders) settlePartly(v uint32) {
	p := &s.partial
	if *at(&p.in, v)|*at(&p.out, v) == 0 {
		return
	}
	k := s.versions[v].key
	if !s.known(v) { // it is an intermediate version: its readers have no place
		s.orderAgain(k)
		return
	}
	for _, list := range []uint32{p.in[v], p.out[v]} {
		for id := list; id != 0 && !s.keys[k].hasNoOrder(); {
			next := p.precedences[id].nextIn
			if id != 0 && p.precedences[id].from == v {
				next = p.precedences[id].nextOut
			}
			s.closesVersionCycle(k, id, nil)
			id = next
		}
	}
	for id := *at(&p.in, v); id != 0; id = p.precedences[id].nextIn {
		from := p.precedences[id].from
		s.writesFollow(from, v, nil)
		s.readersBefore(from, v, nil)
	}
	for id := *at(&p.out, v); id != 0; id = p.precedences[id].nextOut {
		to := p.precedences[id].to
		s.writesFollow(v, to, nil)
	}
}

// sawPartly gives the edges of n's read of v to the writers of later versions.
func (s *orders) sawPartly(v, n uint32) {
	p := &s.partial
	for id := *at(&p.out, v); id != 0; id = p.precedences[id].nextOut {
		to := p.precedences[id].to
		s.edge(n, s.versions[to].writer, RW, to, 0)
	}
}

// orderAgain takes back the order of k's versions and concludes again: a visit, or its
// evidence, is gone. An edge to a writer that has retired was given before, and stays: it could have no
// place now.
func (s *orders) orderAgain(k uint32) {
	again := &reordering{}
	s.dropPrecedences(k, true, again)
	again.redo = true
	first := *at(&s.partial.ofKey, k)
	for first != 0 && s.partial.visits[first].earlier != 0 {
		first = s.partial.visits[first].earlier
	}
	for id := first; id != 0; id = s.partial.visits[id].later {
		if s.opt.SequentialKeys && s.partial.visits[id].session != 0 {
			s.compareSession(id, again)
		}
		if s.opt.LinearizableKeys {
			s.compareBack(id, again)
		}
	}
}

// dropPrecedences takes back the order of k's versions, and keeps the order that reads show. settle
// says that edges to writers that have retired stay, as settled ones of again.
func (s *orders) dropPrecedences(k uint32, settle bool, again *reordering) {
	p := &s.partial
	var behind []uint32
	for id := *at(&p.precOf, k); id != 0; {
		q := p.precedences[id]
		if w := s.versions[q.to].writer; settle && w != 0 && s.txns[w].flags&retired != 0 {
			again.settle(s, q.from, w)
		} else if !slices.Contains(behind, q.to) {
			behind = append(behind, q.to)
		}
		s.freePrecedence(id)
		id = q.behind
	}
	for _, v := range behind {
		w := s.versions[v].writer
		if w == 0 {
			continue
		}
		s.killOrder(v, w)
		id := s.writeOf(w, v)
		if id == 0 || s.writes[id].pred == 0 || s.versions[s.writes[id].pred].flags&ambiguous != 0 {
			continue
		}
		s.readersBefore(s.writes[id].pred, v, again)
		if s.isOrdered(v) {
			s.connectOrdered(v, again)
		}
	}
}

// freePrecedence unlinks and frees one.
func (s *orders) freePrecedence(id uint32) {
	p := &s.partial
	q := p.precedences[id]
	remove := func(head *uint32, next func(*precedence) *uint32) {
		for *head != id {
			head = next(&p.precedences[*head])
		}
		*head = *next(&p.precedences[id])
	}
	remove(&p.out[q.from], func(x *precedence) *uint32 { return &x.nextOut })
	remove(&p.in[q.to], func(x *precedence) *uint32 { return &x.nextIn })
	if q.prev != 0 {
		p.precedences[q.prev].behind = q.behind
	} else {
		p.precOf[s.versions[q.from].key] = q.behind
	}
	if q.behind != 0 {
		p.precedences[q.behind].prev = q.prev
	}
	p.precedences[id] = precedence{}
	p.freePrec = append(p.freePrec, id)
	s.unpin(q.a)
	s.unpin(q.b)
}

// leavePartly takes v, which leaves memory, out of the order.
func (s *orders) leavePartly(v uint32) {
	p := &s.partial
	for *at(&p.out, v) != 0 {
		s.freePrecedence(p.out[v])
	}
	for *at(&p.in, v) != 0 {
		s.freePrecedence(p.in[v])
	}
}

func (p *partial) appendState(dst *flat.Writer) *flat.Writer {
	dst = flat.Append(dst, "visits", p.visits)
	dst = flat.Append(dst, "precedences", p.precedences)
	dst = flat.Append(dst, "freeVisits", p.freeVisits)
	dst = flat.Append(dst, "freePrec", p.freePrec)
	dst = flat.Append(dst, "ofTxn", p.ofTxn)
	dst = flat.Append(dst, "ofKey", p.ofKey)
	dst = flat.Append(dst, "precOf", p.precOf)
	dst = flat.Append(dst, "out", p.out)
	return flat.Append(dst, "in", p.in)
}

func (p *partial) readState(r *flat.Reader) {
	flat.Read(r, "visits", &p.visits)
	flat.Read(r, "precedences", &p.precedences)
	flat.Read(r, "freeVisits", &p.freeVisits)
	flat.Read(r, "freePrec", &p.freePrec)
	flat.Read(r, "ofTxn", &p.ofTxn)
	flat.Read(r, "ofKey", &p.ofKey)
	flat.Read(r, "precOf", &p.precOf)
	flat.Read(r, "out", &p.out)
	flat.Read(r, "in", &p.in)
	p.latest = map[uint64]uint32{}
	for id := range p.visits {
		if x := &p.visits[id]; x.txn != 0 && x.session != 0 && x.behind == 0 {
			p.latest[visitsOf(x)] = uint32(id)
		}
	}
}
