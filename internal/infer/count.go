package infer

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
)

// count makes n, with the operations of t, part of the history.
func (s *kinds) count(b *event.Batch, t *event.Txn, n uint32) {
	s.Out.Nodes = append(s.Out.Nodes, n)
	if s.Opt.TrustCommitTS {
		s.commitTS = s.CommitNumber(t)
	}
	s.BeginTouching()
	s.Own = s.Own[:0]
	ops := b.OpsOf(t)
	ranges := slices.ContainsFunc(ops, func(o event.Op) bool { return o.Kind == event.Range })
	for i := range ops { // a row names the versions of its key for all operations of the transaction on that key
		if o := &ops[i]; o.Kind == event.Range {
			s.TellByRows(b, t, o)
		} else if ranges && registers.Tells(b, o) {
			if k := s.InternKeyOf(b, t, o); s.settleKind(k, o) {
				s.tellVersion(k)
			}
		}
	}
	for i := range ops {
		o := &ops[i]
		if s.FirstRead(i, o, n) {
			continue
		}
		k := s.plannedKey(i)
		if k == 0 {
			k = s.InternKeyOf(b, t, o)
		} else {
			s.Keys[k].Flags |= ledger.Used
		}
		if x := &s.Keys[k]; x.Kind == event.Register && o.Kind <= event.Write && o.Data <= event.Register && x.Flags&(ledger.Unsupported|ledger.Versioned) == 0 && o.Flags&event.HasExtra == 0 {
			if c := s.TouchOf(k); o.Kind == event.Write {
				s.Write(c, n, uint32(i), o.ValueHash)
			} else {
				s.ReadRegister(c, n, uint32(i), o)
			}
			continue
		}
		if !s.settleKind(k, o) {
			s.uncheckedOp(b, n, k, o)
			s.NoteParted(k, n, o)
			continue
		}
		if registers.Tells(b, o) {
			s.tellVersion(k)
		}
		if o.Kind > event.Append || s.Keys[k].Kind > event.List || o.Data > event.List || s.Keys[k].Flags&ledger.Versioned != 0 && s.byVersionOnly(k, o) {
			s.countOther(b, t, n, uint32(i), k, o)
			continue
		}
		c := s.TouchOf(k)
		switch {
		case o.Kind == event.Write:
			s.Write(c, n, uint32(i), o.ValueHash)
		case o.Kind == event.Append:
			s.Append(c, n, uint32(i), o.ValueHash)
		case s.Keys[k].Kind == event.List || o.Flags&event.IsArray != 0 && s.Keys[k].Kind != event.Register:
			s.ReadList(b, c, n, uint32(i), o)
		default:
			s.ReadRegister(c, n, uint32(i), o)
		}
	}
	s.LinkScans()
	s.Signs.Stood.Take(&s.Causes, n)
	for i := range s.Touches {
		if c := &s.Touches[i]; c.Flags == causes.HasRead|causes.Plain {
			s.SawVersion(c.ReadVer, n, c.ReadOp, false)
		} else {
			s.install(c, n)
		}
	}
	if len(s.Counted) > 0 {
		s.SumUp()
	}
	if s.Opt.Linear {
		s.LineUp(n)
	}
	s.LinkSession(n)
	if s.Opt.Ordered && s.Opt.Partly() {
		s.VisitKeys(n)
	}
}

// install ends the work on one key: the edges of the first external read and
// of the last write.
func (s *kinds) install(c *causes.Touch, n uint32) {
	k := &s.Keys[c.Key]
	if k.Flags&ledger.Repeats != 0 {
		return
	}
	if k.Kind == event.List {
		s.InstallList(c, n)
		return
	}
	if c.Flags&causes.Wrote == 0 {
		if c.ReadVer != 0 {
			s.SawVersion(c.ReadVer, n, c.ReadOp, false)
		}
		return
	}
	if c.ReadVer != 0 && s.WroteIn(c, c.ReadVer) {
		// Its read and its write are two versions of one value, or it read the future.
		s.MakeAmbiguous(c.ReadVer)
		if !s.Values.Has(s.KeyOfValue(c.ReadVer)) { // else a transaction that has left memory may have written it
			s.SuspectFuture(c.ReadVer, n, c.ReadOp)
		}
	}
	if c.Flags&(causes.Wrote|causes.Misread) == causes.Wrote|causes.Misread {
		s.SawOwnFuture(c, n)
	}
	if c.ReadVer != 0 {
		s.SawVersion(c.ReadVer, n, c.ReadOp, k.Flags&ledger.Versioned == 0 || c.ReadLen == 0)
	}
	pred := c.ReadVer
	if k.Flags&ledger.Versioned != 0 && c.ReadLen != 0 { // the write names the version that it replaced, and the transaction had read another one
		pred = c.ReadLen
		if s.WroteIn(c, pred) { // it names a version that it wrote itself
			s.MakeAmbiguous(pred)
		}
		s.SawVersion(pred, n, c.ReadOp, true)
	}
	if pred != 0 && s.Versions[pred].Flags&ledger.InitialVersion == 0 && s.Opt.Observed {
		s.GoneBefore(pred, n)
		if s.Versions[pred].Names() {
			if s.ReplacedBefore(pred, n) {
				s.MakeAmbiguous(pred)
			}
		} else {
			s.ReplacedTwice(pred, n)
		}
	}
	rmw := pred != 0 && s.Versions[pred].Names()
	if k.Flags&ledger.Element != 0 && c.ReadVer == k.Initial {
		rmw = false // to add an element that is there already changes nothing
	}
	for i := c.FirstOwn; i != 0; i = s.Own[i-1].Next {
		id := s.Own[i-1].Write
		v := s.Writes[id].Version
		s.PossibleWriter(v, n)
		s.Recorded(v, n)
		if s.Versions[v].Flags&ledger.Ambiguous == 0 {
			if s.Opt.TrustCommitTS && s.commitTS != math.MinInt64 && s.Versions[v].Possible == 1 && !s.Numeric(c.Key) {
				s.Number(c.Key, v, n, s.commitTS)
			}
			s.SettleRegister(v, n)
		} else {
			s.WrittenLate(v, n)
		}
	}
	if w := s.Writes[c.LastWrite].Version; s.Versions[w].Flags&ledger.Tombstone != 0 {
		s.DeletedRow(c.Key, w)
	}
	if s.Opt.Ordered && rmw {
		s.CheckStep(n, pred, s.Writes[c.LastWrite].Version)
	}
	if rmw {
		s.Overwrite(c.LastWrite, pred, false)
	} else {
		s.Overwrite(c.LastWrite, k.Initial, true)
	}
	if s.Opt.Ordered && s.Opt.Partly() {
		s.VersionCycleBy(c.LastWrite)
	}
}
