package infer

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/pattern"
)

// A transaction of unknown outcome has made its reads, whatever became of it: its client got
// the answers. Until somebody observes its writes, it does not count as a reader of a version,
// and gives no edge. Its reads are signs all the same, and show that it did not read from a
// later writer. They are glimpses, and are kept by value while the transaction is in memory.
//
// The values that an aborted transaction read were there, too. So it did not read from a writer that
// began later. Nothing else follows. If the value had been replaced, that is not a sign that it came
// back. To read an old state, and be refused for it, is how many databases keep their promise.

// glimpse is a read of a plain value by a transaction that does not count, 24 bytes.
type glimpse struct {
	value    uint64 // valueKey
	txn, gen uint32
	older    uint32 // the one before of the same value: its place, from 1
	replaced bool   // the transaction wrote the key behind it, and has not aborted
	_        [3]byte
}

// glimpses are the glimpses of all values, the oldest first.
type glimpses struct {
	all    []glimpse
	full   int64             // at this length the glimpses of transactions that are gone are dropped
	latest map[uint64]uint32 // by value: the place, from 1; made from all
}

// maxGlimpses bounds the glimpses: 6 MiB, and their table. Beyond it the older half goes.
const maxGlimpses = 1 << 18

// minGlimpses is how many glimpses are kept before any is dropped.
const minGlimpses = 1 << 10

// glimpsesOf is the latest glimpse of v, 0 if there is none.
func (s *absences) glimpsesOf(v uint32) uint32 {
	if len(s.signs.glimpses.all) == 0 {
		return 0
	}
	return s.signs.glimpses.latest[s.valueKey(v)]
}

// glimpseAt is the glimpse at place i, and the place of the next older one of its value. open says
// that its transaction is in memory and does not count.
func (s *absences) glimpseAt(i uint32) (g *glimpse, older uint32, open bool) {
	g = &s.signs.glimpses.all[i-1]
	t := &s.txns[g.txn]
	return g, g.older, t.gen == g.gen && (t.state == tentative || t.state == aborted) && t.flags&retired == 0
}

// lasts says whether the glimpse may still be needed, since its transaction may stop to count.
func (s *registers) lasts(g *glimpse) bool {
	t := &s.txns[g.txn]
	return t.gen == g.gen && t.flags&retired == 0 && (t.flags&unknown != 0 || t.state == aborted)
}

func (s *registers) addGlimpse(g glimpse) {
	x := &s.signs.glimpses
	if int64(len(x.all)) >= max(x.full, minGlimpses) {
		x.all = slices.DeleteFunc(x.all, func(g glimpse) bool { return !s.lasts(&g) })
		if len(x.all) > maxGlimpses/2 {
			x.all = append(x.all[:0], x.all[len(x.all)-maxGlimpses/2:]...)
		}
		x.full = 2 * int64(len(x.all))
		x.link()
	}
	x.all = append(x.all, g)
	x.enter(len(x.all))
}

// link makes the table again.
func (x *glimpses) link() {
	x.latest = make(map[uint64]uint32, len(x.all))
	for place := range x.all {
		x.enter(place + 1)
	}
}

// enter makes the glimpse at this place the latest of its value.
func (x *glimpses) enter(place int) {
	if x.latest == nil {
		x.latest = map[uint64]uint32{}
	}
	g := &x.all[place-1]
	g.older = x.latest[g.value]
	x.latest[g.value] = uint32(place)
}

// glimpse takes in the values that n, which does not count, read from others. O(operations).
func (s *registers) glimpse(b *event.Batch, t *event.Txn, n uint32) {
	if !s.opt.causal() {
		return
	}
	s.beginTouching()
	ops := b.OpsOf(t)
	for i := range ops {
		if o := &ops[i]; writesVersion(o) && !ofElement(o) {
			if c := s.touchOf(s.keyOf(b, t, o)); c.flags&wrote == 0 {
				c.flags, c.readOp = wrote, uint32(i)
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
				s.glimpseValue(s.inEpoch(b, t, r.KeyHash), n, i, r.ValueHash)
			}
		case tells(b, o):
		case o.Kind == event.Read && o.Flags&event.IsArray != 0:
			key := s.inEpoch(b, t, o.KeyHash)
			if k := s.lookupKey(key); k == 0 || !s.keys[k].kind.Parts() {
				continue
			}
			for _, e := range b.ElemsOf(o) {
				s.glimpseValue(elementHash(key, e.Hash), n, i, e.Hash)
			}
		default:
			if h, ok := shown(b, o); ok {
				s.glimpseValue(s.inEpoch(b, t, o.KeyHash), n, i, h)
			}
		}
	}
	if s.opt.blindIsAmbiguous() {
		s.makeBlindAmbiguous(b, t, n)
	}
}

