package infer

import "github.com/isowatch/isowatch/event"

// countVersioned takes a read or write of a register.
func (s *registers) countVersioned(b *event.Batch, n, i, k uint32, o *event.Op) {
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
func (s *registers) compareAndSet(b *event.Batch, t *event.Txn, n, i, k uint32, o *event.Op) {
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
func (s *registers) expected(b *event.Batch, c *touch, n, i uint32, o *event.Op) {
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
func (s *registers) readMaybe(b *event.Batch, c *touch, n, i uint32, text event.Span, h event.Hash) {
	if string(b.Bytes(text)) == "null" {
		s.readValue(c, n, i, event.Hash{}, true)
		return
	}
	s.readValue(c, n, i, h, false)
}

// written is the hash of the version that o writes to k, 0 for an unknown key.
func (s *registers) written(b *event.Batch, t *event.Txn, k uint32, o *event.Op) event.Hash {
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

// writeVersion takes a write of a register. The write may name its version, and the version that it
// replaced. Otherwise h tells its version.
func (s *registers) writeVersion(b *event.Batch, n, i, k uint32, o *event.Op, h event.Hash) {
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
func (s *registers) toldLater(k uint32, h event.Hash) {
	if s.keys[k].flags&plainBefore == 0 {
		return
	}
	if v := s.lookupVersion(k, h); v != 0 && s.versions[v].writes == 0 && s.versions[v].flags&ambiguous == 0 {
		s.wroteAgain(k, h)
	}
}

// wroteAgain takes back conclusions that rest on the known writers of the value. An operation from
// which nothing else is concluded may have written the value as well.
func (s *registers) wroteAgain(k uint32, h event.Hash) {
	v := s.lookupVersion(k, h)
	if v == 0 {
		s.out.Ambiguous = append(s.out.Ambiguous, versionHash(0, h)^s.keys[k].hash.Lo)
		return
	}
	s.out.Ambiguous = append(s.out.Ambiguous, s.valueKey(v))
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if w := s.writes[id].txn; s.txns[w].state == counted && s.txns[w].flags&unknown != 0 {
			s.demote = append(s.demote, w)
		}
	}
	s.makeAmbiguous(v)
}
