package ledger

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
func (s *Ledger) Info(n uint32) Info {
	t := &s.Txns[n]
	return Info{
		Start: t.Start, End: t.End, Offset: t.Offset, Partition: t.Partition, Sub: t.Sub, Gen: t.Gen, ID: t.Id.Lo,
		HasTimes: t.Flags&HasTimes != 0, Unknown: t.Flags&Unknown != 0, Counted: t.State == Counted,
		Stale: t.Flags&Stale != 0,
	}
}

// Span is when n began and ended, and whether its outcome is unknown.
func (s *Ledger) Span(n uint32) (start, end int64, outcomeUnknown bool) {
	t := &s.Txns[n]
	return t.Start, t.End, t.Flags&Unknown != 0
}

// CameLate notes that the record of n came after the lateness. again says that it is the second one,
// and tells the outcome.
func (s *Ledger) CameLate(n uint32, again bool) {
	if x := &s.Txns[n]; again && x.Flags&CameLate == 0 {
		x.Flags |= toldLate
	} else {
		x.Flags |= CameLate
	}
}

// ToldLate says whether only the outcome of n came after the lateness, which was unknown before.
func (s *Ledger) ToldLate(n uint32) bool { return s.Txns[n].Flags&toldLate != 0 }

// CountsSinceNow says whether n counts since the step in work.
func (s *Ledger) CountsSinceNow(n uint32) bool {
	return s.Out != nil && slices.Contains(s.Out.Nodes, n)
}

// Record is the compact record of n (event.ReadRecord), nil when it has left
// memory. Valid until the next change.
func (s *Ledger) Record(n uint32) []byte {
	if n == 0 || int(n) >= len(s.Txns) {
		return nil
	}
	return s.Records.Get(s.Txns[n].Record)
}

// Epoch is a hash of n's epoch, 0 where its record names none or has left memory.
func (s *Ledger) Epoch(n uint32) uint64 {
	epoch := event.RecordEpoch(s.Record(n))
	if len(epoch) == 0 {
		return 0
	}
	return xxh3.Hash(epoch)
}

// Pending says whether n will still retire: it counts, and has not.
func (s *Ledger) Pending(n uint32) bool {
	return s.Txns[n].State == Counted && s.Txns[n].Flags&Retired == 0
}

// Key is the name of the key that v is a version of.
func (s *Ledger) Key(v uint32) string {
	key, _ := s.Cell(v)
	return key
}

// Cell is the key of v, and of an element of a set its text.
func (s *Ledger) Cell(v uint32) (key, elem string) {
	name := s.NameOf(s.Versions[v].Key)
	if s.Keys[s.Versions[v].Key].Flags&Element != 0 {
		set, text := elementName(name)
		return string(set), string(text)
	}
	return string(name), ""
}

// KeyOfVersion is the number of the key that v is a version of.
func (s *Ledger) KeyOfVersion(v uint32) uint32 { return s.Versions[v].Key }

// Left is the version of the key k that n left, 0 if it wrote none.
func (s *Ledger) Left(n, k uint32) uint32 { return s.LastOf(n, k) }

// KeyName is the name of the key k.
func (s *Ledger) KeyName(k uint32) string { return string(s.Names.Get(s.Keys[k].Name)) }

// Value is the canonical JSON of the value that v stands for. It is found in the record of its
// writer or, for a list, of the transaction whose read placed it. It is "" when neither is in
// memory.
func (s *Ledger) Value(v uint32, in *event.Batch) string {
	x := &s.Versions[v]
	if s.Keys[x.Key].Flags&Element != 0 {
		_, text := elementName(s.NameOf(x.Key))
		return string(text)
	}
	for id := x.Writes; id != 0; id = s.Writes[id].NextOfVer {
		if text, ok := s.valueIn(s.Writes[id].Txn, x, in); ok {
			return text
		}
	}
	for r := x.Readers; r != 0; r = s.OlderReader(r) {
		if text, ok := s.valueIn(s.Readers[r].Txn, x, in); ok {
			return text
		}
	}
	if text, ok := s.valueIn(x.Witness, x, in); ok {
		return text
	}
	return ""
}

func (s *Ledger) valueIn(n uint32, x *Version, b *event.Batch) (string, bool) {
	rec := s.Record(n)
	if rec == nil {
		return "", false
	}
	b.Reset()
	if s.Decoder.DecodeRecord(b, event.Position{}, rec) != nil {
		return "", false
	}
	for i := range b.Ops {
		if b.Ops[i].ValueHash == x.Hash {
			return b.Text(b.Ops[i].Value), true
		}
	}
	for i := range b.Elems {
		if b.Elems[i].Hash == x.Hash {
			return b.Text(b.Elems[i].Value), true
		}
	}
	return otherValueIn(b, x.Hash)
}

