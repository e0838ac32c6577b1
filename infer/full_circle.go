package infer

import (
	"math"
	"slices"
)

// A value that was there before comes back: T1 reads 100 and writes 99, T2 reads 99 and writes 100.
// Values alone say that T1 read from T2, and T2 from T1. Where the contract leaves another writer of
// the first 100 (Options.causal), none of these values names its writer: each is ambiguous. Time shows
// the same where T2 began after T1 had ended (readBefore); this is for those that overlap.
//
// The way back may lead through a value that the writer of it did not find: T1 reads 100 and deletes
// the row, T2 inserts 99, T3 reads 99 and writes 100. See fromRoot.

// fullCircle takes in that the write record id is installed: if what replaced its own version, and so
// on, leads back to the one that it replaced, all of them came back.
// O(versions of the key that were replaced before, at most maxVersionCycle), and O(1) where nothing has
// replaced its own version yet, as mostly when records come in order.
func (g *signs) fullCircle(s *State, id uint32) {
	w := &s.writes[id]
	k := s.versions[w.version].key
	if !s.opt.causal() || s.keys[k].flags&(versioned|repeats) != 0 {
		return
	}
	g.replaced = g.replaced[:0]
	if !w.blind {
		g.replaced = append(g.replaced, id)
	}
	if s.versions[w.version].over != 0 && g.comesBack(s, id) {
		return
	}
	if len(g.replaced) > 0 && s.opt.blindIsAmbiguous() {
		g.fromRoot(s, id)
	}
}

// comesBack is the part of fullCircle behind the write record id. It notes who replaced the versions
// there.
func (g *signs) comesBack(s *State, id uint32) bool {
	w := &s.writes[id]
	hops := []hop{{to: w.version, parent: -1}}
	seen := map[uint32]bool{w.version: true}
	for i := 0; i < len(hops) && i < maxVersionCycle; i++ {
		for o := s.versions[hops[i].to].over; o != 0; o = s.writes[o].nextOver {
			x := &s.writes[o]
			if x.blind {
				continue
			}
			if !w.blind && x.version == w.pred {
				g.circled = append(g.circled, w.version, w.pred)
				for ; hops[i].parent >= 0; i = hops[i].parent {
					g.circled = append(g.circled, hops[i].to)
				}
				return true
			}
			g.replaced = append(g.replaced, o)
			if !seen[x.version] {
				seen[x.version] = true
				hops = append(hops, hop{to: x.version, parent: i})
			}
		}
	}
	return false
}

// fromRoot makes those of the replaced versions ambiguous that came back: they go back, by way of the
// write record id, to a root, and who replaced them may have run before that.
func (g *signs) fromRoot(s *State, id uint32) {
	since := int64(math.MaxInt64)
	for _, o := range g.replaced {
		if t := &s.txns[s.writes[o].txn]; t.flags&hasTimes != 0 {
			since = min(since, t.start)
		} else {
			since = math.MinInt64
		}
	}
	root := g.root(s, id, since)
	if root == 0 {
		return
	}
	if s.writes[root].absent && !slices.ContainsFunc(g.replaced, func(o uint32) bool { return s.isDelete(&s.writes[o]) && g.overlap(s, root, o) }) {
		return // nobody deleted the row in between
	}
	for _, o := range g.replaced {
		if g.beforeRoot(s, root, o) {
			g.circled = append(g.circled, s.writes[o].pred)
		}
	}
}

// root is the write record that the version of id goes back to, by what others read and replaced, and
// of which it is not known what it replaced: it had not read the key, or found nothing there. Those
// on the way have replaced versions too. It is 0 if one on the way was over at since.
// O(transactions in between).
func (g *signs) root(s *State, id uint32, since int64) uint32 {
	for range maxVersionCycle {
		w := &s.writes[id]
		if t := &s.txns[w.txn]; t.flags&hasTimes != 0 && t.end < since {
			return 0
		}
		if w.blind {
			if w.unread || w.absent {
				return id
			}
			return 0
		}
		v := &s.versions[w.pred]
		if v.writer == 0 || v.flags&(ambiguous|initialVersion) != 0 {
			return 0
		}
		if id = s.writeOf(v.writer, w.pred); id == 0 || s.writes[id].intermediate {
			return 0
		}
		if !s.writes[id].blind {
			g.replaced = append(g.replaced, id)
		}
	}
	return 0
}

// overlap says whether the transaction of the write record o may have run before that of root, by
// their records and their session.
func (g *signs) overlap(s *State, root, o uint32) bool {
	a, b := s.writes[root].txn, s.writes[o].txn
	w, r := &s.txns[a], &s.txns[b]
	return a != b && (w.flags&r.flags&hasTimes == 0 || r.start <= w.end) && !beforeInSession(w, r)
}

// beforeRoot says whether what the write record o replaced may have been there before root.
func (g *signs) beforeRoot(s *State, root, o uint32) bool {
	v, r := &s.versions[s.writes[o].pred], &s.txns[s.writes[o].txn]
	return g.overlap(s, root, o) && (r.flags&hasTimes == 0 || !g.stood.held(v.key, heldBy(v.hash, false), r.start, s.opt.ClockDrift))
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
