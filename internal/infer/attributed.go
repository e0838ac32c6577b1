package infer

import "github.com/isowatch/isowatch/event"

// A replay says that transactions are in no cycle only if it knows the writers of the values that they
// read. Without the one writer of a version there is no edge into its readers, and perhaps none out of
// them.

// Unattributed is a key where n read a value without exactly one known writer, or a key without
// inference. ok is false when there is none. O(reads of n, elements of lists included).
func (s *causes) Unattributed(n uint32) (key string, ok bool) {
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		v := s.readers[id].version
		if x := &s.versions[v]; s.readers[id].how == perhaps || !s.attributed(v) || s.keys[x.key].kind == event.List && !s.attributedBefore(v) {
			return s.Key(v), true
		}
	}
	b := &s.scratch
	b.Reset()
	if s.decoder.DecodeRecord(b, event.Position{}, s.records.get(s.txns[n].record)) != nil {
		return "", true // not possible: the record was written by AppendRecord
	}
	t := &b.Txns[0]
	for _, o := range b.OpsOf(t) {
		if s.untraced(b, t, &o) {
			return b.Text(o.Key), true
		}
	}
	return "", false
}

// HasRetired says whether n has left the window, and what it read may be forgotten.
func (s *causes) HasRetired(n uint32) bool { return s.txns[n].flags&retired != 0 }

// attributed says whether the writer of v is known, or it is known that v has none.
func (s *causes) attributed(v uint32) bool {
	x := &s.versions[v]
	return s.keys[x.key].flags&unsupported == 0 && x.flags&ambiguous == 0 && (x.writer != 0 || x.flags&initialVersion != 0)
}

// attributedBefore is attributed for the elements before v in its list. A read up to v has read them as
// well.
func (s *causes) attributedBefore(v uint32) bool {
	if s.keys[s.versions[v].key].base > 0 {
		return false // frozen elements have left memory
	}
	for v = s.versions[v].prev; v != 0; v = s.versions[v].prev {
		if !s.attributed(v) {
			return false
		}
	}
	return true
}

// untraced says whether no reader record tells of the read o. It is of a counter, of a key
// without inference, or an empty read where that has several meanings.
func (s *causes) untraced(b *event.Batch, t *event.Txn, o *event.Op) bool {
	switch o.Kind {
	case event.Range:
		return s.Counters.Ambiguous+s.Counters.Ignored > 0
	case event.CAS:
		if o.Flags&event.Success == 0 && b.Extras[o.Extra].Seen.Len == 0 {
			return true
		}
	case event.Read:
	default:
		return false
	}
	k := uint32(0)
	if len(s.byKey.slots) > 0 {
		k = s.lookupKey(s.inEpoch(b, t, o.KeyHash))
	}
	x := &s.keys[k]
	switch {
	case k == 0 || x.flags&(unsupported|loose) != 0 || x.kind == event.Counter:
		return true
	case x.kind.Parts():
		return s.Counters.Ambiguous > 0
	}
	return o.Flags&event.NotFound != 0 && (s.opt.vacant() || x.flags&deleted != 0)
}

// AnyUnattributed is Unattributed for all readers at once. O(everything).
func (s *causes) AnyUnattributed() (key string, ok bool) {
	for v := range s.versions {
		x := &s.versions[v]
		if x.key != 0 && (x.readers != 0 || x.flags&placed != 0) && !s.attributed(uint32(v)) {
			return s.Key(uint32(v)), true
		}
	}
	for k := 1; k < len(s.keys); k++ {
		if x := &s.keys[k]; x.flags&(unsupported|loose) != 0 || x.kind == event.Counter && x.count > 0 {
			return s.KeyName(uint32(k)), true
		}
	}
	c := &s.Counters
	return "", c.Unattributed+c.Ambiguous+c.Ignored > 0
}
