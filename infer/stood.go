package infer

import "github.com/isowatch/isowatch/event"

// A transaction may set what is there already: a flag that was set, a price that did not change.
// Who reads the value while such a transaction runs need not have read from it. That is so where
// the contract leaves a value from before watching, or of somebody without a record, until the
// key is known to have held something else (docs/proofs.md, section 2, *A write of what was
// there*).

// stand is what a key is known to have held: the earliest time, ns, at which a committed
// transaction was over that read something there or left it, and the earliest one of those that
// say something else than the first. 0 is none.
type stand struct {
	value        uint64 // by hash; 0 is nothing
	first, other int64
}

// doubtsBlind says whether what a transaction wrote without reading the key may have been there.
func (o *Options) doubtsBlind() bool { return o.Observed && (o.Existing || o.strangers()) }

// stands takes in what n read of its keys, and what it left there. O(keys of n).
func (s *State) stands(n uint32) {
	if t := &s.txns[n]; !s.opt.doubtsBlind() || t.flags&(hasTimes|unknown) != hasTimes {
		return
	}
	end := s.txns[n].end
	for i := range s.touches {
		c := &s.touches[i]
		if s.keys[c.key].kind > event.Register || s.keys[c.key].flags&(repeats|versioned) != 0 {
			continue
		}
		for int(c.key) >= len(s.stood) {
			s.stood = append(s.stood, stand{})
		}
		x := &s.stood[c.key]
		if c.flags&hasRead != 0 {
			x.note(heldBy(c.readHash, c.flags&readNothing != 0), end)
		}
		if c.flags&wrote != 0 {
			x.note(heldBy(c.current, c.flags&removed != 0), end)
		}
	}
}

func heldBy(h event.Hash, nothing bool) uint64 {
	if nothing {
		return 0
	}
	return h.Lo | 1
}

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

// stoodBefore says whether reader, who read v, may have found it before writer wrote it.
func (s *State) stoodBefore(v, writer, reader uint32) bool {
	if !s.opt.doubtsBlind() || writer == reader {
		return false
	}
	w, r := &s.txns[writer], &s.txns[reader]
	timed := w.flags&r.flags&hasTimes != 0
	if timed && r.start > w.end {
		return false
	}
	if w.session != 0 && w.session == r.session && (w.flags|r.flags)&retired == 0 && w.flags&r.flags&hasSeq != 0 && w.seq < r.seq {
		return false
	}
	id := s.writeOf(writer, v)
	if id == 0 || !s.writes[id].unread || s.writes[id].intermediate {
		return false
	}
	return !timed || !s.heldAnother(v, r.start)
}

// heldAnother says whether the key of v held another value by the time at, ns.
func (s *State) heldAnother(v uint32, at int64) bool {
	k := s.versions[v].key
	if int(k) >= len(s.stood) {
		return false
	}
	x := &s.stood[k]
	since := x.first
	if x.value == heldBy(s.versions[v].hash, false) {
		since = x.other
	}
	return since != 0 && at > since && at-since > s.opt.ClockDrift
}
