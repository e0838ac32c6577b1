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
		s.write(s.touchOf(s.elementKey(k, b.Bytes(o.Value), o.ValueHash)), n, i, o.ValueHash)
	case event.Remove:
		e := s.elementKey(k, b.Bytes(o.Value), o.ValueHash)
		s.deletion(e, n)
		c := s.touchOf(e)
		s.write(c, n, i, s.written(b, t, e, o))
		c.flags |= removed
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

// countVersioned takes a read or write of a register.
func (s *kinds) countVersioned(b *event.Batch, n, i, k uint32, o *event.Op) {
	if s.keys[k].flags&versioned != 0 && o.Kind == event.Read {
		s.readVersion(b, n, i, k, o)
		return
	}
	if o.Kind == event.Write {
		s.writeVersion(b, n, i, k, o, o.ValueHash)
		return
	}
	s.readValue(s.touchOf(k), n, i, o.ValueHash, o.Flags&event.NotFound != 0)
}

// compareAndSet takes a cas. One that succeeded read the value that it expected and then wrote (MTC,
// section V: the chain of lightweight transactions). If it failed, only the value that it reports is
// known.
func (s *kinds) compareAndSet(b *event.Batch, t *event.Txn, n, i, k uint32, o *event.Op) {
	x := &b.Extras[o.Extra]
	c := s.touchOf(k)
	if s.keys[k].flags&versioned != 0 { // values are not versions
		if o.Flags&event.Success != 0 {
			s.expected(b, c, n, i, o)
			s.writeVersion(b, n, i, k, o, o.ValueHash)
		} else {
			s.readVersion(b, n, i, k, o)
		}
		return
	}
	switch {
	case o.Flags&event.Success != 0:
		s.readMaybe(b, c, n, i, x.Expected, x.ExpectedHash)
		s.write(c, n, i, s.written(b, t, k, o))
	case x.Seen.Len > 0:
		s.readMaybe(b, c, n, i, x.Seen, x.SeenHash)
	default:
		s.Counters.Ignored++ // an unexpected value gives no edge
		if c.flags&(hasRead|wrote) == 0 {
			s.readUnchecked(n, k)
		}
	}
}

// expected takes the read of a successful cas where values are not versions. It found nothing,
// or, if it does not name the replaced version, a version that cannot be told.
func (s *kinds) expected(b *event.Batch, c *touch, n, i uint32, o *event.Op) {
	if _, prev := versionOf(b, o); len(prev) > 0 || c.flags&(wrote|hasRead|misread) != 0 {
		return
	}
	if string(b.Bytes(b.Extras[o.Extra].Expected)) == "null" {
		s.readValue(c, n, i, event.Hash{}, true)
	} else {
		s.Counters.Ambiguous++
		s.readOpen(n, OpenNameless)
	}
}

// readMaybe takes what a cas says was there: the text null says that nothing was.
func (s *kinds) readMaybe(b *event.Batch, c *touch, n, i uint32, text event.Span, h event.Hash) {
	if string(b.Bytes(text)) == "null" {
		s.readValue(c, n, i, event.Hash{}, true)
		return
	}
	s.readValue(c, n, i, h, false)
}

// written is the hash of the version that o writes to k, 0 for an unknown key.
func (s *kinds) written(b *event.Batch, t *event.Txn, k uint32, o *event.Op) event.Hash {
	if (o.Kind == event.Delete || o.Kind == event.Remove) && s.keys[k].flags&emptied != 0 && t.Status != event.Aborted {
		return nothingHash()
	}
	if o.Kind != event.Append && !ofElement(o) {
		if version, _ := versionOf(b, o); len(version) > 0 {
			return versionIdentity(version)
		}
		if s.keys[k].flags&versioned != 0 {
			s.nameless = s.nameless || o.Kind == event.Write || o.Kind == event.CAS
		}
		if o.Kind == event.Inc {
			s.nameless = true
			return tombstoneOf(s.inEpoch(b, t, t.IDHash)) // that nobody can have named
		}
	}
	if o.Kind == event.Delete || o.Kind == event.Remove {
		return tombstoneOf(s.inEpoch(b, t, t.IDHash))
	}
	return o.ValueHash
}

