package registers

import (
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// settleRegister gives v its one writer n. Each reader of v has read from n.
func (s *Registers) settleRegister(v, n uint32) {
	x := &s.Versions[v]
	x.Writer = n
	if s.ReadBeforeAll(v, n) {
		s.MakeAmbiguous(v)
		return
	}
	s.WroteLate(v)
	for r := x.Readers; r != 0; r = s.OlderReader(r) {
		t := s.Readers[r].Txn
		label := ledger.WR
		if s.overwrote(t, v) && s.Installed(v) && !s.beginsRow(v) {
			label = s.replacing(v, t)
		}
		if s.Readers[r].Reread {
			label = ledger.Reread
		}
		if s.Readers[r].How == ledger.Perhaps { // perhaps it was said of another transaction that was taken for the writer
			s.ReadCounts.Saw(&s.Ledger, r, ledger.Surely)
		}
		s.Signs.Stood.ReadFrom(&s.Causes, v, t, label)
		s.IntermediateRead(v, t, s.Readers[r].Op)
	}
	if s.IsOrdered(v) {
		s.ConnectOrdered(v, nil)
		s.CheckStepsFrom(v)
	}
	if s.Opt.Ordered && s.Opt.Partly() {
		s.SettlePartly(v)
	}
}

// replacing is the label of the edge to t, which replaced v, from v's writer: t need not have
// read v.
func (s *Registers) replacing(v, t uint32) ledger.Label {
	if s.NamedOnly(v, t) {
		return ledger.WW
	}
	return ledger.WR | ledger.WW
}

// overwrote says whether t read v and installed another version of the key.
func (s *Registers) overwrote(t, v uint32) bool {
	for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
		if s.Writes[id].Txn == t && !s.Writes[id].Blind {
			return true
		}
	}
	return false
}

// overwrite installs the write record id over the version pred. The readers of pred come
// before. Two transactions that overwrote the version that they had read diverge, whether or
// not their values differ.
func (s *Registers) overwrite(id, pred uint32, blind bool) {
	w := &s.Writes[id]
	n := w.Txn
	w.Pred, w.Blind = pred, blind
	w.NextOver = s.Versions[pred].Over
	if w.NextOver != 0 {
		s.Writes[w.NextOver].PrevOver = id
	}
	s.Versions[pred].Over = id
	other := s.Diverging(id)
	r, oldest := s.Versions[pred].Readers, s.Versions[pred].Oldest
	if !s.Versions[pred].Names() {
		r = 0 // the initial one, of a key that was deleted: an empty read need not be of it
	}
	for r != 0 {
		x := &s.Readers[r]
		switch {
		case x.Reread:
		case x.Txn == n:
			x.Overwrote = x.Overwrote || !blind
		case x.How == ledger.Named:
		case !x.Overwrote || blind || other != 0 && x.Txn == s.Writes[other].Txn || s.Txns[x.Txn].Asked != s.Txns[n].Asked:
			s.GiveEdge(x.Txn, n, ledger.RW, w.Version, 0)
		}
		if r == oldest {
			break
		}
		r = x.Older
	}
	if other != 0 {
		x := &s.Writes[other]
		s.missed(&s.Writes[id], x)
		if s.loses(&s.Writes[id], x) {
			s.Report(ledger.Anomaly{Kind: ledger.Divergence, A: n, B: x.Txn, Version: pred, Certain: true})
		} else {
			s.divergeInRow(id)
		}
	}
	if !blind {
		s.divergeFromOthers(id)
	}
	s.Signs.ValueCycle(&s.Causes, id)
	k := s.Versions[pred].Key
	if s.Opt.Ordered && !s.IsOrdered(w.Version) && s.Keys[k].Flags&ledger.Element == 0 {
		s.Keys[k].Base = causes.PartlyOrdered
		s.CountRoots(k)
	} else if pred == s.Keys[k].Initial {
		s.CountRoots(k)
	}
}

// overwriteAfter installs t's write over v. t read v when several may have written it: as one
// version among others it said nothing of the order.
func (s *Registers) overwriteAfter(v, t uint32) {
	k := s.Versions[v].Key
	for id := s.Txns[t].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		w := &s.Writes[id]
		if w.Blind && w.Pred == s.Keys[k].Initial && s.Keys[k].Flags&ledger.Element == 0 {
			s.WithdrawOverwrite(id)
			s.overwrite(id, v, false)
			if s.Opt.Ordered && s.Opt.Partly() {
				s.VersionCycleBy(id)
			}
			return
		}
	}
}

// Diverging finds the other write records that overwrote the same version as id, after their
// transactions had read it. It returns the latest one, 0 if there is none. If n diverge, each is
// reported, and gets the two anti-dependencies with the one before it. All pairs would be n^2 edges
// that say the same. One whose outcome is unknown comes last.
//
// That holds among transactions that asked for the same level. A transaction that asked for less gives
// no anti-dependencies in some views. So it would not connect two others. So transactions that asked
// for another level are linked in pairs.
func (s *Registers) Diverging(id uint32) uint32 {
	w := &s.Writes[id]
	if w.Blind {
		return 0
	}
	other := uint32(0)
	for o := w.NextOver; o != 0; o = s.Writes[o].NextOver {
		x := &s.Writes[o]
		switch {
		case x.Txn == w.Txn || x.Blind || s.Txns[x.Txn].Asked != s.Txns[w.Txn].Asked:
		case !s.OfUnknownOutcome(x.Txn):
			return o
		case other == 0:
			other = o
		}
	}
	return other
}

