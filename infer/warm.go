package infer

import "github.com/isowatch/isowatch/event"

// At 64,000 live transactions the tables are larger than the caches, and a
// transaction touches some thirty places in them, most of them through another
// one. Looking the places of many transactions up first, in loops whose rounds
// do not depend on each other, lets the processor wait for several at a time.
// The results are thrown away: the work itself finds them again, now nearby.

// Warm looks up what [State.Add] of these transactions will need.
func (s *State) Warm(b *event.Batch, txns []int32) {
	if len(s.byKey.slots) == 0 || len(s.byVersion.slots) == 0 || len(s.byID.slots) == 0 {
		return
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
			s.warmKeys = append(s.warmKeys, warmKey{uint32(slot), ops[j].ValueHash})
			if ops[j].Kind != event.Read {
				sum += s.values.warm(versionHash(0, ops[j].ValueHash) ^ h)
			}
		}
	}
	for i := range s.warmKeys {
		w := &s.warmKeys[i]
		h := versionHash(w.key, w.hash)
		slot := s.byVersion.slots[fingerprint(h)&uint32(len(s.byVersion.slots)-1)]
		w.key = uint32(slot)
	}
	for i := range s.warmKeys {
		if v := s.warmKeys[i].key; int(v) < len(s.versions) {
			sum += uint64(s.versions[v].writes) + uint64(s.versions[v].flags)
		}
	}
	s.warmed = sum
}

// warmKey is the key of an operation where it stands first in its place of the
// table, which it mostly does, and its value.
type warmKey struct {
	key  uint32
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
