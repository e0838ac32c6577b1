package infer

import "github.com/isowatch/isowatch/event"

// keyOf interns the key of o.
func (s *registers) keyOf(b *event.Batch, t *event.Txn, o *event.Op) uint32 {
	h := o.KeyHash
	if t.Epoch.Len > 0 {
		h = s.inEpoch(b, t, h)
	}
	return s.internKey(h, b.Bytes(o.Key))
}

// settleKind decides what kind of object k is, by the first operation that tells. It also says
// whether o may be used. It is false for operations that give no dependencies here, and for
// keys used as two kinds. Those are counted as uncheckable.
func (s *kinds) settleKind(k uint32, o *event.Op) bool {
	x := &s.keys[k]
	if x.flags&unsupported != 0 {
		s.Counters.Ignored++
		if o.Kind == event.Delete || o.Kind == event.Write {
			s.replaced(k)
		} else if o.Kind != event.Read && o.Kind != event.Range {
			s.wroteAgain(k, o.ValueHash)
			s.wroteOther(k, o)
		}
		return false
	}
	kind := o.Data
	switch o.Kind {
	case event.Read:
		if kind == event.AnyKind && o.Flags&event.IsArray != 0 && x.kind != event.Register && !x.kind.Parts() {
			kind = event.List
		}
	case event.Append:
		kind = event.List
	case event.Write, event.CAS, event.Insert, event.Delete: // of the whole key, whatever kind the record names
		kind = event.Register
	case event.Add, event.Remove:
		kind = event.Set
	case event.Inc:
		kind = event.Counter
	case event.Range:
		return true
	default:
		s.giveUp(k)
		return false
	}
	switch {
	case kind == event.AnyKind:
		if x.kind == event.AnyKind {
			s.readPlainly(k)
		}
	case x.kind == event.AnyKind:
		readBefore := x.length > 0
		x.length = 0
		if kind == event.List {
			x.lastBlind, x.unplaced = x.unplaced, 0 // where a list has its chain of kept versions
		}
		if kind > event.List && readBefore {
			s.giveUp(k)
			return false
		}
		if kind == event.Counter {
			s.Counters.Countable++
		}
		x.kind = kind
		if kind == event.Register && !readBefore && len(s.ordered) > 0 {
			s.enroll(k)
		}
	case x.flags&sums != 0 && kind == event.Counter:
	case x.kind != kind || x.flags&sums != 0:
		if x.kind != kind && kind == event.Register && writesVersion(o) {
			x.flags |= deleted // what was appended or added may be gone
			s.Counters.DeletedLists++
		} else if x.flags&deleted != 0 {
			s.Counters.DeletedLists++
		}
		s.wroteOther(k, o)
		s.giveUp(k)
		return false
	}
	return true
}

// saysNothing says whether o, of an aborted transaction, says nothing of its key. That is so if o is of
// another kind than its key, or if nothing is inferred for the key. It took no effect, so it takes
// nothing back. A delete does not tell what kind its key is of.
func (s *kinds) saysNothing(key event.Hash, o *event.Op) bool {
	kind := event.AnyKind
	if len(s.byKey.slots) > 0 {
		k := s.lookupKey(key)
		if kind = s.keys[k].kind; s.keys[k].flags&unsupported != 0 {
			return true
		}
	}
	switch o.Kind {
	case event.Delete:
		return kind != event.Register
	case event.Write, event.CAS, event.Insert:
		return kind > event.Register
	case event.Append:
		return kind != event.AnyKind && kind != event.List
	case event.Add, event.Remove:
		return kind != event.AnyKind && kind != event.Set
	}
	return false
}

// giveUp stops inference on k. Edges found so far rest on operations that were understood, and
// stay. The exception is edges out of not-found reads, since a delete makes these ambiguous.
func (s *registers) giveUp(k uint32) {
	x := &s.keys[k]
	s.Counters.Ignored++
	x.flags |= unsupported
	s.uncheckable(k)
	if x.flags&deleted != 0 {
		s.replaced(k)
	} else if x.flags&sums != 0 {
		s.deletion(k, 0) // somebody uses the key as another kind, and may have deleted it
	}
}

func (s *orders) uncheckable(k uint32) {
	if s.keys[k].flags&uncheckable == 0 {
		s.keys[k].flags |= uncheckable
		s.Counters.Uncheckable++
	}
}

// tellVersion notes that an operation of k, whatever its kind, told its version.
func (s *kinds) tellVersion(k uint32) {
	if s.keys[k].kind != event.Counter {
		s.tellByVersion(k)
		return
	}
	if s.keys[k].flags&versioned == 0 {
		s.Counters.Versioned++
	}
	s.tellCounter(k)
}

// replaced takes back what rests on k having been appended or added to only: another
// operation may have replaced or deleted it.
func (s *registers) replaced(k uint32) {
	switch s.keys[k].kind {
	case event.List:
		s.kindsAbove.List.Replaced(k)
	case event.Set:
		s.kindsAbove.Set.Replaced(k)
	}
}

// void takes back what rests on v having one writer, and having been read.
func (s *registers) void(v uint32) {
	s.kill(v, s.versions[v].writer, WW|WR|RW)
	s.out.Ambiguous = append(s.out.Ambiguous, s.valueKey(v))
}