// Part notes the records that diverged from id, which is about to be taken back. They also diverge from
// the record before id, and no edge shows that yet.
func (s *Registers) Part(id uint32) {
	w := &s.Writes[id]
	if w.Pred == 0 || w.Blind || s.Versions[w.Pred].Flags&ledger.Ambiguous != 0 {
		return
	}
	for o := w.PrevOver; o != 0; o = s.Writes[o].PrevOver {
		x := &s.Writes[o]
		if x.Blind || x.Txn == w.Txn || s.Txns[x.Txn].Asked != s.Txns[w.Txn].Asked {
			continue
		}
		s.Parted = append(s.Parted, o)
		if !s.OfUnknownOutcome(x.Txn) {
			return // the records behind x diverged from x
		}
	}
}

// Diverge reports that the write records id and other overwrote one version. other may be 0 for none.
func (s *Registers) Diverge(id, other uint32) {
	if other == 0 {
		return
	}
	w, x := &s.Writes[id], &s.Writes[other]
	s.missed(x, w)
	s.missed(w, x)
	if s.loses(w, x) {
		s.Report(ledger.Anomaly{Kind: ledger.Divergence, A: w.Txn, B: x.Txn, Version: w.Pred, Certain: true})
	}
}

// missed gives the anti-dependency from w's transaction to x's. Both replaced one version. w's
// transaction read that version, unless it only named it.
func (s *Registers) missed(w, x *ledger.Write) {
	if !s.NamedOnly(w.Pred, w.Txn) {
		s.GiveEdge(w.Txn, x.Txn, ledger.RW, x.Version, 0)
	}
}

// divergeInRow reports the latest write record that replaced the same version as id, in the same way:
// both wrote the row, or both deleted it.
func (s *Registers) divergeInRow(id uint32) {
	w := &s.Writes[id]
	for o := w.NextOver; o != 0; o = s.Writes[o].NextOver {
		if x := &s.Writes[o]; x.Txn != w.Txn && !x.Blind && s.Txns[x.Txn].Asked == s.Txns[w.Txn].Asked && s.loses(w, x) {
			s.missed(x, w)
			s.missed(w, x)
			s.Report(ledger.Anomaly{Kind: ledger.Divergence, A: w.Txn, B: x.Txn, Version: w.Pred, Certain: true})
			return
		}
	}
}

// beginsRow says whether who replaces v begins another row: no order of writes leads there.
func (s *Registers) beginsRow(v uint32) bool {
	return s.Opt.Rows && s.Versions[v].Flags&ledger.Tombstone != 0
}

// MayBeOtherRows says whether two transactions that read v and wrote its key may have written two rows.
// Then a transaction deleted the key that did not replace v as they did.
func (s *Registers) MayBeOtherRows(v uint32) bool {
	flags := s.Keys[s.Versions[v].Key].Flags
	if !s.Opt.Rows || flags&ledger.Deleted == 0 {
		return false
	}
	for id := s.Versions[v].Over; id != 0 && flags&ledger.DeletedAgain == 0; id = s.Writes[id].NextOver {
		if w := &s.Writes[id]; !w.Blind && s.IsDelete(w) {
			return false
		}
	}
	return true
}

// SomeRowDeleted says whether a row is not its key, and a transaction deleted the key of v.
func (s *Registers) SomeRowDeleted(v uint32) bool {
	return s.Opt.Rows && s.Keys[s.Versions[v].Key].Flags&ledger.Deleted != 0
}

// loses says whether of two that replaced one version the later one lost an update.
func (s *Registers) loses(w, x *ledger.Write) bool {
	return !s.Opt.Rows || s.IsDelete(w) == s.IsDelete(x)
}

// ReplacedBy is the ValueKey of what n read of the key and replaced, 0 if it is not known.
func (s *Registers) ReplacedBy(n uint32, key string) uint64 {
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		if w := &s.Writes[id]; !w.Blind && w.Pred != 0 && s.Key(w.Version) == key {
			return s.KeyOfValue(w.Pred)
		}
	}
	return 0
}

// EachReplaced calls fn with the transactions that read and replaced v, the latest first, and the
// version that each wrote. It stops when fn returns false.
func (s *Registers) EachReplaced(v uint32, fn func(n, version uint32) bool) {
	for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
		if w := &s.Writes[id]; !w.Blind && !fn(w.Txn, w.Version) {
			return
		}
	}
}

// OfUnknownOutcome says whether n counts, its outcome is unknown, and nothing in memory shows
// that it took effect. It has retired and cannot be taken back.
func (s *Registers) OfUnknownOutcome(n uint32) bool {
	return s.Txns[n].Flags&ledger.Unknown != 0 && !s.ObservedSome(n)
}

// divergeFromOthers reports the transactions that overwrote the same version as id, and asked for
// another level. Their edges are given one by one.
func (s *Registers) divergeFromOthers(id uint32) {
	w := &s.Writes[id]
	asked := s.Txns[w.Txn].Asked
	for o := w.NextOver; o != 0; o = s.Writes[o].NextOver {
		if x := &s.Writes[o]; !x.Blind && s.Txns[x.Txn].Asked != asked && !s.OfUnknownOutcome(x.Txn) && s.loses(w, x) {
			s.Report(ledger.Anomaly{Kind: ledger.Divergence, A: w.Txn, B: x.Txn, Version: w.Pred, Certain: true})
		}
	}
}
