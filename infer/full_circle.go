package infer

// A value that was there before comes back: T1 reads 100 and writes 99, T2 reads 99 and writes 100.
// Values alone say that T1 read from T2, and T2 from T1. Where the contract leaves another writer of
// the first 100 (Options.causal), none of these values names its writer: each is ambiguous. Time shows
// the same where T2 began after T1 had ended (readBefore); this is for those that overlap.

// fullCircle takes in that the write record id has replaced the version before: if what replaced its
// own version, and so on, leads back to that one, all of them came back. Only those are followed that
// began before its transaction had ended: the others are told by their time.
// O(versions of the key that live within that), and O(1) where nothing has replaced its own version yet,
// as mostly when records come in order.
func (g *signs) fullCircle(s *State, id uint32) {
	w := &s.writes[id]
	if !s.opt.causal() || w.blind || s.versions[w.version].over == 0 || s.keys[s.versions[w.version].key].flags&(versioned|repeats) != 0 {
		return
	}
	hops := []hop{{to: w.version, parent: -1}}
	seen := map[uint32]bool{w.version: true}
	for i := 0; i < len(hops) && i < maxVersionCycle; i++ {
		for o := s.versions[hops[i].to].over; o != 0; o = s.writes[o].nextOver {
			x := &s.writes[o]
			if x.version == w.pred || x.version == w.version {
				g.circled = append(g.circled, w.version, w.pred)
				for ; hops[i].parent >= 0; i = hops[i].parent {
					g.circled = append(g.circled, hops[i].to)
				}
				return
			}
			if !x.blind && !seen[x.version] && !s.endedBefore(w.txn, x.txn) {
				seen[x.version] = true
				hops = append(hops, hop{to: x.version, parent: i})
			}
		}
	}
}

// settleCircles makes the versions that came back ambiguous, at the end of a record.
func (g *signs) settleCircles(s *State) {
	for _, v := range g.circled {
		if s.versions[v].flags&(ambiguous|initialVersion) == 0 && s.versions[v].key != 0 {
			s.makeAmbiguous(v)
		}
	}
	g.circled = g.circled[:0]
}
