package infer

import "github.com/isowatch/isowatch/event"

// Operations of other kinds than r, w and append are taken as reads and writes of registers. What is
// true of reads and writes is true of them:
//
//   - insert is a write, delete the write of a tombstone. A tombstone is a version of
//     its own that reads show as nothing (Viper, section 4)
//   - cas reads the value that it expected and writes; a failed one reads what it saw
//   - an element of a set is a register that is there or not; see scan.go
//   - a range is a read of each row, and an empty read of each other key between its
//     bounds; see scan.go
//
// A counter belongs here only if its versions are told; see counter.go and counted.go.

// countOther takes an operation of n, which counts, that is not one of a plain
// register or list, or of a key that is neither.
func (s *kinds) countOther(b *event.Batch, t *event.Txn, n, i uint32, k uint32, o *event.Op) {
	switch o.Kind {
	case event.Read, event.Write:
		if s.keys[k].kind.Parts() {
			s.readSet(b, n, i, k, o)
			return
		}
		if s.isCounter(k) {
			s.readCounter(b, n, i, k, o)
			return
		}
		s.countVersioned(b, n, i, k, o)
	case event.Range:
		s.readRange(b, t, n, i, k, o)
	case event.Inc:
		s.countIncrement(b, t, n, i, k, o)
	case event.Add:
		s.addElement(b, n, i, k, o)
	case event.Remove:
		s.removeElement(b, t, n, i, k, o)
	case event.Insert:
		first := s.touchOf(k).flags&wrote == 0
		s.writeVersion(b, n, i, k, o, o.ValueHash)
		if w := &s.writes[s.touchOf(k).lastWrite]; first { // an insert would have failed on a value that was there
			w.unread, w.absent = false, true
		}
	case event.Delete:
		version, _ := versionOf(b, o)
		if len(version) == 0 {
			s.deletion(k, n)
		} else if !s.toldDeletion(k, n) {
			s.uncheckedOp(b, n, k, o)
			return
		}
		s.writeVersion(b, n, i, k, o, s.written(b, t, k, o))
		if s.keys[k].flags&repeats == 0 {
			s.versions[s.writes[s.touchOf(k).lastWrite].version].flags |= tombstone
		}
		if s.keys[k].flags&versioned == 0 || len(version) == 0 {
			s.touchOf(k).flags |= removed // else a read shows its version
		}
	case event.CAS:
		s.compareAndSet(b, t, n, i, k, o)
	default:
		s.Counters.Ignored++
	}
}

// wroteOther takes back what rests on the writers of the value that o may have
// written to k, which is of another kind or of none.
func (s *kinds) wroteOther(k uint32, o *event.Op) {
	switch o.Kind {
	case event.CAS, event.Insert:
		s.wroteAgain(k, o.ValueHash)
	case event.Add:
		if e := s.lookupKey(elementHash(s.keys[k].hash, o.ValueHash)); e != 0 {
			s.wroteAgain(e, o.ValueHash)
		}
	case event.Remove:
		if e := s.lookupKey(elementHash(s.keys[k].hash, o.ValueHash)); e != 0 {
			s.deletion(e, 0)
		}
	}
}

// byVersionOnly says whether o, a read or write, is one of a register whose versions
// are told by their texts.
func (s *kinds) byVersionOnly(k uint32, o *event.Op) bool {
	return s.keys[k].kind == event.Register || s.keys[k].kind == event.AnyKind && o.Flags&event.IsArray == 0
}
