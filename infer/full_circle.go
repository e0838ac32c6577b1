package infer

// A value that was there before comes back: T1 reads 100 and writes 99, T2 reads 99 and writes
// 100. Values alone say that T1 read from T2, and T2 from T1. Where the contract leaves another
// writer of the first 100 (Options.causal), these values do not name their writers: each is
// ambiguous. Time shows the same where T2 began after T1 had ended (readBefore). This file is
// for transactions that overlap.

// fullCircle takes in that the write record id has replaced the version before. It follows the
// writes that replaced id's own version, and so on. If they lead back to the version before,
// all of these values came back. Only writes are followed whose transaction began before id's
// had ended: the others are told by their time. O(versions of the key that live within that).
// It is O(1) where its own version has no successor yet, as mostly when records come in order.
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
