package history

import (
	"encoding/binary"
	"math"

	"github.com/isowatch/isowatch/event"
)

// Cobra's logs: a file T<n>.log a session, integers of 64 bits, big-endian,
// behind a letter each.
//
//	'S' txn                              begin
//	'W' write, key, value                a value is known by txn and write
//	'R' writer's txn, write, key, value
//	'C' txn, 'A' txn                     commit, abort
//
// A read of a writer that is one of two constants found what was there before, or
// nothing. Only committed transactions are logged by Cobra's own client.
const (
	cobraInitial = 0xbebeebee
	cobraNull    = 0xdeadbeef
)

// cobraSizes are the bytes behind each letter.
var cobraSizes = map[byte]int{'S': 8, 'C': 8, 'A': 8, 'W': 24, 'R': 32}

func (p *plain) cobraFile(data []byte, session uint32) error {
	p.hexIDs = true
	id, from, open := int64(0), 0, false
	for i := 0; i < len(data); {
		at, c := i, data[i]
		size, known := cobraSizes[c]
		if !known {
			return atByte(at, "%q is not one of S, R, W, C, A", c)
		}
		if len(data)-i-1 < size {
			return atByte(at, "the file ends within %q", c)
		}
		var v [4]int64
		for k := range size / 8 {
			u := binary.BigEndian.Uint64(data[i+1+8*k:])
			v[k] = int64(u)
			if u > math.MaxInt64 && c != 'W' && c != 'R' {
				return atByte(at, "transaction %#x is beyond 63 bits", u)
			}
		}
		i += 1 + size
		if (c == 'S') == open {
			return atByte(at, "%q where a transaction is %s", c, map[bool]string{true: "open", false: "not open"}[open])
		}
		switch c {
		case 'S':
			id, from, open = v[0], at, true
			p.begin(session, id, int64(at), event.Committed)
		case 'W':
			p.ops = append(p.ops, plainOp{key: v[1], value: v[0], writer: id, flags: isWrite | ofWriter})
		case 'R':
			o := plainOp{key: v[2], value: v[1], writer: v[0], flags: ofWriter}
			if v[0] == cobraInitial || v[0] == cobraNull {
				o.flags = initial
			}
			p.ops = append(p.ops, o)
		case 'C', 'A':
			if v[0] != id {
				return atByte(at, "%q of transaction %x, %x is open", c, v[0], id)
			}
			if c == 'A' {
				p.txns[len(p.txns)-1].status = event.Aborted
			}
			p.tell(data[from:i])
			p.end()
			open = false
		}
	}
	if open { // the client was cut off
		p.txns[len(p.txns)-1].status = event.Unknown
		p.tell(data[from:])
		p.end()
	}
	return nil
}
