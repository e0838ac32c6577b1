package causes

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// A value that was there before comes back: T1 reads 100 and writes 99, T2 reads 99 and writes
// 100. Values alone say that T1 read from T2, and T2 from T1. Where the contract leaves another
// writer of the first 100 (Options.Causal), these values do not name their writers: each is
// ambiguous. Time shows the same where T2 began after T1 had ended (ReadBefore). This file is
// for transactions that overlap.
//
// The way back may lead through a value that its writer did not find. T1 reads 100 and deletes
// the row, T2 inserts 99, T3 reads 99 and writes 100. See fromRoot.

// ValueCycle takes in that the write record id is installed. It follows the writes that replaced id's
// own version, and so on. If they lead back to the version that id replaced, all of these values came
// back. O(versions of the key that were replaced before, at most MaxVersionCycle). It is O(1) if its
// own version has no successor yet, which is usual when records come in order.
func (g *signs) ValueCycle(s *Causes, id uint32) {
	w := &s.Writes[id]
	k := s.Versions[w.Version].Key
	if !s.Opt.Causal() || s.Keys[k].Flags&(ledger.Versioned|ledger.Repeats) != 0 {
		return
	}
	if s.IsDelete(w) && s.Opt.BlindIsAmbiguous() {
		if g.fromRoots(s, id); w.Blind {
			return
		}
	}
	g.replaced = g.replaced[:0]
	if !w.Blind {
		g.replaced = append(g.replaced, id)
	}
	if (s.Versions[w.Version].Over != 0 || s.Txns[w.Txn].Flags&ledger.Rewrote != 0) && g.comesBack(s, id) {
		return
	}
	if len(g.replaced) > 0 && s.Opt.BlindIsAmbiguous() {
		g.fromRoot(s, id)
	}
}

// maxRewritten bounds the write records of a transaction that are looked at for what it replaced itself, the latest
// first. Each of its writes looks, so a long transaction costs a multiple of its length.
const maxRewritten = 64

// comesBack is the part of ValueCycle behind the write record id. It notes the writes that replaced the
// versions on its way. A transaction that put the value back may have replaced it again itself.
func (g *signs) comesBack(s *Causes, id uint32) bool {
	w := &s.Writes[id]
	k := s.Versions[w.Version].Key
	hops := []Hop{{To: w.Version, Parent: -1}}
	seen := map[uint32]bool{w.Version: true}
	rewritten := func(by uint32, parent int) {
		if s.Txns[by].Flags&ledger.Rewrote == 0 {
			return
		}
		for x, n := s.Txns[by].Writes, 0; x != 0 && n < maxRewritten; x, n = s.Writes[x].NextOfTxn, n+1 {
			if v := s.Writes[x].Version; s.Writes[x].Intermediate && s.Versions[v].Key == k && !seen[v] {
				seen[v] = true
				hops = append(hops, Hop{To: v, Parent: parent})
			}
		}
	}
	rewritten(w.Txn, -1)
	wrote := func(by, v uint32) bool {
		return s.Versions[v].Flags&ledger.OverwrittenByWriter != 0 && s.Versions[v].Writer == by
	}
	for i := 0; i < len(hops) && i < MaxVersionCycle; i++ {
		for o := s.Versions[hops[i].To].Over; o != 0; o = s.Writes[o].NextOver {
			x := &s.Writes[o]
			if x.Blind {
				continue
			}
			if !w.Blind && (x.Version == w.Pred || wrote(x.Txn, w.Pred)) {
				g.CameBack = append(g.CameBack, w.Pred)
				for ; i >= 0; i = hops[i].Parent {
					g.CameBack = append(g.CameBack, hops[i].To)
				}
				return true
			}
			g.replaced = append(g.replaced, o)
			if !seen[x.Version] {
				seen[x.Version] = true
				hops = append(hops, Hop{To: x.Version, Parent: i})
			}
			rewritten(x.Txn, i)
		}
	}
	return false
}

// fromRoot makes replaced versions ambiguous if they came back. They go back, by way of the
// write record id, to a root, and the transaction that replaced them may have run before the
// root.
func (g *signs) fromRoot(s *Causes, id uint32) {
	emptied := s.Keys[s.Versions[s.Writes[id].Version].Key].Flags&ledger.Deleted != 0
	if !emptied && s.Opt.Complete && !s.Opt.Existing {
		g.replaced = slices.DeleteFunc(g.replaced, func(o uint32) bool { return g.heldAnother(s, o) })
	}
	since := int64(math.MaxInt64)
	for _, o := range g.replaced {
		if t := &s.Txns[s.Writes[o].Txn]; t.Flags&ledger.HasTimes != 0 {
			since = min(since, t.Start)
		} else {
			since = math.MinInt64 / 2
		}
	}
	since -= s.Opt.ClockDrift
	g.findRoots(s, id, since)
	for _, root := range g.roots {
		x := &s.Writes[root]
		known := x.Unread || x.Absent && g.emptied(s, root) || !x.Absent && s.Opt.Strangers()
		if known || x.Absent && s.Opt.Vacant() {
			g.partCycle(s, root, !known)
		}
	}
}

// partCycle makes replaced versions ambiguous if they may have been replaced before root. A first
// attempt of root's transaction may have no record, and may have left them there. If a transaction
// deleted them that ran at the same time by the clocks, the second attempt found nothing. A transaction
// without a record may have done the same. If unseen is true, only such a delete explains that root
// found nothing.
func (g *signs) partCycle(s *Causes, root uint32, unseen bool) {
	x := &s.Writes[root]
	tried := s.mayTryAgain(x.Txn)
	for _, o := range g.replaced {
		beside := s.Txns[s.Writes[o].Txn].Start <= s.Txns[x.Txn].End
		if unseen && !beside || !g.overlap(s, root, o) {
			continue
		}
		if tried && (x.Unread || x.Absent && beside && (s.Opt.Vacant() || s.IsDelete(&s.Writes[o]))) || !g.heldAnother(s, o) {
			g.CameBack = append(g.CameBack, s.Writes[o].Pred)
		}
	}
}

