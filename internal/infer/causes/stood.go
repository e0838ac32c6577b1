package causes

import (
	"encoding/binary"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/ledger"
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

// stood is the known past of keys, by their numbers.
type stood []stand

func (x *stood) of(k uint32) *stand {
	for int(k) >= len(*x) {
		*x = flat.Push(*x, stand{})
	}
	return &(*x)[k]
}

// Forget forgets what the key held that had the number k before.
func (x stood) Forget(k uint32) {
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

// Take notes the values that n, the transaction in work of s, read of its keys and left there. O(keys
// of n).
func (x *stood) Take(s *Causes, n uint32) {
	t := &s.Txns[n]
	if !s.Opt.BlindIsAmbiguous() || t.Flags&(ledger.HasTimes|ledger.Unknown) != ledger.HasTimes {
		return
	}
	for i := range s.Touches {
		c := &s.Touches[i]
		if k := &s.Keys[c.Key]; k.Kind > event.Register || k.Flags&(ledger.Repeats|ledger.Versioned) != 0 {
			continue
		}
		if c.Flags&HasRead != 0 {
			x.of(c.Key).note(heldBy(c.ReadHash, c.Flags&ReadNothing != 0), t.End)
		}
		if c.Flags&Wrote != 0 {
			x.of(c.Key).note(heldBy(c.Current, c.Flags&Removed != 0), t.End)
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

// Before says whether reader, who read v, may have found its value there before writer wrote it. Both
// ran at one time, as far as the clocks and their session show. If replaced is true, reader replaced v.
// Then their records show that the two ran at one time. So the write that replaced v may come before it, and nothing is known
// of v.
func (x stood) Before(s *Causes, v, writer, reader uint32, replaced bool) bool {
	if !s.Opt.BlindIsAmbiguous() || writer == reader || s.Keys[s.Versions[v].Key].Flags&ledger.Versioned != 0 {
		return false
	}
	w, r := &s.Txns[writer], &s.Txns[reader]
	timed := w.Flags&r.Flags&ledger.HasTimes != 0
	if timed && r.Start > w.End && (replaced || r.Start-w.End > s.Opt.ClockDrift) || beforeInSession(w, r) {
		return false
	}
	id := s.WriteOf(writer, v)
	if id == 0 || !s.Writes[id].Unread {
		return false
	}
	if replaced && s.mayTryAgain(writer) {
		return true // the reader may have found the value of a first attempt
	}
	y := &s.Versions[v]
	return !timed || !x.held(y.Key, heldBy(y.Hash, false), r.Start, s.Opt.ClockDrift)
}

// ReadFrom gives the edge from the writer of v, known now, to n, who read v. If n may have
// found its value there before, n need not have read from the writer. It comes after the writer
// only if it replaced v. It comes before the transactions that replaced v anyway.
func (x stood) ReadFrom(s *Causes, v, n uint32, label ledger.Label) {
	w := s.Versions[v].Writer
	if x.Before(s, v, w, n, false) {
		for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
			if s.Readers[r].Txn == n {
				s.ReadCounts.Saw(&s.Ledger, r, ledger.Perhaps)
				break
			}
		}
		s.Counters.Ambiguous++
		if label &^= ledger.WR | ledger.Reread; label == 0 {
			return
		}
	}
	s.GiveEdge(w, n, label, v, 0)
}

// beforeInSession says whether w comes before r in one session: by seq, or by the client's own clock
// where there is none.
func beforeInSession(w, r *ledger.Txn) bool {
	if !w.OneSession(r) {
		return false
	}
	if w.Flags&r.Flags&ledger.HasSeq != 0 {
		return w.Seq < r.Seq
	}
	return w.Flags&r.Flags&ledger.HasTimes != 0 && w.End <= r.Start && w.Start < r.End
}

// AppendState writes what the key k is known to have held: three numbers, 0 where nothing is.
func (x stood) AppendState(dst []byte, k uint32) []byte {
	var y stand
	if int(k) < len(x) {
		y = x[k]
	}
	return binary.AppendVarint(binary.AppendVarint(binary.AppendUvarint(dst, y.value), y.first), y.other)
}

// ReadState reads what AppendState wrote.
func (x *stood) ReadState(r *ledger.RecordReader, k uint32) {
	if y := (stand{value: r.Uint(), first: r.Int(), other: r.Int()}); y != (stand{}) {
		*x.of(k) = y
	} else {
		x.Forget(k)
	}
}
