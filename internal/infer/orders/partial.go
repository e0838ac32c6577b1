package orders

import (
	"slices"

	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/ledger"
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
	From, To       uint32
	a, b           uint32
	label          ledger.Label // Process or Realtime
	_              [3]byte
	nextOut, prev  uint32 // of from, latest first; prev is of the key
	nextIn, Behind uint32 // of to; behind is of the key
}

// partial is the state of orders in part. It is empty unless the contract gives such orders.
type partial struct {
	visits      []visit
	Precedences []precedence
	freeVisits  []uint32
	freePrec    []uint32
	ofTxn       []uint32 // by transaction: its visits
	ofKey       []uint32 // by key: its visit that ended last
	PrecOf      []uint32 // by key: its precedences
	out, in     []uint32 // by version: its precedences
	// latest is the last visit of a key in a session; no state: made from visits.
	latest map[uint64]uint32
	// Again are edges that OrderAgain gave to writers that have retired, by both transactions, for the
	// step in work. No state.
	Again map[[2]uint32]bool
}

// reordering is the work of OrderAgain on one key. nil: an order is concluded for the first time.
type reordering struct {
	// settled are edges to writers that have retired, by both transactions. They were given, and
	// are not given a second time.
	settled map[[2]uint32]bool
	// redo says that the old order is out, and the new one is concluded.
	redo bool
}

// settle notes the edges from the readers and the writer of the version from to w.
func (r *reordering) settle(s *Orders, from, w uint32) {
	if r.settled == nil {
		r.settled = map[[2]uint32]bool{}
	}
	r.settled[[2]uint32{s.Versions[from].Writer, w}] = true
	for i := s.Versions[from].Readers; i != 0; i = s.OlderReader(i) {
		r.settled[[2]uint32{s.Readers[i].Txn, w}] = true
	}
}

