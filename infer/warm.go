package infer

import "github.com/isowatch/isowatch/event"

// At 64,000 live transactions the tables are larger than the caches, and a
// transaction touches some thirty places in them, most of them through another
// one. Looking the places of many transactions up first, in loops whose rounds
// do not depend on each other, lets the processor wait for several at a time.
// The results are thrown away: the work itself finds them again, now nearby.

// Warm looks up what [State.Add] of these transactions will need. It returns the
// transactions that edges will mostly join them with, valid until the next call.
func (s *State) Warm(b *event.Batch, txns []int32) []uint32 {
	s.warmTxns = s.warmTxns[:0]
	if len(s.byKey.slots) == 0 || len(s.byVersion.slots) == 0 || len(s.byID.slots) == 0 {
		return nil
	}
	s.warmKeys = s.warmKeys[:0]
	sum := uint64(0)
	for _, i := range txns {
		t := &b.Txns[i]
		x := fingerprint(t.IDHash.Lo) & uint32(len(s.byID.slots)-1)
		sum += s.byID.slots[x]
		ops := b.OpsOf(t)
		if len(ops) > 16 {
			continue // its own operations overlap well enough
		}
		for j := range ops {
			h := ops[j].KeyHash.Lo
			slot := s.byKey.slots[fingerprint(h)&uint32(len(s.byKey.slots)-1)]
			read := ops[j].Kind == event.Read
			s.warmKeys = append(s.warmKeys, warmKey{uint32(slot), read, ops[j].ValueHash})
			if !read {
				sum += s.values.warm(versionHash(0, ops[j].ValueHash) ^ h)
			}
		}
	}
	for i := range s.warmKeys {
		w := &s.warmKeys[i]
		h := versionHash(w.at, w.hash)
		sum += uint64(s.keys[w.at].stamp) + s.keys[w.at].hash.Lo
		w.at = uint32(s.byVersion.slots[fingerprint(h)&uint32(len(s.byVersion.slots)-1)])
	}
	for i := range s.warmKeys {
		w := &s.warmKeys[i]
		if int(w.at) >= len(s.versions) {
			w.at = 0
		}
		v := &s.versions[w.at]
		sum += uint64(v.flags) + v.hash.Lo
		if v.writer != 0 {
			s.warmTxns = append(s.warmTxns, v.writer)
		}
		w.at = v.readers
	}
	for range warmReaders {
		for i := range s.warmKeys {
			w := &s.warmKeys[i]
			if w.at == 0 {
				continue
			}
			r := &s.readers[w.at]
			w.at = r.next
			s.warmTxns = append(s.warmTxns, r.txn)
		}
	}
	s.warmed = sum
	return s.warmTxns
}

// warmReaders is how many readers of a version are looked up: most versions have
// no more when they are overwritten.
const warmReaders = 3

// warmKey is where an operation leads: to a key, to its version, to readers of it,
// each where it stands first in its place of the table, which it mostly does.
type warmKey struct {
	at   uint32
	read bool
	hash event.Hash
}

// WarmRetire looks up what [State.Retire] of these transactions will need.
func (s *State) WarmRetire(ns []uint32) {
	sum := uint64(0)
	for _, n := range ns {
		t := &s.txns[n]
		sum += uint64(t.pins) + t.id.Lo
	}
	for _, n := range ns {
		t := &s.txns[n]
		if t.reads != 0 {
			sum += uint64(s.versions[s.readers[t.reads].version].readers)
		}
		if t.writes != 0 {
			sum += uint64(s.versions[s.writes[t.writes].version].flags)
		}
	}
	for _, n := range ns {
		if len(s.byID.slots) > 0 {
			sum += s.byID.slots[fingerprint(s.txns[n].id.Lo)&uint32(len(s.byID.slots)-1)]
		}
		sum += s.ids.warm(s.txns[n].id.Lo)
	}
	s.warmed = sum
}

func (f *filter) warm(h uint64) (sum uint64) {
	at := mix(max(h, 1))
	for i := range f.panes {
		sum += f.panes[i].slots[at&uint64(len(f.panes[i].slots)-1)]
	}
	return sum
}
