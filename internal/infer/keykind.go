package infer

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// settleKind decides what kind of object k is, by the first operation that tells. It also says
// whether o may be used. It is false for operations that give no dependencies here, and for
// keys used as two kinds. Those are counted as uncheckable.
func (s *kinds) settleKind(k uint32, o *event.Op) bool {
	x := &s.Keys[k]
	if x.Flags&ledger.Unsupported != 0 {
		s.Counters.Ignored++
		if o.Kind == event.Delete || o.Kind == event.Write {
			s.ReplacedWhole(k)
		} else if o.Kind != event.Read && o.Kind != event.Range {
			s.WroteAgain(k, o.ValueHash)
			s.wroteOther(k, o)
		}
		return false
	}
	kind := o.Data
	switch o.Kind {
	case event.Read:
		if kind == event.AnyKind && o.Flags&event.IsArray != 0 && x.Kind != event.Register && !x.Kind.Parts() {
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
		s.GiveUp(k)
		return false
	}
	switch {
	case kind == event.AnyKind:
		if x.Kind == event.AnyKind {
			s.ReadPlainly(k)
		}
	case x.Kind == event.AnyKind:
		readBefore := x.Length > 0
		x.Length = 0
		if kind == event.List {
			x.LastBlind, x.Unplaced = x.Unplaced, 0 // where a list has its chain of kept versions
		}
		if kind > event.List && readBefore {
			s.GiveUp(k)
			return false
		}
		if kind == event.Counter {
			s.Counters.Countable++
		}
		x.Kind = kind
		if kind == event.Register && !readBefore && s.HasRanges() {
			s.Enroll(k)
		}
	case x.Flags&ledger.Sums != 0 && kind == event.Counter:
	case x.Kind != kind || x.Flags&ledger.Sums != 0:
		if x.Kind != kind && kind == event.Register && causes.WritesVersion(o) || x.Kind == event.List && kind.Parts() {
			s.notAppended(k)
		} else if x.Flags&ledger.Deleted != 0 {
			s.Counters.DeletedLists++
		}
		s.wroteOther(k, o)
		s.GiveUp(k)
		return false
	}
	return true
}

// settleKinds decides the kinds of keys that t reads first, without a kind, and then writes. The write
// tells the kind. If it contradicts what was told, the key is given up before the reads. O(operations) time.
func (s *kinds) settleKinds(b *event.Batch, t *event.Txn, ops []event.Op) {
	plain, array := false, false
	for i := range ops {
		if o := &ops[i]; o.Kind == event.Read && o.Data == event.AnyKind {
			plain, array = true, array || o.Flags&event.IsArray != 0
		}
	}
	if !plain {
		return
	}
	for i := range ops {
		o := &ops[i]
		switch o.Kind {
		case event.Inc, event.Add, event.Remove:
		case event.Write, event.Insert, event.CAS:
			if !array {
				continue // single values are read of registers
			}
		default:
			continue
		}
		k := s.plannedKey(i)
		if k == 0 {
			k = s.InternKeyOf(b, t, o)
		}
		switch x := &s.Keys[k]; {
		case x.Flags&(ledger.Unsupported|ledger.Sums) != 0:
		case x.Kind == event.AnyKind && x.Length == 0:
			s.settleKind(k, o)
		case o.Kind == event.Inc && x.Kind != event.Counter, (o.Kind == event.Add || o.Kind == event.Remove) && x.Kind != event.Set:
			if x.Kind == event.List {
				s.notAppended(k)
			}
			s.GiveUp(k) // t contradicts how the key was read, so its reads before say nothing either
		}
	}
}

// notAppended takes back what reads of the key k showed of the order of a list. Somebody may have deleted
// the list, or a read that did not tell its kind was of a set.
func (s *kinds) notAppended(k uint32) {
	s.Keys[k].Flags |= ledger.Deleted
	s.Counters.DeletedLists++
}

// saysNothing says whether o, of an aborted transaction, says nothing of its key. That is so if o is of
// another kind than its key, or if nothing is inferred for the key. It took no effect, so it takes
// nothing back. A delete does not tell what kind its key is of.
func (s *kinds) saysNothing(key event.Hash, o *event.Op) bool {
	kind := event.AnyKind
	if len(s.ByKey.Slots) > 0 {
		k := s.LookupKey(key)
		if kind = s.Keys[k].Kind; s.Keys[k].Flags&ledger.Unsupported != 0 {
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

// tellVersion notes that an operation of k, whatever its kind, told its version.
func (s *kinds) tellVersion(k uint32) {
	if s.Keys[k].Kind != event.Counter {
		s.TellByVersion(k)
		return
	}
	if s.Keys[k].Flags&ledger.Versioned == 0 {
		s.Counters.Versioned++
	}
	s.TellCounter(k)
}

// KnownCounter says whether the key of o, an operation of t, is known to be a counter. Then no read took it for a
// register before. It is false, too, if the key is not in memory.
func (s *kinds) KnownCounter(b *event.Batch, t *event.Txn, o *event.Op) bool {
	return len(s.ByKey.Slots) > 0 && s.Keys[s.LookupKey(s.InEpoch(b, t, o.KeyHash))].Kind == event.Counter
}