// At is the entry i of a list of numbers that grows as needed.
func At(list *[]uint32, i uint32) *uint32 {
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
func (s *Orders) precede(a, b uint32, label ledger.Label, again *reordering) {
	p := &s.Partial
	x, y := p.visits[a], p.visits[b]
	from, to := x.last, y.first
	if from == to || !s.comparable(&x) || !s.comparable(&y) {
		return
	}
	for id := *At(&p.out, from); id != 0; id = p.Precedences[id].nextOut {
		if p.Precedences[id].To == to {
			return
		}
	}
	id := takeFrom(&p.Precedences, &p.freePrec, precedence{From: from, To: to, a: x.txn, b: y.txn, label: label})
	q := &p.Precedences[id]
	s.Pin(x.txn)
	s.Pin(y.txn)
	q.nextOut, p.out[from] = p.out[from], id
	in, of := At(&p.in, to), At(&p.PrecOf, x.key)
	q.nextIn, *in = *in, id
	q.Behind, *of = *of, id
	if q.Behind != 0 {
		p.Precedences[q.Behind].prev = id
	}
	if s.closesVersionCycle(x.key, id, again) {
		return
	}
	s.WritesFollow(from, to, again)
	s.readersBefore(from, to, again)
}

// edgeAgain gives an edge, and notes it if OrderAgain concludes it to a writer that has retired.
func (s *Orders) edgeAgain(from, to uint32, label ledger.Label, v uint32, again *reordering) {
	p := &s.Partial
	if again != nil && again.settled[[2]uint32{from, to}] {
		return
	}
	if again != nil && again.redo && from != 0 && s.Txns[to].Flags&ledger.Retired != 0 {
		if p.Again == nil {
			p.Again = map[[2]uint32]bool{}
		}
		p.Again[[2]uint32{from, to}] = true
	}
	s.GiveEdge(from, to, label, v, 0)
}

// OrderedAgain says whether e was concluded in this step, when e.To had retired, since visits between
// the two have left memory or are void. It led over those before, or is not known.
func (s *Orders) OrderedAgain(e *ledger.Edge) bool {
	return e.Label&(ledger.WW|ledger.RW) != 0 && s.Partial.Again[[2]uint32{e.From, e.To}]
}

// readersBefore gives the edges from the readers of the one version to the writer of the other,
// which comes later.
func (s *Orders) readersBefore(from, to uint32, again *reordering) {
	w := s.Versions[to].Writer
	if w == 0 || s.Versions[from].Flags&ledger.Ambiguous != 0 {
		return
	}
	for r := s.Versions[from].Readers; r != 0; r = s.OlderReader(r) {
		if s.Readers[r].Saw() {
			s.edgeAgain(s.Readers[r].Txn, w, ledger.RW, to, again)
		}
	}
}

// SettlePartly gives the edges of v, whose writer is known now.
func (s *Orders) SettlePartly(v uint32) {
	p := &s.Partial
	if *At(&p.in, v)|*At(&p.out, v) == 0 {
		return
	}
	k := s.Versions[v].Key
	if !s.known(v) { // it is an intermediate version: its readers have no place
		s.OrderAgain(k)
		return
	}
	for _, list := range []uint32{p.in[v], p.out[v]} {
		for id := list; id != 0 && !s.Keys[k].HasNoOrder(); {
			next := p.Precedences[id].nextIn
			if id != 0 && p.Precedences[id].From == v {
				next = p.Precedences[id].nextOut
			}
			s.closesVersionCycle(k, id, nil)
			id = next
		}
	}
	for id := *At(&p.in, v); id != 0; id = p.Precedences[id].nextIn {
		from := p.Precedences[id].From
		s.WritesFollow(from, v, nil)
		s.readersBefore(from, v, nil)
	}
	for id := *At(&p.out, v); id != 0; id = p.Precedences[id].nextOut {
		to := p.Precedences[id].To
		s.WritesFollow(v, to, nil)
	}
}

// sawPartly gives the edges of n's read of v to the writers of later versions.
func (s *Orders) sawPartly(v, n uint32) {
	p := &s.Partial
	for id := *At(&p.out, v); id != 0; id = p.Precedences[id].nextOut {
		to := p.Precedences[id].To
		s.GiveEdge(n, s.Versions[to].Writer, ledger.RW, to, 0)
	}
}

// OrderAgain takes back the order of k's versions and concludes again: a visit, or its
// evidence, is gone. An edge to a writer that has retired was given before, and stays: it could have no
// place now.
func (s *Orders) OrderAgain(k uint32) {
	again := &reordering{}
	s.dropPrecedences(k, true, again)
	again.redo = true
	first := *At(&s.Partial.ofKey, k)
	for first != 0 && s.Partial.visits[first].earlier != 0 {
		first = s.Partial.visits[first].earlier
	}
	for id := first; id != 0; id = s.Partial.visits[id].later {
		if s.Opt.SequentialKeys && s.Partial.visits[id].session != 0 {
			s.compareSession(id, again)
		}
		if s.Opt.LinearizableKeys {
			s.compareBack(id, again)
		}
	}
}

// dropPrecedences takes back the order of k's versions, and keeps the order that reads show. settle
// says that edges to writers that have retired stay, as settled ones of again.
func (s *Orders) dropPrecedences(k uint32, settle bool, again *reordering) {
	p := &s.Partial
	var behind []uint32
	for id := *At(&p.PrecOf, k); id != 0; {
		q := p.Precedences[id]
		if w := s.Versions[q.To].Writer; settle && w != 0 && s.Txns[w].Flags&ledger.Retired != 0 {
			again.settle(s, q.From, w)
		} else if !slices.Contains(behind, q.To) {
			behind = append(behind, q.To)
		}
		s.freePrecedence(id)
		id = q.Behind
	}
	for _, v := range behind {
		w := s.Versions[v].Writer
		if w == 0 {
			continue
		}
		s.KillOrder(v, w)
		id := s.WriteOf(w, v)
		if id == 0 || s.Writes[id].Pred == 0 || s.Versions[s.Writes[id].Pred].Flags&ledger.Ambiguous != 0 {
			continue
		}
		s.readersBefore(s.Writes[id].Pred, v, again)
		if s.IsOrdered(v) {
			s.ConnectOrdered(v, again)
		}
	}
}

// freePrecedence unlinks and frees one.
func (s *Orders) freePrecedence(id uint32) {
	p := &s.Partial
	q := p.Precedences[id]
	remove := func(head *uint32, next func(*precedence) *uint32) {
		for *head != id {
			head = next(&p.Precedences[*head])
		}
		*head = *next(&p.Precedences[id])
	}
	remove(&p.out[q.From], func(x *precedence) *uint32 { return &x.nextOut })
	remove(&p.in[q.To], func(x *precedence) *uint32 { return &x.nextIn })
	if q.prev != 0 {
		p.Precedences[q.prev].Behind = q.Behind
	} else {
		p.PrecOf[s.Versions[q.From].Key] = q.Behind
	}
	if q.Behind != 0 {
		p.Precedences[q.Behind].prev = q.prev
	}
	p.Precedences[id] = precedence{}
	p.freePrec = append(p.freePrec, id)
	s.Unpin(q.a)
	s.Unpin(q.b)
}

// leavePartly takes v, which leaves memory, out of the order.
func (s *Orders) leavePartly(v uint32) {
	p := &s.Partial
	for *At(&p.out, v) != 0 {
		s.freePrecedence(p.out[v])
	}
	for *At(&p.in, v) != 0 {
		s.freePrecedence(p.in[v])
	}
}

// AppendState writes the visits and what follows from them.
func (p *partial) AppendState(dst *flat.Writer) *flat.Writer {
	dst = flat.Append(dst, "visits", p.visits)
	dst = flat.Append(dst, "precedences", p.Precedences)
	dst = flat.Append(dst, "freeVisits", p.freeVisits)
	dst = flat.Append(dst, "freePrec", p.freePrec)
	dst = flat.Append(dst, "ofTxn", p.ofTxn)
	dst = flat.Append(dst, "ofKey", p.ofKey)
	dst = flat.Append(dst, "precOf", p.PrecOf)
	dst = flat.Append(dst, "out", p.out)
	return flat.Append(dst, "in", p.in)
}

// ReadState reads what AppendState wrote.
func (p *partial) ReadState(r *flat.Reader) {
	flat.Read(r, "visits", &p.visits)
	flat.Read(r, "precedences", &p.Precedences)
	flat.Read(r, "freeVisits", &p.freeVisits)
	flat.Read(r, "freePrec", &p.freePrec)
	flat.Read(r, "ofTxn", &p.ofTxn)
	flat.Read(r, "ofKey", &p.ofKey)
	flat.Read(r, "precOf", &p.PrecOf)
	flat.Read(r, "out", &p.out)
	flat.Read(r, "in", &p.in)
	p.latest = map[uint64]uint32{}
	for id := range p.visits {
		if x := &p.visits[id]; x.txn != 0 && x.session != 0 && x.behind == 0 {
			p.latest[visitsOf(x)] = uint32(id)
		}
	}
}
