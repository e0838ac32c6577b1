package infer

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/zeebo/xxh3"
)

// Info holds the fields of a transaction for explaining, ranking and retiring.
type Info struct {
	Start, End        int64
	Offset            int64
	Partition, Sub    uint32
	Gen               uint32 // tells two users of one number apart
	ID                uint64 // hash of the id
	HasTimes, Unknown bool
	Counted, Stale    bool
}

// Info of the transaction n.
func (s *ledger) Info(n uint32) Info {
	t := &s.txns[n]
	return Info{
		Start: t.start, End: t.end, Offset: t.offset, Partition: t.partition, Sub: t.sub, Gen: t.gen, ID: t.id.Lo,
		HasTimes: t.flags&hasTimes != 0, Unknown: t.flags&unknown != 0, Counted: t.state == counted,
		Stale: t.flags&stale != 0,
	}
}

// Span is when n began and ended, and whether its outcome is unknown.
func (s *ledger) Span(n uint32) (start, end int64, outcomeUnknown bool) {
	t := &s.txns[n]
	return t.start, t.end, t.flags&unknown != 0
}

// CameLate notes that the record of n came after the lateness. again says that it is the second one,
// and tells the outcome.
func (s *ledger) CameLate(n uint32, again bool) {
	if x := &s.txns[n]; again && x.flags&cameLate == 0 {
		x.flags |= toldLate
	} else {
		x.flags |= cameLate
	}
}

// ToldLate says whether only the outcome of n came after the lateness, which was unknown before.
func (s *ledger) ToldLate(n uint32) bool { return s.txns[n].flags&toldLate != 0 }

// CountsSinceNow says whether n counts since the step in work.
func (s *ledger) CountsSinceNow(n uint32) bool {
	return s.out != nil && slices.Contains(s.out.Nodes, n)
}

// Record is the compact record of n (event.ReadRecord), nil when it has left
// memory. Valid until the next change.
func (s *ledger) Record(n uint32) []byte {
	if n == 0 || int(n) >= len(s.txns) {
		return nil
	}
	return s.records.get(s.txns[n].record)
}

// Epoch is a hash of n's epoch, 0 where its record names none or has left memory.
func (s *ledger) Epoch(n uint32) uint64 {
	epoch := event.RecordEpoch(s.Record(n))
	if len(epoch) == 0 {
		return 0
	}
	return xxh3.Hash(epoch)
}

// Pending says whether n will still retire: it counts, and has not.
func (s *ledger) Pending(n uint32) bool {
	return s.txns[n].state == counted && s.txns[n].flags&retired == 0
}

// Key is the name of the key that v is a version of.
func (s *ledger) Key(v uint32) string {
	key, _ := s.Cell(v)
	return key
}

// Cell is the key of v, and of an element of a set its text.
func (s *ledger) Cell(v uint32) (key, elem string) {
	name := s.nameOf(s.versions[v].key)
	if s.keys[s.versions[v].key].flags&element != 0 {
		set, text := elementName(name)
		return string(set), string(text)
	}
	return string(name), ""
}

// KeyOfVersion is the number of the key that v is a version of.
func (s *ledger) KeyOfVersion(v uint32) uint32 { return s.versions[v].key }

// Left is the version of the key k that n left, 0 if it wrote none.
func (s *ledger) Left(n, k uint32) uint32 { return s.lastOf(n, k) }

// KeyName is the name of the key k.
func (s *ledger) KeyName(k uint32) string { return string(s.names.get(s.keys[k].name)) }

// Value is the canonical JSON of the value that v stands for. It is found in the record of its
// writer or, for a list, of the transaction whose read placed it. It is "" when neither is in
// memory.
func (s *ledger) Value(v uint32, in *event.Batch) string {
	x := &s.versions[v]
	if s.keys[x.key].flags&element != 0 {
		_, text := elementName(s.nameOf(x.key))
		return string(text)
	}
	for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
		if text, ok := s.valueIn(s.writes[id].txn, x, in); ok {
			return text
		}
	}
	for r := x.readers; r != 0; r = s.olderReader(r) {
		if text, ok := s.valueIn(s.readers[r].txn, x, in); ok {
			return text
		}
	}
	if text, ok := s.valueIn(x.witness, x, in); ok {
		return text
	}
	return ""
}

func (s *ledger) valueIn(n uint32, x *version, b *event.Batch) (string, bool) {
	rec := s.Record(n)
	if rec == nil {
		return "", false
	}
	b.Reset()
	if s.decoder.DecodeRecord(b, event.Position{}, rec) != nil {
		return "", false
	}
	for i := range b.Ops {
		if b.Ops[i].ValueHash == x.hash {
			return b.Text(b.Ops[i].Value), true
		}
	}
	for i := range b.Elems {
		if b.Elems[i].Hash == x.hash {
			return b.Text(b.Elems[i].Value), true
		}
	}
	return otherValueIn(b, x.hash)
}

// otherValueIn looks for the value in what operations of other kinds saw.
func otherValueIn(b *event.Batch, h event.Hash) (string, bool) {
	for i := range b.Extras {
		for _, text := range []event.Span{b.Extras[i].Version, b.Extras[i].PrevVersion} {
			if text.Len > 0 && versionIdentity(b.Bytes(text)) == h {
				return b.Text(text), true
			}
		}
		switch e := &b.Extras[i]; h {
		case e.ExpectedHash:
			return b.Text(e.Expected), true
		case e.SeenHash:
			return b.Text(e.Seen), true
		}
	}
	for i := range b.Rows {
		if b.Rows[i].ValueHash == h {
			return b.Text(b.Rows[i].Value), true
		}
	}
	return "", false
}

