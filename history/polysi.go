package history

import (
	"math"

	"github.com/isowatch/isowatch/event"
)

// The text of PolySI, Plume, IsoVista and MTC: an operation a line,
// r(key,value,session,txn) or w(...). Every key begins with 0. A transaction's
// number counts within its session; -1 is a write that was aborted (Plume). A
// fifth field names the level of the transaction (RA, C or SER).

// abortedWrite is the number of all transactions that were aborted.
const abortedWrite = -1

// numbered is a transaction as its file numbers it.
type numbered struct {
	session uint32
	id      int64
}

func (p *plain) readPolySI(s *textScanner) error {
	p.initialZero = true
	last, current := numbered{}, uint32(0)
	var met metTxns
	var of []uint32 // the transaction of each operation, from when one was met again
	for s.next() {
		o, n, level, ok := polySILine(s, p)
		if !ok {
			return s.fault("r(key,value,session,txn) or w(key,value,session,txn) is expected")
		}
		if n != last || n.id == abortedWrite || len(p.txns) == 0 {
			if len(p.txns) > 0 {
				p.tellLines(&p.txns[current])
			}
			if p.stream != nil && len(p.txns) > 0 {
				if p.end(); p.stopped() {
					return nil
				}
			}
			at, again := met.find(p, n)
			switch {
			case !again:
				status := event.Committed
				if n.id == abortedWrite {
					status = event.Aborted
				}
				p.begin(n.session, n.id, s.line, status)
				current = uint32(len(p.txns) - 1)
			case p.stream != nil:
				return ErrWhole
			default:
				if current = at; of == nil {
					of = p.inOrder()
				}
			}
			last = n
		}
		if level != "" {
			p.txns[current].isolation = level
		}
		p.ops = append(p.ops, o)
		p.keepLine(s)
		p.txns[current].count++
		if of != nil {
			of = append(of, current)
		}
	}
	if len(p.txns) > 0 {
		p.tellLines(&p.txns[current])
	}
	switch {
	case p.stream != nil && len(p.txns) > 0:
		p.end()
	case of != nil:
		p.gather(of)
	}
	return nil
}

// metTxns tells which transactions were met. Most files number the transactions of a session in
// their order. While they do, nothing is looked up.
type metTxns struct {
	greatest []int64 // by session
	index    map[numbered]uint32
}

// find is the index of n in p, if it was met before. A stream has no index: where only looking
// up tells, n is taken as met.
func (m *metTxns) find(p *plain, n numbered) (at uint32, again bool) {
	for len(m.greatest) < len(p.names) {
		m.greatest = append(m.greatest, math.MinInt64)
	}
	greatest := &m.greatest[n.session]
	if n.id == abortedWrite {
		return 0, false
	}
	if m.index == nil {
		if n.id > *greatest {
			*greatest = n.id
			return 0, false
		}
		if p.stream != nil {
			return 0, true
		}
		m.index = make(map[numbered]uint32, len(p.txns))
		for i := range p.txns {
			m.index[numbered{p.txns[i].session, p.txns[i].id}] = uint32(i)
		}
	}
	if at, again = m.index[n]; !again {
		m.index[n] = uint32(len(p.txns))
	}
	return at, again
}

// inOrder is the transaction of each operation, where they stand one behind the other.
func (p *plain) inOrder() []uint32 {
	of := make([]uint32, 0, cap(p.ops))
	for i := range p.txns {
		for range p.txns[i].count {
			of = append(of, uint32(i))
		}
	}
	return of
}

// gather sorts the operations by transaction, given the transaction of each.
func (p *plain) gather(of []uint32) {
	next := make([]uint32, len(p.txns))
	first := uint32(0)
	for i := range p.txns {
		p.txns[i].first, next[i] = first, first
		first += p.txns[i].count
	}
	ops := make([]plainOp, len(p.ops))
	for i, o := range p.ops {
		ops[next[of[i]]] = o
		next[of[i]]++
	}
	p.ops = ops
}

// polySILine reads the line that s is at.
func polySILine(s *textScanner, p *plain) (o plainOp, n numbered, level string, ok bool) {
	switch s.byte() {
	case 'w':
		o.flags = isWrite
	case 'r':
	default:
		return o, n, "", false
	}
	var session int64
	for i, to := range [...]*int64{&o.key, &o.value, &session, &n.id} {
		if want := byte(','); i == 0 && s.byte() != '(' || i > 0 && s.byte() != want {
			return o, n, "", false
		}
		if *to, ok = s.integer(); !ok {
			return o, n, "", false
		}
	}
	c := s.byte()
	if c == ',' {
		if level, ok = polySILevels[string(s.until(')'))]; !ok {
			return o, n, "", false
		}
		c = s.byte()
	}
	n.session = p.session(session)
	return o, n, level, c == ')' && s.rest() == 0
}

var polySILevels = map[string]string{
	"RA": "strong-session-read-atomic", "C": "strong-session-causal", "SER": "strong-session-serializable",
}