// makeBlindAmbiguous is for plain values that t, which does not count, wrote and had not read, and for
// elements that it added. These values may have been there before. So a reader of one does not show
// that t took effect, and need not have read from it. O(operations).
func (s *registers) makeBlindAmbiguous(b *event.Batch, t *event.Txn, n uint32) {
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		if o.Kind != event.Write && o.Kind != event.Add || tells(b, o) {
			continue
		}
		key := s.inEpoch(b, t, o.KeyHash)
		if o.Kind == event.Add {
			key = elementHash(key, o.ValueHash)
		}
		k := s.lookupKey(key)
		if k == 0 || s.keys[k].kind > event.Register || s.keys[k].flags&(unsupported|versioned|repeats) != 0 || s.touchOf(k).flags&hasRead != 0 {
			continue
		}
		if v := s.lookupVersion(k, o.ValueHash); v != 0 {
			if s.txns[n].state == tentative {
				s.makeAmbiguous(v)
			}
			if id := s.writeOf(n, v); id != 0 {
				s.writes[id].unread = true // and stays ambiguous when another writer falls away
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
func (s *registers) glimpseValue(key event.Hash, n uint32, i int, h event.Hash) {
	g := glimpse{value: versionHash(0, h) ^ key.Lo, txn: n, gen: s.txns[n].gen}
	k := s.lookupKey(key)
	if k == 0 {
		s.addGlimpse(g)
		return
	}
	if x := &s.keys[k]; x.kind > event.Register || x.flags&(unsupported|versioned|repeats) != 0 {
		return
	}
	v := s.lookupVersion(k, h)
	failed := s.txns[n].state == aborted
	if c := s.touchOf(k); c.flags&wrote != 0 {
		switch {
		case !s.foresaw(v, n, i):
			if int(c.readOp) < i {
				return
			}
		case failed:
			defer s.disclaim(v, n)
		default:
			s.makeAmbiguous(v)
		}
		g.replaced = !failed
		if int(c.readOp) > i {
			c.flags |= hasRead
		}
	}
	s.addGlimpse(g)
	if v != 0 {
		s.glimpseVersion(v, n, g.replaced)
	} else if g.replaced && s.beganAfterRetired(k, n) && s.values.has(g.value) {
		s.sign(k, pattern.CameBack)
	}
}

// disclaim takes n, which aborted, from the writers of v. It had read v before, so a reader of
// v need not have read from n.
func (s *registers) disclaim(v, n uint32) {
	id := s.writeOf(n, v)
	s.unlinkFromTxn(id)
	s.dropWrite(id)
	s.dropIfUnused(v)
}

// foresaw says whether n, which does not count, read v with operation i and wrote it later. Then
// another transaction had written v before, and a reader of v may have read from that transaction.
func (s *registers) foresaw(v, n uint32, i int) bool {
	if v == 0 {
		return false
	}
	id := s.writeOf(n, v)
	return id != 0 && int(s.writes[id].op) > i
}

// glimpsedBy says whether there is a glimpse of v by n.
func (s *registers) glimpsedBy(v, n uint32) bool {
	for i := s.glimpsesOf(v); i != 0; {
		g, older, open := s.glimpseAt(i)
		if open && g.txn == n {
			return true
		}
		i = older
	}
	return false
}

// glimpseVersion takes the signs of a glimpse of v by n. v names no version any more where the
// clocks allow another story.
func (s *registers) glimpseVersion(v, n uint32, replaced bool) {
	if s.versions[v].flags&ambiguous == 0 && s.notThat(v, n, replaced) {
		s.makeAmbiguous(v)
	}
	s.readEarly(v, n)
	if !replaced {
		return
	}
	s.goneBefore(v, n)
	if !s.opt.Observed || s.retried(v) {
		return
	}
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		if x := &s.readers[r]; x.overwrote || s.lastOf(x.txn, s.versions[v].key) != 0 {
			s.cameBack(v, x.txn, n, true)
		}
	}
}

// glimpsedBefore is readBefore of all glimpses of v.
func (s *causes) glimpsedBefore(v, writer uint32) (before bool) {
	for i := s.glimpsesOf(v); i != 0; {
		g, older, open := s.glimpseAt(i)
		if open && s.readBefore(v, writer, g.txn) {
			before = true
		}
		i = older
	}
	return before
}

// glimpsedBack is cameBack of all glimpses of v, when n had read and replaced it.
func (s *causes) glimpsedBack(v, n uint32) (back bool) {
	for i := s.glimpsesOf(v); i != 0; {
		g, older, open := s.glimpseAt(i)
		if open && s.cameBack(v, n, g.txn, g.replaced) {
			back = true
		}
		i = older
	}
	return back
}

func (x *glimpses) appendState(dst *flat.Writer) *flat.Writer {
	return flat.AppendValue(flat.Append(dst, "glimpses", x.all), "full", &x.full)
}

func (x *glimpses) readState(r *flat.Reader) {
	flat.Read(r, "glimpses", &x.all)
	flat.ReadValue(r, "full", &x.full)
	x.link()
}
