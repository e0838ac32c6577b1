package infer

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// ColdKeys moves the hand on to the next key that may go out. It passes at most the given number of
// keys, and counts it down. It returns the key, with the keys that must go together with it, or no key.
// pinned are keys that must stay.
func (s *memory) ColdKeys(visits *int, pinned []uint32) []uint32 {
	for *visits > 0 {
		*visits--
		if s.Spill.Hand++; int(s.Spill.Hand) >= len(s.Keys) {
			s.Spill.Hand = 1
			if len(s.Keys) == 1 {
				return nil
			}
		}
		k := s.Spill.Hand
		x := &s.Keys[k]
		if x.Count == 0 {
			continue
		}
		if x.Flags&ledger.Used != 0 {
			x.Flags &^= ledger.Used
			continue
		}
		if s.coldGroup(k, pinned) {
			return s.Spill.Group
		}
	}
	return nil
}

// coldGroup says whether k may go out together with all other keys of the transactions of unknown
// outcome that it names. Its result is in s.Spill.Group. Whether such a transaction took effect is
// looked up in all its writes and their readers (ObservedSome, proofs). So these keys are in memory
// together, or out. Only its session may hold on to the transaction besides.
func (s *memory) coldGroup(k uint32, pinned []uint32) bool {
	p := &s.Spill
	p.Group, p.Unsure = append(p.Group[:0], k), p.Unsure[:0]
	for i := 0; i < len(p.Group); i++ {
		g := p.Group[i]
		if len(p.Group) > maxGroup || s.Keys[g].Flags&ledger.Used != 0 || contains(pinned, g) || !s.cold(g) {
			return false
		}
		for _, v := range p.Versions {
			for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
				s.joinGroup(s.Writes[id].Txn, 0)
			}
			if n := s.Versions[v].Witness; n != 0 {
				s.joinGroup(n, 1)
			}
		}
	}
	for _, u := range p.Unsure {
		x := &s.Txns[u.Txn]
		if s.Sessions[x.Session].Unsure == u.Txn {
			u.Pins++ // for the order of its session, its ranks are enough
		}
		if x.Pins != u.Pins || x.Due > 0 { // a question names its reads: the answer rests on the transactions that saw it take effect
			return false
		}
	}
	return true
}

// joinGroup adds the keys that n wrote to the group if its outcome is unknown, and
// so many pins.
func (s *memory) joinGroup(n, pins uint32) {
	if s.Txns[n].Flags&ledger.Unknown == 0 {
		return
	}
	p := &s.Spill
	for i := range p.Unsure {
		if p.Unsure[i].Txn == n {
			p.Unsure[i].Pins += pins
			return
		}
	}
	for id := s.Txns[n].Writes; id != 0 && len(p.Group) <= maxGroup; id = s.Writes[id].NextOfTxn {
		pins++
		if k := s.Versions[s.Writes[id].Version].Key; !contains(p.Group, k) {
			p.Group = append(p.Group, k)
		}
	}
	p.Unsure = append(p.Unsure, ledger.Unsure{Txn: n, Pins: pins})
}

func contains(ks []uint32, k uint32) bool {
	for _, x := range ks {
		if x == k {
			return true
		}
	}
	return false
}

// cold says whether k may go out; its versions are then in s.Spill.Versions.
func (s *memory) cold(k uint32) bool {
	x := &s.Keys[k]
	if x.Count > maxSpilledVersions || x.Kind > event.List || x.Flags&ledger.Element != 0 || s.HasRanges() {
		return false // scans look for these
	}
	vs := append(s.Spill.Versions[:0], x.Initial)
	if x.Kind == event.List {
		vs = s.Elements(vs, k)
	}
	for v := *s.KeptHead(k); v != 0 && len(vs) <= int(x.Count); v = s.Versions[v].Sibling {
		vs = append(vs, v)
	}
	s.Spill.Versions = vs
	if len(vs) != int(x.Count) {
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
	x := &s.Versions[v]
	if x.Readers != 0 || x.Due != 0 || x.Flags&ledger.LateReaders != 0 {
		return false
	}
	for id := x.Writes; id != 0; id = s.Writes[id].NextOfVer {
		if !s.coldMember(s.Writes[id].Txn) {
			return false
		}
	}
	return x.Witness == 0 || s.coldMember(x.Witness)
}

// coldMember says whether n has retired and can be named by its id.
func (s *memory) coldMember(n uint32) bool {
	x := &s.Txns[n]
	return x.Flags&ledger.Retired != 0 && x.State == ledger.Counted && x.Id != (event.Hash{})
}