// maxRoots bounds the write records of a key that have no known one before them and are looked at for
// a record.
const maxRoots = 64

// emptied says whether somebody may have deleted the key before root, which had found nothing there.
// It looks at deletes behind all roots: between what was replaced and a delete, a value may
// name no writer. O(MaxVersionCycle, and what was replaced).
func (g *signs) emptied(s *Causes, root uint32) bool {
	deleted := func(o uint32) bool { return s.IsDelete(&s.Writes[o]) && g.overlap(s, root, o) }
	if slices.ContainsFunc(g.replaced, deleted) {
		return true
	}
	behind := []uint32{s.Keys[s.Versions[s.Writes[root].Version].Key].Initial}
	for i, n := 0, 0; i < len(behind); i++ {
		for o := s.Versions[behind[i]].Over; o != 0 && n < MaxVersionCycle; o, n = s.Writes[o].NextOver, n+1 {
			if deleted(o) {
				return true
			}
			if v := s.Writes[o].Version; s.Versions[v].Over != 0 {
				behind = append(behind, v)
			}
		}
	}
	return false
}

// fromRoots is fromRoot for the write record id, which deleted the row, and the roots that may have
// found nothing for that. O(maxRoots, and the versions behind these roots).
func (g *signs) fromRoots(s *Causes, id uint32) {
	root := s.Versions[s.Keys[s.Versions[s.Writes[id].Version].Key].Initial].Over
	for n := 0; root != 0 && n < maxRoots; root, n = s.Writes[root].NextOver, n+1 {
		if x := &s.Writes[root]; x.Absent && !x.Unread && s.Versions[x.Version].Over != 0 && g.overlap(s, root, id) {
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
func (g *signs) findRoots(s *Causes, id uint32, since int64) {
	g.roots = g.roots[:0]
	unnamed := false
	for range MaxVersionCycle {
		w := &s.Writes[id]
		if t := &s.Txns[w.Txn]; w.Intermediate || t.Flags&ledger.HasTimes != 0 && t.End < since {
			return
		}
		if w.Blind {
			if !unnamed || w.Absent || g.begunLater(s, id) {
				g.roots = append(g.roots, id)
			}
			return
		}
		v := &s.Versions[w.Pred]
		if v.Writer == 0 || v.Flags&(ledger.Ambiguous|ledger.InitialVersion) != 0 {
			if !unnamed || g.begunLater(s, id) {
				g.roots = append(g.roots, id)
			}
			if v.Possible != 1 {
				return
			}
			unnamed = true
		}
		id = v.Writes
		for id != 0 && (s.Txns[s.Writes[id].Txn].State != ledger.Counted || v.Writer != 0 && s.Writes[id].Txn != v.Writer) {
			id = s.Writes[id].NextOfVer
		}
		if id == 0 {
			return
		}
		if !s.Writes[id].Blind {
			g.replaced = append(g.replaced, id)
		}
	}
}

// begunLater says whether the write record root replaced a value whose writer began, by its
// record, when root was over. Then clocks differ, or the value had another writer.
func (g *signs) begunLater(s *Causes, root uint32) bool {
	w := &s.Writes[root]
	if w.Unread || w.Absent {
		return false
	}
	k := s.Versions[w.Version].Key
	for r := s.Txns[w.Txn].Reads; r != 0; r = s.Readers[r].NextOfTxn {
		v := &s.Versions[s.Readers[r].Version]
		if v.Key != k || v.Flags&ledger.Ambiguous == 0 {
			continue
		}
		for o := v.Writes; o != 0; o = s.Writes[o].NextOfVer {
			if p, t := &s.Txns[s.Writes[o].Txn], &s.Txns[w.Txn]; p.Flags&t.Flags&ledger.HasTimes != 0 && p.Start > t.End {
				return true
			}
		}
	}
	return false
}

// overlap says whether the transaction of the write record o may have run before root's. The order of
// their session and the times in their records decide. The clock drift decides if root had found
// nothing in a deleted row, or a value that names no writer.
func (g *signs) overlap(s *Causes, root, o uint32) bool {
	a, b := s.Writes[root].Txn, s.Writes[o].Txn
	w, r := &s.Txns[a], &s.Txns[b]
	slack := int64(0)
	if s.Writes[root].Absent || g.begunLater(s, root) {
		slack = s.Opt.ClockDrift
	}
	return a != b && (w.Flags&r.Flags&ledger.HasTimes == 0 || r.Start <= w.End || r.Start-w.End <= slack) && !beforeInSession(w, r)
}

// heldAnother is about the transaction of the write record o. It says whether the key is known to have
// held another value, before that transaction ran, than the value that it replaced.
func (g *signs) heldAnother(s *Causes, o uint32) bool {
	v, r := &s.Versions[s.Writes[o].Pred], &s.Txns[s.Writes[o].Txn]
	return r.Flags&ledger.HasTimes != 0 && g.Stood.held(v.Key, heldBy(v.Hash, false), r.Start, s.Opt.ClockDrift)
}

// Hop is a step between versions: by a precedence, or by the writer that replaced one.
type Hop struct {
	To          uint32
	Prec, Write uint32
	Parent      int
}

// MaxVersionCycle bounds the search for a cycle.
const MaxVersionCycle = 1 << 12
