package history

import (
	"bytes"
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

func readPolySI(data []byte) (*plain, error) {
	p := &plain{initialZero: true, ops: make([]plainOp, 0, bytes.Count(data, []byte{'\n'})+1)}
	known := map[numbered]uint32{}
	last, current := numbered{id: math.MinInt64}, uint32(0)
	scattered := false
	var of []uint32 // the transaction of each operation
	s := textScanner{data: data}
	for s.next() {
		o, n, level, ok := polySILine(&s, p)
		if !ok {
			return nil, s.fault("r(key,value,session,txn) or w(key,value,session,txn) is expected")
		}
		if n != last || n.id == abortedWrite {
			at, found := known[n]
			switch {
			case n.id == abortedWrite:
				p.begin(n.session, n.id, s.line, event.Aborted)
			case !found:
				p.begin(n.session, n.id, s.line, event.Committed)
				known[n] = uint32(len(p.txns) - 1)
			}
			if current = uint32(len(p.txns) - 1); found && n.id != abortedWrite {
				current, scattered = at, true
			}
			last = n
		}
		if level != "" {
			p.txns[current].isolation = level
		}
		p.ops = append(p.ops, o)
		of = append(of, current)
		p.txns[current].count++
	}
	if scattered {
		p.gather(of)
	}
	return p, nil
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
