package infer

import (
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
		s.CommitTS = s.CommitNumber(t)
	}
	s.BeginTouching()
	s.Own = s.Own[:0]
	ops := b.OpsOf(t)
	s.settleKinds(b, t, ops)
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
		if x := &s.Keys[k]; x.Kind == event.Register && o.Kind <= event.Write && o.Data <= event.Register && x.Flags&(ledger.Unsupported|ledger.Versioned) == 0 &&
			o.Flags&event.HasExtra == 0 {
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
		} else if s.Keys[c.Key].Kind == event.List {
			s.InstallList(c, n)
		} else {
			s.Install(c, n)
		}
	}
	s.SumUp()
	if s.Opt.Linear {
		s.LineUp(n)
	}
	s.LinkSession(n)
	if s.Opt.Ordered && s.Opt.Partly() {
		s.VisitKeys(n)
	}
}
