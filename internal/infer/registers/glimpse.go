package registers

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/pattern"
)

// maxGlimpses bounds the glimpses: 6 MiB, and their table. Beyond it the older half goes.
const maxGlimpses = 1 << 18

// minGlimpses is how many glimpses are kept before any is dropped.
const minGlimpses = 1 << 10

// lasts says whether the glimpse may still be needed, since its transaction may stop to count.
func (s *Registers) lasts(g *causes.Glimpse) bool {
	t := &s.Txns[g.Txn]
	return t.Gen == g.Gen && t.Flags&ledger.Retired == 0 && (t.Flags&ledger.Unknown != 0 || t.State == ledger.Aborted)
}

func (s *Registers) addGlimpse(g causes.Glimpse) {
	x := &s.Signs.Glimpses
	if int64(len(x.All)) >= max(x.Full, minGlimpses) {
		x.All = slices.DeleteFunc(x.All, func(g causes.Glimpse) bool { return !s.lasts(&g) })
		if len(x.All) > maxGlimpses/2 {
			x.All = append(x.All[:0], x.All[len(x.All)-maxGlimpses/2:]...)
		}
		x.Full = 2 * int64(len(x.All))
		x.Link()
	}
	x.All = append(x.All, g)
	x.Enter(len(x.All))
}

// Glimpse takes in the values that n, which does not count, read from others. O(operations).
func (s *Registers) Glimpse(b *event.Batch, t *event.Txn, n uint32) {
	if !s.Opt.Causal() {
		return
	}
	s.BeginTouching()
	ops := b.OpsOf(t)
	for i := range ops {
		if o := &ops[i]; causes.WritesVersion(o) && !causes.OfElement(o) {
			if c := s.TouchOf(s.InternKeyOf(b, t, o)); c.Flags&causes.Wrote == 0 {
				c.Flags, c.ReadOp = causes.Wrote, uint32(i)
			}
		}
	}
	for i := range ops {
		o := &ops[i]
		switch {
		case o.Kind == event.Range:
			x := &b.Extras[o.Extra]
			for _, r := range b.Rows[x.FirstRow : x.FirstRow+x.NumRows] {
				if r.Version.Len > 0 {
					continue
				}
				s.glimpseValue(s.InEpoch(b, t, r.KeyHash), n, i, r.ValueHash)
			}
		case Tells(b, o):
		case o.Kind == event.Read && o.Flags&event.IsArray != 0:
			key := s.InEpoch(b, t, o.KeyHash)
			if k := s.LookupKey(key); k == 0 || !s.Keys[k].Kind.Parts() {
				continue
			}
			for _, e := range b.ElemsOf(o) {
				s.glimpseValue(causes.ElementHash(key, e.Hash), n, i, e.Hash)
			}
		default:
			if h, ok := shown(b, o); ok {
				s.glimpseValue(s.InEpoch(b, t, o.KeyHash), n, i, h)
			}
		}
	}
	if s.Opt.BlindIsAmbiguous() {
		s.makeBlindAmbiguous(b, t, n)
	}
}

// makeBlindAmbiguous is for plain values that t, which does not count, wrote and had not read, and for
// elements that it added. These values may have been there before. So a reader of one does not show
// that t took effect, and need not have read from it. O(operations).
func (s *Registers) makeBlindAmbiguous(b *event.Batch, t *event.Txn, n uint32) {
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		if o.Kind != event.Write && o.Kind != event.Add || Tells(b, o) {
			continue
		}
		key := s.InEpoch(b, t, o.KeyHash)
		if o.Kind == event.Add {
			key = causes.ElementHash(key, o.ValueHash)
		}
		k := s.LookupKey(key)
		if k == 0 || s.Keys[k].Kind > event.Register || s.Keys[k].Flags&(ledger.Unsupported|ledger.Versioned|ledger.Repeats) != 0 || s.TouchOf(k).Flags&causes.HasRead != 0 {
			continue
		}
		if v := s.LookupVersion(k, o.ValueHash); v != 0 {
			if s.Txns[n].State == ledger.Tentative {
				s.MakeAmbiguous(v)
			}
			if id := s.WriteOf(n, v); id != 0 {
				s.Writes[id].Unread = true // and stays ambiguous when another writer falls away
			}
		}
	}
}

