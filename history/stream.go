package history

import (
	"errors"
	"io"
)

// ErrWhole says that a history cannot be streamed: what a transaction holds depends on
// what is behind it in the file.
var ErrWhole = errors.New("the rest of the file says what a transaction holds")

// stream gives out the transactions of a plain history as they are read, in the order of the
// file, and holds one at a time. It gives the same transactions as a whole history, in another
// order, or [ErrWhole].
type stream struct {
	*Reader
	seqs  []int64 // by session: how many were given
	given int
	setUp bool // the first one set up the initial version, unless it has successors
	of    uint32
	err   error
}

// stream reads a file and keeps nothing of it.
func (r *Reader) stream(f Format, in io.Reader) error {
	p := &plain{stream: &stream{Reader: r}}
	c := chunks{in: in}
	var err error
	switch f {
	case DBCop:
		err = p.readDBCop(&bincode{chunks: &c, size: int(r.Size)})
	case PolySI:
		err = p.readPolySI(&textScanner{chunks: &c})
	case AWDIT:
		err = p.readAWDIT(&textScanner{chunks: &c})
	}
	switch {
	case c.err != nil:
		return c.err
	case p.stream.err != nil:
		return p.stream.err
	case err == nil && p.stream.setUp && p.stream.given < 2:
		return ErrWhole
	}
	return err
}

// streams says whether files of the format are streamed. A file of dbcop needs a known size:
// counts in it are compared with the size.
func (r *Reader) streams(f Format) bool {
	return r.Stream && (f == PolySI || f == AWDIT || f == DBCop && r.Size > 0)
}

// give gives out the one transaction that p holds.
func (s *stream) give(p *plain) {
	t := &p.txns[0]
	for len(s.seqs) < len(p.names) {
		s.seqs = append(s.seqs, 0)
	}
	if p.initialZero {
		s.zeros(p)
	}
	s.plainTxn(p, t, s.seqs[t.session])
	s.seqs[t.session]++
	s.given++
	p.txns, p.ops = p.txns[:0], p.ops[:0]
	if s.err == nil {
		s.err = s.full()
	}
}

// zeros marks reads of the initial version where that is 0, as [plain.markInitial] does.
func (s *stream) zeros(p *plain) {
	t, written := &p.txns[0], 0
	for i := range p.ops {
		if o := &p.ops[i]; o.value == 0 {
			written += int(o.flags & isWrite)
			if o.flags&isWrite == 0 {
				o.flags |= initial
			}
		}
	}
	switch {
	case s.given == 0 && written > 0 && written == len(p.ops):
		s.setUp, s.of, t.count = true, t.session, 0
	case written > 0 || s.setUp && t.session == s.of:
		s.err = ErrWhole
	}
}

// chunks are a file that is read in pieces.
type chunks struct {
	in  io.Reader
	buf []byte
	err error // but io.EOF
}

const chunkBytes = 16 << 10

// behind reads on: the bytes rest, which end what was read, and more behind them. It says
// whether there is more. The bytes that it returned before are overwritten.
func (c *chunks) behind(rest []byte) ([]byte, bool) {
	if c == nil || c.in == nil {
		return rest, false
	}
	if 2*len(rest) >= len(c.buf) {
		buf := make([]byte, max(chunkBytes, 2*len(rest)+chunkBytes))
		copy(buf, rest)
		c.buf = buf
	} else {
		copy(c.buf, rest)
	}
	n, err := io.ReadAtLeast(c.in, c.buf[len(rest):], 1)
	if err != nil {
		c.in = nil
		if !errors.Is(err, io.EOF) {
			c.err = err
		}
	}
	return c.buf[:len(rest)+n], n > 0
}
