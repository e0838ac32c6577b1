package infer

import (
	"encoding/binary"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// A transaction may write a value that is there already: a flag that was set, a stock that is
// 100 again. If it had not read the key, a reader of the value while it runs need not have read
// from it. The contract must leave the value to be from before watching, or from a writer
// without a record. It is so until the key is known to have held another value (docs/proofs.md,
// section 2, *A write of what was there*).

// stand is the known past of a key, 24 bytes. It has a value, and the earliest end of a committed
// transaction that read or left it there. It also has the earliest end of a transaction with another
// value.
type stand struct {
	value        uint64 // what the first one says, by hash; 0 is nothing
	first, other int64  // ns; 0: none
}

// plain says whether plain values name their writers only as far as the stream shows. Where
// versions tell registers, those are the elements of sets and lists.
func (o *Options) plain() bool { return o.Observed || o.ByVersion }

// blindIsAmbiguous says whether what a transaction wrote without reading the key may have been there.
func (o *Options) blindIsAmbiguous() bool {
	return o.plain() && (o.Existing || o.UnmonitoredWriters || !o.Complete)
}

// stood is the known past of keys, by their numbers.
type stood []stand

func (x *stood) of(k uint32) *stand {
	for int(k) >= len(*x) {
		*x = flat.Push(*x, stand{})
	}
	return &(*x)[k]
}

// forget forgets what the key held that had the number k before.
func (x stood) forget(k uint32) {
	if int(k) < len(x) {
		x[k] = stand{}
	}
}

// held says whether the key k held something else than the value, by more than the drift before
// the time at, ns.
func (x stood) held(k uint32, value uint64, at, drift int64) bool {
	if int(k) >= len(x) {
		return false
	}
	since := x[k].since(value)
	return since != 0 && at > since && at-since > drift
}

// take notes the values that n, the transaction in work of s, read of its keys and left there. O(keys
// of n).
func (x *stood) take(s *causes, n uint32) {
	t := &s.txns[n]
	if !s.opt.blindIsAmbiguous() || t.flags&(hasTimes|unknown) != hasTimes {
		return
	}
	for i := range s.touches {
		c := &s.touches[i]
		if k := &s.keys[c.key]; k.kind > event.Register || k.flags&(repeats|versioned) != 0 {
			continue
		}
		if c.flags&hasRead != 0 {
			x.of(c.key).note(heldBy(c.readHash, c.flags&readNothing != 0), t.end)
		}
		if c.flags&wrote != 0 {
			x.of(c.key).note(heldBy(c.current, c.flags&removed != 0), t.end)
		}
	}
}

// heldBy is how a stand tells a value. Two values may be taken for one: then less is known.
func heldBy(h event.Hash, nothing bool) uint64 {
	if nothing {
		return 0
	}
	return h.Lo | 1
}

// note takes in that the key held the value when a transaction was over.
func (x *stand) note(value uint64, end int64) {
	switch {
	case x.first == 0 || value == x.value && end < x.first:
		x.value, x.first = value, end
	case value == x.value:
	case end < x.first:
		x.value, x.first, x.other = value, end, x.first
	case x.other == 0 || end < x.other:
		x.other = end
	}
}

// since is from when on the key is known to have held something else than the value, 0 if it is
// not known.
func (x *stand) since(value uint64) int64 {
	if x.value == value {
		return x.other
	}
	return x.first
}

// before says whether reader, who read v, may have found its value there before writer wrote it. Both
// ran at one time, as far as the clocks and their session show. A version of a register that its writer
// replaced itself is not looked at. If replaced is true, reader replaced v. Then their records show
// that the two ran at one time. So the write that replaced v may come before it, and nothing is known
// of v.
func (x stood) before(s *causes, v, writer, reader uint32, replaced bool) bool {
	if !s.opt.blindIsAmbiguous() || writer == reader || s.keys[s.versions[v].key].flags&versioned != 0 {
		return false
	}
	w, r := &s.txns[writer], &s.txns[reader]
	timed := w.flags&r.flags&hasTimes != 0
	if timed && r.start > w.end && (replaced || r.start-w.end > s.opt.ClockDrift) || beforeInSession(w, r) {
		return false
	}
	id := s.writeOf(writer, v)
	if id == 0 || !s.writes[id].unread || s.writes[id].intermediate && s.keys[s.versions[v].key].flags&element == 0 {
		return false
	}
	if replaced && s.mayTryAgain(writer) {
		return true // the reader may have found the value of a first attempt
	}
	y := &s.versions[v]
	return !timed || !x.held(y.key, heldBy(y.hash, false), r.start, s.opt.ClockDrift)
}

// readFrom gives the edge from the writer of v, known now, to n, who read v. If n may have
// found its value there before, n need not have read from the writer. It comes after the writer
// only if it replaced v. It comes before the transactions that replaced v anyway.
func (x stood) readFrom(s *causes, v, n uint32, label Label) {
	w := s.versions[v].writer
	if x.before(s, v, w, n, false) {
		for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
			if s.readers[r].txn == n {
				s.reads.saw(&s.ledger, r, perhaps)
				break
			}
		}
		s.Counters.Ambiguous++
		if label &^= WR | Reread; label == 0 {
			return
		}
	}
	s.edge(w, n, label, v, 0)
}

// oneSession says whether both are live members of one session. The number of a session is used again
// when all of it has retired, and a member that was on disk has none.
func (x *txn) oneSession(y *txn) bool {
	return x.session != 0 && x.session == y.session && (x.flags|y.flags)&retired == 0
}

// beforeInSession says whether w comes before r in one session: by seq, or by the client's own clock
// where there is none.
func beforeInSession(w, r *txn) bool {
	if !w.oneSession(r) {
		return false
	}
	if w.flags&r.flags&hasSeq != 0 {
		return w.seq < r.seq
	}
	return w.flags&r.flags&hasTimes != 0 && w.end <= r.start && w.start < r.end
}

// appendState writes what the key k is known to have held: three numbers, 0 where nothing is.
func (x stood) appendState(dst []byte, k uint32) []byte {
	var y stand
	if int(k) < len(x) {
		y = x[k]
	}
	return binary.AppendVarint(binary.AppendVarint(binary.AppendUvarint(dst, y.value), y.first), y.other)
}

// readState reads what appendState wrote.
func (x *stood) readState(r *recordReader, k uint32) {
	if y := (stand{value: r.uint(), first: r.int(), other: r.int()}); y != (stand{}) {
		*x.of(k) = y
	} else {
		x.forget(k)
	}
}
