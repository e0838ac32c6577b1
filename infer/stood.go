package infer

import (
	"encoding/binary"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// A transaction may write what is there already: a flag that was set, a stock that is 100 again.
// If it had not read the key, who reads the value while it runs need not have read from it. That
// is so where the contract leaves the value to be from before watching, or from somebody without
// a record, and until the key is known to have held something else (docs/proofs.md, section 2,
// *A write of what was there*).

// stand is what a key is known to have held: the earliest time at which a committed transaction
// was over that read something there or left it, and the earliest one of those that say something
// else than the first. 24 bytes.
type stand struct {
	value        uint64 // what the first one says, by hash; 0 is nothing
	first, other int64  // ns; 0: none
}

// doubtsBlind says whether what a transaction wrote without reading the key may have been there.
func (o *Options) doubtsBlind() bool { return o.Observed && (o.Existing || o.strangers()) }

// stands takes in what n, the transaction in work, read of its keys, and what it left there.
// O(keys of n).
func (s *State) stands(n uint32) {
	t := &s.txns[n]
	if !s.opt.doubtsBlind() || t.flags&(hasTimes|unknown) != hasTimes {
		return
	}
	for i := range s.touches {
		c := &s.touches[i]
		if x := &s.keys[c.key]; x.kind > event.Register || x.flags&(repeats|versioned) != 0 {
			continue
		}
		x := s.standOf(c.key)
		if c.flags&hasRead != 0 {
			x.note(heldBy(c.readHash, c.flags&readNothing != 0), t.end)
		}
		if c.flags&wrote != 0 {
			x.note(heldBy(c.current, c.flags&removed != 0), t.end)
		}
	}
}

func (s *State) standOf(k uint32) *stand {
	for int(k) >= len(s.stood) {
		s.stood = flat.Push(s.stood, stand{})
	}
	return &s.stood[k]
}

// standsAnew forgets what the key held that had the number k before.
func (s *State) standsAnew(k uint32) {
	if int(k) < len(s.stood) {
		s.stood[k] = stand{}
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

// replacedStood says whether reader, who read v and replaced it, may have found its value there
// before writer wrote it: both ran at one time, by their records. Then what replaced v may come
// before it, and nothing is known of v.
func (s *State) replacedStood(v, writer, reader uint32) bool {
	w, r := &s.txns[writer], &s.txns[reader]
	if w.flags&r.flags&hasTimes != 0 && r.start > w.end {
		return false
	}
	return s.mayHaveStood(v, writer, reader)
}

// mayHaveStood says whether reader, who read v, may have found its value there before writer
// wrote it: both ran at one time, as far as the clocks and their session show. A version that its
// writer replaced itself is not looked at.
func (s *State) mayHaveStood(v, writer, reader uint32) bool {
	if !s.opt.doubtsBlind() || writer == reader {
		return false
	}
	w, r := &s.txns[writer], &s.txns[reader]
	timed := w.flags&r.flags&hasTimes != 0
	if timed && r.start > w.end && r.start-w.end > s.opt.ClockDrift || beforeInSession(w, r) {
		return false
	}
	id := s.writeOf(writer, v)
	if id == 0 || !s.writes[id].unread || s.writes[id].intermediate {
		return false
	}
	return !timed || !s.heldAnother(v, r.start)
}

// readFrom gives the edge from the writer of v, known now, to n, who read v. If n may have found
// its value there before, n need not have read from the writer: it comes after it only if it
// replaced v. Before who replaced v it comes anyway.
func (s *State) readFrom(v, n uint32, label Label) {
	w := s.versions[v].writer
	if s.mayHaveStood(v, w, n) {
		s.perhapsOf(v, n)
		if label &^= WR | Reread; label == 0 {
			return
		}
	}
	s.edge(w, n, label, v, 0)
}

// perhapsOf notes that n may have read what was there before v was written.
func (s *State) perhapsOf(v, n uint32) {
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		if x := &s.readers[r]; x.txn == n {
			x.how = perhaps
		}
	}
	s.Counters.Ambiguous++
}

// beforeInSession says whether w comes before r in one session. The number of a session is used
// again when all of it has retired.
func beforeInSession(w, r *txn) bool {
	return w.session != 0 && w.session == r.session && (w.flags|r.flags)&retired == 0 && w.flags&r.flags&hasSeq != 0 && w.seq < r.seq
}

// heldAnother says whether the key of v held something else by the time at, ns, whatever the
// clocks show.
func (s *State) heldAnother(v uint32, at int64) bool {
	k := s.versions[v].key
	if int(k) >= len(s.stood) {
		return false
	}
	since := s.stood[k].since(heldBy(s.versions[v].hash, false))
	return since != 0 && at > since && at-since > s.opt.ClockDrift
}

// appendStand writes what the key k is known to have held.
func (s *State) appendStand(dst []byte, k uint32) []byte {
	if !s.opt.doubtsBlind() {
		return dst
	}
	x := s.standOf(k)
	return binary.AppendVarint(binary.AppendVarint(binary.AppendUvarint(dst, x.value), x.first), x.other)
}

// readStand reads what appendStand wrote.
func (s *State) readStand(r *recordReader, k uint32) {
	if s.opt.doubtsBlind() {
		*s.standOf(k) = stand{value: r.uint(), first: r.int(), other: r.int()}
	}
}