// otherValueIn looks for the value in what operations of other kinds saw.
func otherValueIn(b *event.Batch, h event.Hash) (string, bool) {
	for i := range b.Extras {
		for _, text := range []event.Span{b.Extras[i].Version, b.Extras[i].PrevVersion} {
			if text.Len > 0 && VersionIdentity(b.Bytes(text)) == h {
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
func (s *Ledger) Saw(n, v uint32) uint32 {
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if r := &s.Readers[id]; r.Saw() && s.Versions[r.Version].Key == s.Versions[v].Key {
			return r.Version
		}
	}
	return 0
}

// Overwrote says whether n installed another version after it had read v.
func (s *Ledger) Overwrote(n, v uint32) bool {
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		if s.Writes[id].Pred == v && !s.Writes[id].Blind {
			return true
		}
	}
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if s.Readers[id].Version == v && s.Readers[id].Overwrote {
			return true
		}
	}
	return false
}

// ValueKey names the value of v across versions that come and go. The key of the initial
// version says that an empty read can only be of it.
func (s *Ledger) ValueKey(v uint32) uint64 {
	if v == 0 {
		return 0
	}
	return s.KeyOfValue(v)
}

// RestsOn appends to dst the ValueKeys of the values whose one writer an edge rests on. A wr edge
// rests on the value that was read. A register's ww or rw edge rests on the values that both
// ends read. Where the contract orders versions, it rests on the two that were ordered. A list's edge
// rests on the element, and the order of two appends on From's elements as well.
func (s *Ledger) RestsOn(dst []uint64, e Edge) []uint64 {
	for _, v := range s.RestsOnVersions(e) {
		dst = append(dst, s.KeyOfValue(v))
	}
	return dst
}

// RestsOnVersions are the versions of RestsOn.
func (s *Ledger) RestsOnVersions(e Edge) (all []uint32) {
	if e.Version == 0 {
		return nil
	}
	v, k := e.Version, s.Versions[e.Version].Key
	list := s.Keys[k].Kind == event.List
	if !list && e.Label&(WR|Reread) == 0 {
		v = s.Saw(e.From, v)
	}
	if v != 0 {
		all = append(all, v)
	}
	if initial := s.Keys[k].Initial; !list && v != 0 && v != initial && v == s.Absent(k) {
		all = append(all, initial) // the reader has moved since: see empty in package registers
	}
	ordered := !list && s.Opt.Ordered && e.Label&(WR|Reread) == 0
	if ordered && (e.Label&RW == 0 || v == 0 || !s.Overwrote(e.To, v)) {
		all = append(all, e.Version)
	}
	if list && e.Label&WW != 0 || ordered && e.Label&(WW|OtherRow) != 0 {
		for id := s.Txns[e.From].Writes; id != 0; id = s.Writes[id].NextOfTxn {
			if w := s.Writes[id].Version; s.Versions[w].Key == k {
				all = append(all, w)
			}
		}
	}
	return all
}

// Keep holds on to the record and the number of n until [Ledger.LetGo].
func (s *Ledger) Keep(n uint32) { s.Pin(n) }

// LetGo undoes one [Ledger.Keep].
func (s *Ledger) LetGo(n uint32) { s.Unpin(n) }

// CheckRows audits the lists of the rows and their back links. It names the first that is broken.
// O(everything).
func (s *Ledger) CheckRows() error {
	if err := s.checkReads(); err != nil {
		return err
	}
	for v := range s.Versions {
		x := &s.Versions[v]
		if x.Key == 0 {
			continue
		}
		possible := 0
		for id, prev := x.Writes, uint32(0); id != 0; prev, id = id, s.Writes[id].NextOfVer {
			w := &s.Writes[id]
			if w.Version != uint32(v) || w.PrevOfVer != prev {
				return fmt.Errorf("version %d lists write %d of version %d, back to %d", v, id, w.Version, w.PrevOfVer)
			}
			if st := s.Txns[w.Txn].State; st == Free {
				return fmt.Errorf("version %d is written by the free transaction %d", v, w.Txn)
			} else if st != Aborted {
				possible++
			}
		}
		if possible != int(x.Possible) {
			return fmt.Errorf("version %d: %d possible writers, counted %d", v, possible, x.Possible)
		}
		if x.Writer != 0 && s.Txns[x.Writer].State != Counted {
			return fmt.Errorf("version %d: its writer %d does not count", v, x.Writer)
		}
		for id, prev := x.Over, uint32(0); id != 0; prev, id = id, s.Writes[id].NextOver {
			if w := &s.Writes[id]; w.Pred != uint32(v) || w.PrevOver != prev {
				return fmt.Errorf("version %d: overwritten by write %d of %d, back to %d", v, id, w.Pred, w.PrevOver)
			}
		}
		if (x.Readers == 0) != (x.Oldest == 0) {
			return fmt.Errorf("version %d: readers from %d to %d", v, x.Readers, x.Oldest)
		}
		for id, newer := x.Readers, uint32(0); id != 0; newer, id = id, s.OlderReader(id) {
			r := &s.Readers[id]
			if r.Version != uint32(v) || r.Newer != newer && newer != 0 {
				return fmt.Errorf("version %d: reader %d is linked to version %d, back to %d", v, id, r.Version, r.Newer)
			}
			if s.Txns[r.Txn].State != Counted {
				return fmt.Errorf("version %d: its reader %d does not count", v, r.Txn)
			}
		}
	}
	for n := range s.Txns {
		if s.Txns[n].State == Free {
			continue
		}
		for id, prev := s.Txns[n].Writes, uint32(0); id != 0; prev, id = id, s.Writes[id].NextOfTxn {
			if w := &s.Writes[id]; w.Txn != uint32(n) || w.PrevOfTxn != prev {
				return fmt.Errorf("transaction %d lists write %d of %d, back to %d", n, id, w.Txn, w.PrevOfTxn)
			}
		}
	}
	return s.checkSpill()
}

// IsDelete says whether w left a tombstone.
func (s *Ledger) IsDelete(w *Write) bool {
	return s.Versions[w.Version].Flags&Tombstone != 0
}
