package infer

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Operations of other kinds than read, write and append are taken as reads and writes of registers. What is
// true of reads and writes is true of them:
//
//   - insert is a write, delete the write of a tombstone. A tombstone is a version of
//     its own that reads show as nothing (Viper, section 4)
//   - cas reads the value that it expected and writes; a failed one reads what it saw
//   - an element of a set is a register that is there or not: see sets/scan.go
//   - a range is a read of each row, and an empty read of each other key between its
//     bounds: see sets/scan.go
//
// A counter belongs here only if its versions are told; see the files of package counters.

// countOther takes an operation of n, which counts, that is not one of a plain
// register or list, or of a key that is neither.
func (s *kinds) countOther(b *event.Batch, t *event.Txn, n, i uint32, k uint32, o *event.Op) {
	switch o.Kind {
	case event.Read, event.Write:
		if s.Keys[k].Kind.Parts() {
			s.ReadSet(b, n, i, k, o)
			return
		}
		if s.IsCounter(k) {
			s.ReadCounter(b, n, i, k, o)
			return
		}
		s.CountVersioned(b, n, i, k, o)
	case event.Range:
		s.ReadRange(b, t, n, i, k, o)
	case event.Inc:
		s.CountIncrement(b, t, n, i, k, o)
	case event.Add:
		s.AddElement(b, n, i, k, o)
	case event.Remove:
		s.RemoveElement(b, t, n, i, k, o)
	case event.Insert:
		first := s.TouchOf(k).Flags&causes.Wrote == 0
		s.WriteVersion(b, n, i, k, o, o.ValueHash)
		if w := &s.Writes[s.TouchOf(k).LastWrite]; first { // an insert would have failed on a value that was there
			w.Unread, w.Absent = false, true
		}
	case event.Delete:
		version, _ := causes.VersionOf(b, o)
		if len(version) == 0 {
			s.Deletion(k, n)
		} else if !s.ToldDeletion(k, n) {
			s.uncheckedOp(b, n, k, o)
			return
		}
		s.WriteVersion(b, n, i, k, o, s.Written(b, t, k, o))
		if s.Keys[k].Flags&ledger.Repeats == 0 {
			s.Versions[s.Writes[s.TouchOf(k).LastWrite].Version].Flags |= ledger.Tombstone
		}
		if s.Keys[k].Flags&ledger.Versioned == 0 || len(version) == 0 {
			s.TouchOf(k).Flags |= causes.Removed // else a read shows its version
		}
	case event.CAS:
		s.CompareAndSet(b, t, n, i, k, o)
	default:
		s.Counters.Ignored++
	}
}

// wroteOther takes back what rests on the writers of the value that o may have
// written to k, which is of another kind or of none.
func (s *kinds) wroteOther(k uint32, o *event.Op) {
	switch o.Kind {
	case event.CAS, event.Insert:
		s.WroteAgain(k, o.ValueHash)
	case event.Add:
		if e := s.LookupKey(causes.ElementHash(s.Keys[k].Hash, o.ValueHash)); e != 0 {
			s.WroteAgain(e, o.ValueHash)
		}
	case event.Remove:
		if e := s.LookupKey(causes.ElementHash(s.Keys[k].Hash, o.ValueHash)); e != 0 {
			s.Deletion(e, 0)
		}
	}
}

// byVersionOnly says whether o, a read or write, is one of a register whose versions
// are told by their texts.
func (s *kinds) byVersionOnly(k uint32, o *event.Op) bool {
	return s.Keys[k].Kind == event.Register || s.Keys[k].Kind == event.AnyKind && o.Flags&event.IsArray == 0
}

// uncheckedOp counts o, an operation of n on k from which nothing is inferred, if it is a read.
func (s *kinds) uncheckedOp(b *event.Batch, n, k uint32, o *event.Op) {
	_, prev := causes.VersionOf(b, o)
	switch {
	case o.Kind == event.Read && o.Nothing() && s.Txns[n].Flags&ledger.Unknown != 0: // what it saw is not known
	case o.Kind == event.Read || o.Kind == event.CAS || len(prev) > 0 && s.Keys[k].Flags&ledger.Versioned != 0:
		s.ReadUnchecked(n, k)
	}
}