// shown is the plain value that o says was there.
func shown(b *event.Batch, o *event.Op) (h event.Hash, ok bool) {
	if o.Kind == event.Read {
		return o.ValueHash, !o.Nothing() && o.Data <= event.Register
	}
	if o.Kind != event.CAS {
		return h, false
	}
	x := &b.Extras[o.Extra]
	text, h := x.Seen, x.SeenHash
	if o.Flags&event.Success != 0 {
		text, h = x.Expected, x.ExpectedHash
	}
	return h, text.Len > 0 && string(b.Bytes(text)) != "null"
}

// glimpseValue takes in that operation i of n read the value of the key with this hash, if it was
// not its own.
func (s *Registers) glimpseValue(key event.Hash, n uint32, i int, h event.Hash) {
	g := causes.Glimpse{Value: ledger.VersionHash(0, h) ^ key.Lo, Txn: n, Gen: s.Txns[n].Gen}
	k := s.LookupKey(key)
	if k == 0 {
		s.addGlimpse(g)
		return
	}
	if x := &s.Keys[k]; x.Kind > event.Register || x.Flags&(ledger.Unsupported|ledger.Versioned|ledger.Repeats) != 0 {
		return
	}
	v := s.LookupVersion(k, h)
	failed := s.Txns[n].State == ledger.Aborted
	if c := s.TouchOf(k); c.Flags&causes.Wrote != 0 {
		switch {
		case !s.foresaw(v, n, i):
			if int(c.ReadOp) < i {
				return
			}
		case failed:
			defer s.disclaim(v, n)
		default:
			s.MakeAmbiguous(v)
		}
		g.Replaced = !failed
		if int(c.ReadOp) > i {
			c.Flags |= causes.HasRead
		}
	}
	s.addGlimpse(g)
	if v != 0 {
		s.glimpseVersion(v, n, g.Replaced)
	} else if g.Replaced && s.BeganAfterRetired(k, n) && s.Values.Has(g.Value) {
		s.Sign(k, pattern.CameBack)
	}
}

// disclaim takes n, which aborted, from the writers of v. It had read v before, so a reader of
// v need not have read from n.
func (s *Registers) disclaim(v, n uint32) {
	id := s.WriteOf(n, v)
	s.UnlinkFromTxn(id)
	s.DropWrite(id)
	s.DropIfUnused(v)
}

// foresaw says whether n, which does not count, read v with operation i and wrote it later. Then
// another transaction had written v before, and a reader of v may have read from that transaction.
func (s *Registers) foresaw(v, n uint32, i int) bool {
	if v == 0 {
		return false
	}
	id := s.WriteOf(n, v)
	return id != 0 && int(s.Writes[id].Op) > i
}

// glimpsedBy says whether there is a glimpse of v by n.
func (s *Registers) glimpsedBy(v, n uint32) bool {
	for i := s.GlimpsesOf(v); i != 0; {
		g, older, open := s.GlimpseAt(i)
		if open && g.Txn == n {
			return true
		}
		i = older
	}
	return false
}

// glimpseVersion takes the signs of a glimpse of v by n. v names no version any more where the
// clocks allow another story.
func (s *Registers) glimpseVersion(v, n uint32, replaced bool) {
	if s.Versions[v].Flags&ledger.Ambiguous == 0 && s.NotThat(v, n, replaced) {
		s.MakeAmbiguous(v)
	}
	s.ReadEarly(v, n)
	if !replaced {
		return
	}
	s.GoneBefore(v, n)
	if !s.Opt.Observed || s.Retried(v) {
		return
	}
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		if x := &s.Readers[r]; x.Overwrote || s.LastOf(x.Txn, s.Versions[v].Key) != 0 {
			s.CameBack(v, x.Txn, n, true)
		}
	}
}