// tombstoneOf is the value of the version that a delete leaves. It is made of the transaction's id.
func tombstoneOf(id event.Hash) event.Hash {
	return event.Hash{Lo: id.Lo*0x9e3779b97f4a7c15 ^ 0x746f6d6273746f6e, Hi: ^id.Hi}
}

// deletion notes that n may have deleted k, 0 if the deleter is not known. An empty read there does not
// name the initial version any more. A reader that had ended before n began found the initial version,
// unless somebody else deleted the key.
func (s *registers) deletion(k, n uint32) {
	x := &s.keys[k]
	if x.flags&deleted != 0 {
		x.flags |= deletedAgain
		s.deletedEarlier(k, n)
		return
	}
	x.flags |= deleted
	s.deletes = true
	v := x.initial
	if s.versions[v].flags&ambiguous != 0 {
		return
	}
	again := x.flags&emptied != 0 || s.comesAgain(k)
	if again {
		defer s.empty(k)
	} else {
		s.mark(v, ambiguous, 0)
	}
	if x.flags&foundNothing != 0 && !again {
		s.countAbsent()
	}
	if s.mayKeep(k, n) {
		s.keepEarlier(k, n)
	} else {
		s.out.Ambiguous = append(s.out.Ambiguous, s.valueKey(v))
		s.kill(v, 0, WR)
		for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
			s.killEdges(s.writes[id].version, s.writes[id].txn, RW)
		}
	}
	s.nothingInOrder(k)
	if x.flags&element != 0 && !again {
		s.countRoots(k)
	}
}

// writesVersion says whether o installs a version when its transaction commits.
func writesVersion(o *event.Op) bool {
	switch o.Kind {
	case event.Write, event.Append, event.Insert, event.Delete, event.Add, event.Remove:
		return true
	case event.CAS:
		return o.Flags&event.Success != 0
	}
	return false
}

// ofElement says whether o writes an element of a set.
func ofElement(o *event.Op) bool { return o.Kind == event.Add || o.Kind == event.Remove }

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

// writeVersion takes a write of a register. The write may name its version, and the version that it
// replaced. Otherwise h tells its version.
func (s *kinds) writeVersion(b *event.Batch, n, i, k uint32, o *event.Op, h event.Hash) {
	c := s.touchOf(k)
	version, _ := versionOf(b, o)
	if s.keys[k].flags&versioned != 0 {
		s.replaces(b, c, n, i, o)
		if len(version) > 0 {
			h = versionIdentity(version)
			if o.Kind != event.Inc { // which does not say what the version holds
				s.noteVersion(k, o.ValueHash, h)
				s.wroteColumn(k, h)
				s.toldLater(k, o.ValueHash)
			}
			c.flags &^= nameless
		} else {
			s.nameless = true
			c.flags |= nameless
		}
	}
	if c.flags&wrote != 0 && s.isOrdered(s.writes[c.lastWrite].version) {
		s.unlinkOrdered(s.writes[c.lastWrite].version) // it was intermediate
	}
	s.write(c, n, i, h)
	if s.keys[k].flags&versioned != 0 && len(version) > 0 {
		s.numberText(k, s.writes[c.lastWrite].version, n, version)
	}
}

// toldLater takes back what rests on nobody having written the value. It was read when no operation
// of k had told a version, and now one writes it and tells its own.
func (s *kinds) toldLater(k uint32, h event.Hash) {
	if s.keys[k].flags&plainBefore == 0 {
		return
	}
	if v := s.lookupVersion(k, h); v != 0 && s.versions[v].writes == 0 && s.versions[v].flags&ambiguous == 0 {
		s.wroteAgain(k, h)
	}
}

// byVersionOnly says whether o, a read or write, is one of a register whose versions
// are told by their texts.
func (s *kinds) byVersionOnly(k uint32, o *event.Op) bool {
	return s.keys[k].kind == event.Register || s.keys[k].kind == event.AnyKind && o.Flags&event.IsArray == 0
}
