package causes

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// A replay says that transactions are in no cycle only if it knows the writers of the values that they
// read. Without the one writer of a version there is no edge into its readers, and perhaps none out of
// them.

// Unattributed is a key where n read a value without exactly one known writer, or a key without
// inference. ok is false when there is none. O(reads of n, elements of lists included).
func (s *Causes) Unattributed(n uint32) (key string, ok bool) {
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		v := s.Readers[id].Version
		if x := &s.Versions[v]; s.Readers[id].How == ledger.Perhaps || !s.attributed(v) || s.Keys[x.Key].Kind == event.List && !s.attributedBefore(v) {
			return s.Key(v), true
		}
	}
	b := &s.Scratch
	b.Reset()
	if s.Decoder.DecodeRecord(b, event.Position{}, s.Records.Get(s.Txns[n].Record)) != nil {
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
func (s *Causes) HasRetired(n uint32) bool { return s.Txns[n].Flags&ledger.Retired != 0 }

// attributed says whether the writer of v is known, or it is known that v has none.
func (s *Causes) attributed(v uint32) bool {
	x := &s.Versions[v]
	return s.Keys[x.Key].Flags&ledger.Unsupported == 0 && x.Flags&ledger.Ambiguous == 0 && (x.Writer != 0 || x.Flags&ledger.InitialVersion != 0)
}

// attributedBefore is attributed for the elements before v in its list. A read up to v has read them as
// well.
func (s *Causes) attributedBefore(v uint32) bool {
	if s.Keys[s.Versions[v].Key].Base > 0 {
		return false // frozen elements have left memory
	}
	for v = s.Versions[v].Prev; v != 0; v = s.Versions[v].Prev {
		if !s.attributed(v) {
			return false
		}
	}
	return true
}

// untraced says whether no reader record tells of the read o. It is of a counter, of a key
// without inference, or an empty read where that has several meanings.
func (s *Causes) untraced(b *event.Batch, t *event.Txn, o *event.Op) bool {
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
	if len(s.ByKey.Slots) > 0 {
		k = s.LookupKey(s.InEpoch(b, t, o.KeyHash))
	}
	x := &s.Keys[k]
	switch {
	case k == 0 || x.Flags&(ledger.Unsupported|Loose) != 0 || x.Kind == event.Counter:
		return true
	case x.Kind.Parts():
		return s.Counters.Ambiguous > 0
	}
	return o.Flags&event.NotFound != 0 && (s.Opt.Vacant() || x.Flags&ledger.Deleted != 0)
}

// AnyUnattributed is Unattributed for all readers at once. O(everything).
func (s *Causes) AnyUnattributed() (key string, ok bool) {
	for v := range s.Versions {
		x := &s.Versions[v]
		if x.Key != 0 && (x.Readers != 0 || x.Flags&ledger.Placed != 0) && !s.attributed(uint32(v)) {
			return s.Key(uint32(v)), true
		}
	}
	for k := 1; k < len(s.Keys); k++ {
		if x := &s.Keys[k]; x.Flags&(ledger.Unsupported|Loose) != 0 || x.Kind == event.Counter && x.Count > 0 {
			return s.KeyName(uint32(k)), true
		}
	}
	c := &s.Counters
	return "", c.Unattributed+c.Ambiguous+c.Ignored > 0
}
