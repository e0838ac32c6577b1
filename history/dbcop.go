package history

import (
	"encoding/binary"
	"math"

	"github.com/isowatch/isowatch/event"
)

// dbcop's history.bincode (bincode 1): little-endian integers of 64 bits, texts
// and lists behind their length.
//
//	u64 id, n_node, n_variable, n_transaction, n_event
//	text info, start, end
//	list of sessions, each a list of transactions, each
//	  list of events: u8 write, u64 variable, u64 value, u8 success
//	  u8 success
//
// Every variable begins with 0. Events that failed are left out, also in transactions that
// succeeded. Sessions and transactions are numbered from 1.

const (
	dbcopEvent = 18 // bytes
	dbcopTexts = 5 * 8
)

// bincode reads such a file. After the first fault it gives zeros.
type bincode struct {
	*chunks // what is behind data, nil for nothing
	data    []byte
	i       int
	before  int // bytes of the file before data
	size    int // of the file
	fault   error
}

func (d *bincode) fail(at int, format string, args ...any) {
	if d.fault == nil {
		d.fault = atByte(at, format, args...)
	}
	d.data, d.i, d.chunks = nil, 0, nil
}

// at is the place in the file.
func (d *bincode) at() int { return d.before + d.i }

// has says whether n more bytes are there.
func (d *bincode) has(n int) bool {
	more := true
	for more && len(d.data)-d.i < n {
		d.before += d.i
		d.data, more = d.behind(d.data[d.i:])
		d.i = 0
	}
	return more
}

// skip passes over n bytes, which the file has.
func (d *bincode) skip(n int) {
	for n > 0 && d.has(1) {
		k := min(n, len(d.data)-d.i)
		d.i, n = d.i+k, n-k
	}
}

func (d *bincode) u64() uint64 {
	if len(d.data)-d.i < 8 && !d.has(8) {
		d.fail(d.at(), "the file ends early")
		return 0
	}
	d.i += 8
	return binary.LittleEndian.Uint64(d.data[d.i-8:])
}

// count reads how many things of at least size bytes follow.
func (d *bincode) count(size int, what string) int {
	at := d.at()
	n := d.u64()
	if n > uint64(max(d.size-d.at(), 0)/size) {
		d.fail(at, "%d %s, more than the rest of the file holds", n, what)
		return 0
	}
	return int(n)
}

func (d *bincode) flag(what string) bool {
	if d.i >= len(d.data) && !d.has(1) {
		d.fail(d.at(), "the file ends early")
		return false
	}
	d.i++
	c := d.data[d.i-1]
	if c > 1 {
		d.fail(d.at()-1, "%s is %d, neither 0 nor 1", what, c)
	}
	return c == 1
}

func (d *bincode) number(what string) int64 {
	at := d.at()
	u := d.u64()
	if u > math.MaxInt64 {
		d.fail(at, "%s %d is beyond 63 bits", what, u)
	}
	return int64(u)
}

func (p *plain) readDBCop(d *bincode) error {
	d.skip(dbcopTexts)
	for range 3 {
		d.skip(d.count(1, "bytes of text"))
	}
	p.initialZero = true
	sessions := d.count(8, "sessions")
	for s := 1; s <= sessions && d.fault == nil; s++ {
		session := p.session(int64(s))
		txns := d.count(9, "transactions")
		for id := 1; id <= txns && d.fault == nil; id++ {
			if p.dbcopTxn(d, session, int64(id)); p.stopped() {
				return nil
			}
		}
	}
	if d.fault == nil && d.has(1) {
		d.fail(d.at(), "%d bytes behind the history", d.size-d.at())
	}
	return d.fault
}

func (p *plain) dbcopTxn(d *bincode, session uint32, id int64) {
	t := p.begin(session, id, int64(d.at()), event.Committed)
	for n := d.count(dbcopEvent, "events"); n > 0 && d.fault == nil; n-- {
		var o plainOp
		if d.flag("write") {
			o.flags = isWrite
		}
		o.key, o.value = d.number("variable"), d.number("value")
		if d.flag("success") {
			p.ops = append(p.ops, o)
		}
	}
	if !d.flag("success") {
		t.status = event.Aborted
	}
	if d.fault == nil {
		if p.stream == nil { // a stream has let go of its beginning
			p.tell(d.data[t.at:d.i])
		}
		p.end()
	}
}

// isDBCop says whether a file that begins so can be of dbcop: five small numbers
// and a text.
func isDBCop(head []byte) bool {
	if len(head) < dbcopTexts+8 {
		return false
	}
	for i := 0; i < dbcopTexts+8; i += 8 {
		if binary.LittleEndian.Uint64(head[i:]) >= 1<<40 {
			return false
		}
	}
	n := binary.LittleEndian.Uint64(head[dbcopTexts:])
	text := head[dbcopTexts+8:]
	return printable(text[:min(n, uint64(len(text)))])
}

// printable says whether text is ASCII without control characters.
func printable(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
