package history

import (
	"github.com/isowatch/isowatch/event"
)

// The text of AWDIT's tests has an operation a line, "w key value" or "r key value". A
// transaction ends with the line "-", a session with the line "=". There are no initial values:
// a value that the file does not write has no writer. Sessions and transactions are numbered
// from 1.

func (p *plain) readAWDIT(s *textScanner) error {
	session, id := int64(1), int64(1)
	open := false
	end := func() {
		if open {
			p.tellLines(&p.txns[len(p.txns)-1])
			p.end()
			id++
		}
		open = false
	}
	for !p.stopped() && s.next() {
		c := s.cur[0]
		switch {
		case c == '-' && only(s.cur, '-'):
			end()
			continue
		case c == '=' && only(s.cur, '='):
			end()
			session, id = session+1, 1
			continue
		}
		at := s.line
		o, ok := awditOp(s)
		if !ok {
			return s.fault(`"r key value", "w key value", or a line of - or of = is expected`)
		}
		if !open {
			p.begin(p.session(session), id, at, event.Committed)
			open = true
		}
		p.ops = append(p.ops, o)
		p.keepLine(s)
	}
	end()
	return nil
}

func awditOp(s *textScanner) (o plainOp, ok bool) {
	switch s.byte() {
	case 'w':
		o.flags = isWrite
	case 'r':
	default:
		return o, false
	}
	for _, to := range [...]*int64{&o.key, &o.value} {
		if s.byte() != ' ' {
			return o, false
		}
		if *to, ok = s.integer(); !ok {
			return o, false
		}
	}
	return o, s.rest() == 0
}

// only says whether text is made of c.
func only(text []byte, c byte) bool {
	for _, x := range text {
		if x != c {
			return false
		}
	}
	return true
}
