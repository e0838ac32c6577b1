package infer

import (
	"github.com/isowatch/isowatch/event"
)

// ColdKeys moves the hand on to the next key that may go out. It passes at most the given number of
// keys, and counts it down. It returns the key, with the keys that must go together with it, or no key.
// pinned are keys that must stay.
func (s *memory) ColdKeys(visits *int, pinned []uint32) []uint32 {
	for *visits > 0 {
		*visits--
		if s.spill.hand++; int(s.spill.hand) >= len(s.keys) {
			s.spill.hand = 1
			if len(s.keys) == 1 {
				return nil
			}
		}
		k := s.spill.hand
		x := &s.keys[k]
		if x.count == 0 {
			continue
		}
		if x.flags&used != 0 {
			x.flags &^= used
			continue
		}
		if s.coldGroup(k, pinned) {
			return s.spill.group
		}
	}
	return nil
}

// coldGroup says whether k may go out together with all other keys of the transactions of unknown
// outcome that it names. Its result is in s.spill.group. Whether such a transaction took effect is
// looked up in all its writes and their readers (observedSome, proofs). So these keys are in memory
// together, or out. Only its session may hold on to the transaction besides.
func (s *memory) coldGroup(k uint32, pinned []uint32) bool {
	p := &s.spill
	p.group, p.unsure = append(p.group[:0], k), p.unsure[:0]
	for i := 0; i < len(p.group); i++ {
		g := p.group[i]
		if len(p.group) > maxGroup || s.keys[g].flags&used != 0 || contains(pinned, g) || !s.cold(g) {
			return false
		}
		for _, v := range p.versions {
			for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
				s.joinGroup(s.writes[id].txn, 0)
			}
			if n := s.versions[v].witness; n != 0 {
				s.joinGroup(n, 1)
			}
		}
	}
	for _, u := range p.unsure {
		x := &s.txns[u.txn]
		if s.sessions[x.session].unsure == u.txn {
			u.pins++ // for the order of its session, its ranks are enough
		}
		if x.pins != u.pins || x.due > 0 { // a question names its reads: the answer rests on the transactions that saw it take effect
			return false
		}
	}
	return true
}

// unsure is a transaction of unknown outcome in a group, and what of its pins is
// known.
type unsure struct{ txn, pins uint32 }

// joinGroup adds the keys that n wrote to the group if its outcome is unknown, and
// so many pins.
func (s *memory) joinGroup(n, pins uint32) {
	if s.txns[n].flags&unknown == 0 {
		return
	}
	p := &s.spill
	for i := range p.unsure {
		if p.unsure[i].txn == n {
			p.unsure[i].pins += pins
			return
		}
	}
	for id := s.txns[n].writes; id != 0 && len(p.group) <= maxGroup; id = s.writes[id].nextOfTxn {
		pins++
		if k := s.versions[s.writes[id].version].key; !contains(p.group, k) {
			p.group = append(p.group, k)
		}
	}
	p.unsure = append(p.unsure, unsure{n, pins})
}

func contains(ks []uint32, k uint32) bool {
	for _, x := range ks {
		if x == k {
			return true
		}
	}
	return false
}

// cold says whether k may go out; its versions are then in s.spill.versions.
func (s *memory) cold(k uint32) bool {
	x := &s.keys[k]
	if x.count > maxSpilledVersions || x.kind > event.List || x.flags&element != 0 || len(s.ordered) > 0 {
		return false // scans look for these
	}
	vs := append(s.spill.versions[:0], x.initial)
	if x.kind == event.List {
		vs = s.elements(vs, k)
	}
	for v := *s.keptHead(k); v != 0 && len(vs) <= int(x.count); v = s.versions[v].sibling {
		vs = append(vs, v)
	}
	s.spill.versions = vs
	if len(vs) != int(x.count) {
		return false
	}
	for _, v := range vs {
		if !s.coldVersion(v) {
			return false
		}
	}
	return true
}

func (s *memory) coldVersion(v uint32) bool {
	x := &s.versions[v]
	if x.readers != 0 || x.due != 0 || x.flags&lateReaders != 0 {
		return false
	}
	for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
		if !s.coldMember(s.writes[id].txn) {
			return false
		}
	}
	return x.witness == 0 || s.coldMember(x.witness)
}

// coldMember says whether n has retired and can be named by its id.
func (s *memory) coldMember(n uint32) bool {
	x := &s.txns[n]
	return x.flags&retired != 0 && x.state == counted && x.id != (event.Hash{})
}