// Saw is the version that n's first external read saw of the key that v belongs
// to, 0 if there is none.
func (s *ledger) Saw(n, v uint32) uint32 {
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if r := &s.readers[id]; r.saw() && s.versions[r.version].key == s.versions[v].key {
			return r.version
		}
	}
	return 0
}

// Overwrote says whether n installed another version after it had read v.
func (s *ledger) Overwrote(n, v uint32) bool {
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		if s.writes[id].pred == v && !s.writes[id].blind {
			return true
		}
	}
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if s.readers[id].version == v && s.readers[id].overwrote {
			return true
		}
	}
	return false
}

// ValueKey names the value of v across versions that come and go. The key of the initial
// version says that an empty read can only be of it.
func (s *ledger) ValueKey(v uint32) uint64 {
	if v == 0 {
		return 0
	}
	return s.valueKey(v)
}

// RestsOn appends to dst the ValueKeys of the values whose one writer an edge rests on. A wr edge
// rests on the value that was read. A register's ww or rw edge rests on the values that both
// ends read. Where the contract orders versions, it rests on the two that were ordered. A list's edge
// rests on the element, and the order of two appends on From's elements as well.
func (s *ledger) RestsOn(dst []uint64, e Edge) []uint64 {
	for _, v := range s.restsOn(e) {
		dst = append(dst, s.valueKey(v))
	}
	return dst
}

// restsOn are the versions of RestsOn.
func (s *ledger) restsOn(e Edge) (all []uint32) {
	if e.Version == 0 {
		return nil
	}
	v, k := e.Version, s.versions[e.Version].key
	list := s.keys[k].kind == event.List
	if !list && e.Label&(WR|Reread) == 0 {
		v = s.Saw(e.From, v)
	}
	if v != 0 {
		all = append(all, v)
	}
	if initial := s.keys[k].initial; !list && v != 0 && v != initial && v == s.absent(k) {
		all = append(all, initial) // the reader has moved since: see empty
	}
	ordered := !list && s.opt.Ordered && e.Label&(WR|Reread) == 0
	if ordered && (e.Label&RW == 0 || v == 0 || !s.Overwrote(e.To, v)) {
		all = append(all, e.Version)
	}
	if list && e.Label&WW != 0 || ordered && e.Label&(WW|OtherRow) != 0 {
		for id := s.txns[e.From].writes; id != 0; id = s.writes[id].nextOfTxn {
			if w := s.writes[id].version; s.versions[w].key == k {
				all = append(all, w)
			}
		}
	}
	return all
}

// Keep holds on to the record and the number of n until [State.LetGo].
func (s *ledger) Keep(n uint32) { s.pin(n) }

// LetGo undoes one [State.Keep].
func (s *ledger) LetGo(n uint32) { s.unpin(n) }

// checkRows audits the lists of the rows and their back links. It names the first that is broken.
// O(everything).
func (s *ledger) checkRows() error {
	if err := s.checkReads(); err != nil {
		return err
	}
	for v := range s.versions {
		x := &s.versions[v]
		if x.key == 0 {
			continue
		}
		possible := 0
		for id, prev := x.writes, uint32(0); id != 0; prev, id = id, s.writes[id].nextOfVer {
			w := &s.writes[id]
			if w.version != uint32(v) || w.prevOfVer != prev {
				return fmt.Errorf("version %d lists write %d of version %d, back to %d", v, id, w.version, w.prevOfVer)
			}
			if st := s.txns[w.txn].state; st == free {
				return fmt.Errorf("version %d is written by the free transaction %d", v, w.txn)
			} else if st != aborted {
				possible++
			}
		}
		if possible != int(x.possible) {
			return fmt.Errorf("version %d: %d possible writers, counted %d", v, possible, x.possible)
		}
		if x.writer != 0 && s.txns[x.writer].state != counted {
			return fmt.Errorf("version %d: its writer %d does not count", v, x.writer)
		}
		for id, prev := x.over, uint32(0); id != 0; prev, id = id, s.writes[id].nextOver {
			if w := &s.writes[id]; w.pred != uint32(v) || w.prevOver != prev {
				return fmt.Errorf("version %d: overwritten by write %d of %d, back to %d", v, id, w.pred, w.prevOver)
			}
		}
		if (x.readers == 0) != (x.oldest == 0) {
			return fmt.Errorf("version %d: readers from %d to %d", v, x.readers, x.oldest)
		}
		for id, newer := x.readers, uint32(0); id != 0; newer, id = id, s.olderReader(id) {
			r := &s.readers[id]
			if r.version != uint32(v) || r.newer != newer && newer != 0 {
				return fmt.Errorf("version %d: reader %d is linked to version %d, back to %d", v, id, r.version, r.newer)
			}
			if s.txns[r.txn].state != counted {
				return fmt.Errorf("version %d: its reader %d does not count", v, r.txn)
			}
		}
	}
	for n := range s.txns {
		if s.txns[n].state == free {
			continue
		}
		for id, prev := s.txns[n].writes, uint32(0); id != 0; prev, id = id, s.writes[id].nextOfTxn {
			if w := &s.writes[id]; w.txn != uint32(n) || w.prevOfTxn != prev {
				return fmt.Errorf("transaction %d lists write %d of %d, back to %d", n, id, w.txn, w.prevOfTxn)
			}
		}
	}
	return s.checkSpill()
}

// isDelete says whether w left a tombstone.
func (s *ledger) isDelete(w *write) bool {
	return s.versions[w.version].flags&tombstone != 0
}
