package history

import "github.com/isowatch/isowatch/event"

// cameOf gives a plain history Came. A stream has none: it forgets what it has read.
func (r *Reader) cameOf() func(id string, pos event.Position, records [][]byte) {
	if r.Stream {
		return nil
	}
	return r.Came
}

// tell tells the record of the last transaction as it stands in the file.
func (p *plain) tell(record []byte) {
	if p.came != nil {
		t := &p.txns[len(p.txns)-1]
		p.tellAt(t, t.at, record)
	}
}

// tellAt tells a piece of a transaction that stands elsewhere than its beginning.
func (p *plain) tellAt(t *plainTxn, at int64, record []byte) {
	id, _ := p.appendID(nil, t)
	p.came(string(id), event.Position{Partition: t.partition, Offset: at}, [][]byte{record})
}

// keepLine keeps the line that s has read, for tellLines.
func (p *plain) keepLine(s *textScanner) {
	if p.came == nil {
		return
	}
	if len(p.lines) == 0 {
		p.firstAt = s.line
	} else {
		p.lines = append(p.lines, '\n')
	}
	p.lines = append(p.lines, s.whole...)
}

// tellLines tells the lines that were kept, of t.
func (p *plain) tellLines(t *plainTxn) {
	if len(p.lines) > 0 {
		p.tellAt(t, p.firstAt, p.lines)
		p.lines = p.lines[:0]
	}
}
