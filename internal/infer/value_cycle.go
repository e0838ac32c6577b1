package infer

import (
	"math"
	"slices"
)

// A value that was there before comes back: T1 reads 100 and writes 99, T2 reads 99 and writes
// 100. Values alone say that T1 read from T2, and T2 from T1. Where the contract leaves another
// writer of the first 100 (Options.causal), these values do not name their writers: each is
// ambiguous. Time shows the same where T2 began after T1 had ended (readBefore). This file is
// for transactions that overlap.
//
// The way back may lead through a value that its writer did not find. T1 reads 100 and deletes
// the row, T2 inserts 99, T3 reads 99 and writes 100. See fromRoot.

// valueCycle takes in that the write record id is installed. It follows the writes that replaced id's
// own version, and so on. If they lead back to the version that id replaced, all of these values came
// back. O(versions of the key that were replaced before, at most maxVersionCycle). It is O(1) if its
// own version has no successor yet, which is usual when records come in order.
func (g *signs) valueCycle(s *causes, id uint32) {
	w := &s.writes[id]
	k := s.versions[w.version].key
	if !s.opt.causal() || s.keys[k].flags&(versioned|repeats) != 0 {
		return
	}
	if s.isDelete(w) && s.opt.blindIsAmbiguous() {
		if g.fromRoots(s, id); w.blind {
			return
		}
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

// comesBack is the part of valueCycle behind the write record id. It notes the writes that replaced the
// versions on its way.
func (g *signs) comesBack(s *causes, id uint32) bool {
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
				g.cameBack = append(g.cameBack, w.version, w.pred)
				for ; hops[i].parent >= 0; i = hops[i].parent {
					g.cameBack = append(g.cameBack, hops[i].to)
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

// fromRoot makes replaced versions ambiguous if they came back. They go back, by way of the
// write record id, to a root, and the transaction that replaced them may have run before the
// root.
func (g *signs) fromRoot(s *causes, id uint32) {
	emptied := s.keys[s.versions[s.writes[id].version].key].flags&deleted != 0
	if !emptied && s.opt.Complete && !s.opt.Existing {
		g.replaced = slices.DeleteFunc(g.replaced, func(o uint32) bool { return g.heldAnother(s, o) })
	}
	since := int64(math.MaxInt64)
	for _, o := range g.replaced {
		if t := &s.txns[s.writes[o].txn]; t.flags&hasTimes != 0 {
			since = min(since, t.start)
		} else {
			since = math.MinInt64 / 2
		}
	}
	since -= s.opt.ClockDrift
	g.findRoots(s, id, since)
	for _, root := range g.roots {
		x := &s.writes[root]
		known := x.unread || x.absent && g.emptied(s, root) || !x.absent && s.opt.strangers()
		if known || x.absent && s.opt.vacant() {
			g.partCycle(s, root, !known)
		}
	}
}

// partCycle makes replaced versions ambiguous if they may have been replaced before root. A first
// attempt of root's transaction may have no record, and may have left them there. If a transaction
// deleted them that ran at the same time by the clocks, the second attempt found nothing. A transaction
// without a record may have done the same. If unseen is true, only such a delete explains that root
// found nothing.
func (g *signs) partCycle(s *causes, root uint32, unseen bool) {
	x := &s.writes[root]
	tried := s.mayTryAgain(x.txn)
	for _, o := range g.replaced {
		beside := s.txns[s.writes[o].txn].start <= s.txns[x.txn].end
		if unseen && !beside || !g.overlap(s, root, o) {
			continue
		}
		if tried && (x.unread || x.absent && beside && (s.opt.vacant() || s.isDelete(&s.writes[o]))) || !g.heldAnother(s, o) {
			g.cameBack = append(g.cameBack, s.writes[o].pred)
		}
	}
}

// maxRoots bounds the write records of a key that have no known one before them and are looked at for
// a record.
const maxRoots = 64

// emptied says whether somebody may have deleted the key before root, which had found nothing there.
// It looks at deletes behind all roots: between what was replaced and a delete, a value may
// name no writer. O(maxVersionCycle, and what was replaced).
func (g *signs) emptied(s *causes, root uint32) bool {
	deleted := func(o uint32) bool { return s.isDelete(&s.writes[o]) && g.overlap(s, root, o) }
	if slices.ContainsFunc(g.replaced, deleted) {
		return true
	}
	behind := []uint32{s.keys[s.versions[s.writes[root].version].key].initial}
	for i, n := 0, 0; i < len(behind); i++ {
		for o := s.versions[behind[i]].over; o != 0 && n < maxVersionCycle; o, n = s.writes[o].nextOver, n+1 {
			if deleted(o) {
				return true
			}
			if v := s.writes[o].version; s.versions[v].over != 0 {
				behind = append(behind, v)
			}
		}
	}
	return false
}

// fromRoots is fromRoot for the write record id, which deleted the row, and the roots that may have
// found nothing for that. O(maxRoots, and the versions behind these roots).
func (g *signs) fromRoots(s *causes, id uint32) {
	root := s.versions[s.keys[s.versions[s.writes[id].version].key].initial].over
	for n := 0; root != 0 && n < maxRoots; root, n = s.writes[root].nextOver, n+1 {
		if x := &s.writes[root]; x.absent && !x.unread && s.versions[x.version].over != 0 && g.overlap(s, root, id) {
			g.replaced = g.replaced[:0]
			g.comesBack(s, root)
			g.partCycle(s, root, false)
		}
	}
}

// findRoots finds the roots that the version of id goes back to, by the reads and replacements of
// others. A root is a write record whose replaced version is not known. Its transaction had not read
// the key, found nothing there, or read a value that names no version. Behind such a value, only roots
// count for which overlap takes the clock drift. Records on the way have replaced versions too. It does
// not look behind a record whose transaction was over at since. O(transactions in between).
func (g *signs) findRoots(s *causes, id uint32, since int64) {
	g.roots = g.roots[:0]
	unnamed := false
	for range maxVersionCycle {
		w := &s.writes[id]
		if t := &s.txns[w.txn]; w.intermediate || t.flags&hasTimes != 0 && t.end < since {
			return
		}
		if w.blind {
			if !unnamed || w.absent || g.begunLater(s, id) {
				g.roots = append(g.roots, id)
			}
			return
		}
		v := &s.versions[w.pred]
		if v.writer == 0 || v.flags&(ambiguous|initialVersion) != 0 {
			if !unnamed || g.begunLater(s, id) {
				g.roots = append(g.roots, id)
			}
			if v.possible != 1 {
				return
			}
			unnamed = true
		}
		id = v.writes
		for id != 0 && (s.txns[s.writes[id].txn].state != counted || v.writer != 0 && s.writes[id].txn != v.writer) {
			id = s.writes[id].nextOfVer
		}
		if id == 0 {
			return
		}
		if !s.writes[id].blind {
			g.replaced = append(g.replaced, id)
		}
	}
}

// begunLater says whether the write record root replaced a value whose writer began, by its
// record, when root was over. Then clocks differ, or the value had another writer.
func (g *signs) begunLater(s *causes, root uint32) bool {
	w := &s.writes[root]
	if w.unread || w.absent {
		return false
	}
	k := s.versions[w.version].key
	for r := s.txns[w.txn].reads; r != 0; r = s.readers[r].nextOfTxn {
		v := &s.versions[s.readers[r].version]
		if v.key != k || v.flags&ambiguous == 0 {
			continue
		}
		for o := v.writes; o != 0; o = s.writes[o].nextOfVer {
			if p, t := &s.txns[s.writes[o].txn], &s.txns[w.txn]; p.flags&t.flags&hasTimes != 0 && p.start > t.end {
				return true
			}
		}
	}
	return false
}

// overlap says whether the transaction of the write record o may have run before root's. The order of
// their session and the times in their records decide. The clock drift decides if root had found
// nothing in a deleted row, or a value that names no writer.
func (g *signs) overlap(s *causes, root, o uint32) bool {
	a, b := s.writes[root].txn, s.writes[o].txn
	w, r := &s.txns[a], &s.txns[b]
	slack := int64(0)
	if s.writes[root].absent || g.begunLater(s, root) {
		slack = s.opt.ClockDrift
	}
	return a != b && (w.flags&r.flags&hasTimes == 0 || r.start <= w.end || r.start-w.end <= slack) && !beforeInSession(w, r)
}

// heldAnother is about the transaction of the write record o. It says whether the key is known to have
// held another value, before that transaction ran, than the value that it replaced.
func (g *signs) heldAnother(s *causes, o uint32) bool {
	v, r := &s.versions[s.writes[o].pred], &s.txns[s.writes[o].txn]
	return r.flags&hasTimes != 0 && g.stood.held(v.key, heldBy(v.hash, false), r.start, s.opt.ClockDrift)
}

// settleCameBack makes the versions that came back ambiguous, at the end of a record.
func (s *registers) settleCameBack() {
	for _, v := range s.signs.cameBack {
		if s.versions[v].flags&(ambiguous|initialVersion) == 0 && s.versions[v].key != 0 {
			s.makeAmbiguous(v)
		}
	}
	s.signs.cameBack = s.signs.cameBack[:0]
}
