package sets

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
	"github.com/zeebo/xxh3"
)

// Sets has sets, and reads of ranges. Their elements are registers.
type Sets struct {
	*registers.Registers
	scans     []scan
	freeScans flat.Slots
	bounds    ledger.Arena // the first and the last key of each scan
	ordered   []ranges     // no state: made from keys and names
	newScans  []uint32     // scratch: the scans of the transaction in work
	name      []byte       // scratch
}

// A scan is a read of a set, or of a range of keys. It shows some places of its domain: the elements of
// the set, or the keys between the bounds. It found nothing at all other places, even at places that no
// record has named yet. So when a place is made later, the scans in memory that cover it become readers
// of its initial version. A scan that has retired needs no edge: edges out of it agree by rule (b).
//
// An element of a set is a key of its own, a register that is there or not. Its name consists
// of the set's name and its text, with a byte that no UTF-8 text has before each.

// scan is 40 bytes.
type scan struct {
	from, to   ledger.Place // of a range, in Sets.bounds; 0 is open
	txn, op    uint32       // the reader, and its operation
	domain     uint32       // the set, or the key that stands for all keys of an epoch
	prev, next uint32       // in the domain's list
	nextOfTxn  uint32
}

// ranges are the keys of one epoch in the order of their names, from its first
// range on.
type ranges struct {
	domain uint32
	blocks [][]uint32 // of keys, at most maxBlock each, none empty
}

const maxBlock = 256

// HasRanges says whether some transaction read a range.
func (s *Sets) HasRanges() bool { return len(s.ordered) > 0 }

// scansOf is the head of the domain's list; elements of a set begin at Key.Base.
func (s *Sets) scansOf(domain uint32) *uint64 { return &s.Keys[domain].BasePrefix }

// ElementKey interns the key of an element of the set k.
func (s *Sets) ElementKey(k uint32, text []byte, h event.Hash) uint32 {
	h = causes.ElementHash(s.Keys[k].Hash, h)
	if e := s.LookupKey(h); e != 0 {
		return e
	}
	s.name = append(append(append(append(s.name[:0], ledger.ElementMark), s.Names.Get(s.Keys[k].Name)...), ledger.ElementMark), text...)
	e := s.InternKey(h, s.name)
	x := &s.Keys[e]
	x.Kind, x.Flags = event.Register, x.Flags&^ledger.Versioned|ledger.Element
	x.Pattern = s.Keys[k].Pattern
	s.FollowPattern(e)
	x.Length, x.Base = k, s.Keys[k].Base
	s.Keys[k].Base = e
	for _, id := range slices.Backward(s.newScans) {
		if x := &s.scans[id]; x.domain == k {
			s.readMissing(e, x.txn, x.op)
		}
	}
	for id := uint32(*s.scansOf(k)); id != 0; id = s.scans[id].next {
		s.foundMissing(id, e)
	}
	return e
}

// ReadSet takes a read of the set k.
func (s *Sets) ReadSet(b *event.Batch, n, i, k uint32, o *event.Op) {
	nothing := o.Flags&event.NotFound != 0
	if !nothing && o.Flags&event.IsArray == 0 {
		s.GiveUp(k)
		s.ReadUnchecked(n, k)
		return
	}
	if !nothing {
		for _, e := range b.ElemsOf(o) {
			c := s.TouchOf(s.ElementKey(k, b.Bytes(e.Value), e.Hash))
			c.ShownBy = i + 1
			s.ReadValue(c, n, i, e.Hash, false)
		}
	}
	if !s.scansAbsence(n) {
		return
	}
	s.addScan(n, i, k, nil, nil)
	for e := s.Keys[k].Base; e != 0; e = s.Keys[e].Base {
		s.readMissing(e, n, i)
	}
}

// scansAbsence says whether a scan of n proves the absence of the places that it did not show.
func (s *Sets) scansAbsence(n uint32) bool {
	if s.Txns[n].Flags&ledger.Unknown != 0 {
		return false // what it saw is not known
	}
	if s.Opt.Vacant() {
		s.CountAbsent()
		s.ReadOpen(n, ledger.OpenNothing)
		return false
	}
	return true
}

// readMissing is the read of k by a scan of n, the transaction in work, unless the
// scan showed it.
func (s *Sets) readMissing(k, n, i uint32) {
	if c := s.TouchOf(k); c.ShownBy != i+1 {
		s.ReadValue(c, n, i, event.Hash{}, true)
	}
}

// foundMissing takes in that the scan id, of a transaction that was counted before, found nothing at
// k, which has just been made.
func (s *Sets) foundMissing(id, k uint32) {
	x := s.scans[id]
	s.FoundNothing(k)
	s.AddReader(x.txn, s.Absent(k), x.op)
}

// addScan notes a scan of n, the transaction in work. The scan comes into the list of its domain when
// all operations of n are counted: see LinkScans. Until then n may read more of the places that the
// scan covers.
func (s *Sets) addScan(n, op, domain uint32, from, to []byte) {
	id, ok := s.freeScans.Take()
	if !ok {
		if len(s.scans) == 0 {
			s.scans = append(s.scans, scan{})
		}
		id = uint32(len(s.scans))
		s.scans = flat.Push(s.scans, scan{})
	}
	x := scan{txn: n, op: op, domain: domain, nextOfTxn: s.Txns[n].Scans}
	if from != nil {
		x.from = s.bounds.Put(from)
	}
	if to != nil {
		x.to = s.bounds.Put(to)
	}
	s.scans[id], s.Txns[n].Scans = x, id
	s.newScans = append(s.newScans, id)
}

// LinkScans puts the scans of the transaction in work, whose operations are counted, into the lists of
// their domains.
func (s *Sets) LinkScans() {
	for _, id := range s.newScans {
		x := &s.scans[id]
		head := s.scansOf(x.domain)
		if x.next = uint32(*head); x.next != 0 {
			s.scans[x.next].prev = id
		}
		*head = uint64(id)
	}
	s.newScans = s.newScans[:0]
}

// DropScans frees the scans of n, which retires or does not count any more.
func (s *Sets) DropScans(n uint32) {
	for id := s.Txns[n].Scans; id != 0; {
		x := s.scans[id]
		if x.prev != 0 {
			s.scans[x.prev].next = x.next
		} else {
			*s.scansOf(x.domain) = uint64(x.next)
		}
		if x.next != 0 {
			s.scans[x.next].prev = x.prev
		}
		s.bounds.Drop(x.from)
		s.bounds.Drop(x.to)
		s.scans[id] = scan{}
		s.freeScans.Give(id)
		id = x.nextOfTxn
	}
	s.Txns[n].Scans = 0
}

// ReadRange takes a range. k stands for the keys of its epoch.
func (s *Sets) ReadRange(b *event.Batch, t *event.Txn, n, i, k uint32, o *event.Op) {
	at, whole := s.RangesOf(k)
	if !whole {
		s.ReadOpen(n, ledger.OpenUnchecked)
	}
	x := &b.Extras[o.Extra]
	rows := b.Rows[x.FirstRow : x.FirstRow+x.NumRows]
	for j := range rows {
		r := &rows[j]
		key := s.InternKey(s.InEpoch(b, t, r.KeyHash), b.Bytes(r.Key))
		if !s.asRegister(key) {
			s.ReadUnchecked(n, key)
			continue
		}
		c := s.TouchOf(key)
		c.ShownBy = i + 1
		switch version := b.Bytes(r.Version); {
		case s.Keys[key].Flags&ledger.Versioned == 0:
			s.ReadValue(c, n, i, r.ValueHash, false)
		case len(version) > 0:
			s.ReadNamed(n, i, key, version, r.ValueHash)
		default:
			s.Counters.Ambiguous++ // the row tells no version
			s.ReadOpen(n, ledger.OpenNameless)
		}
	}
	if !s.scansAbsence(n) {
		return
	}
	from, to := causes.Covered(b, x, rows)
	s.addScan(n, i, k, from, to)
	s.ordered[at].each(s, from, to, func(key uint32) {
		if s.asRegister(key) {
			s.readMissing(key, n, i)
		} else {
			s.ReadUnchecked(n, key)
		}
	})
}

// TellByRows notes that rows of o tell the versions of their keys.
func (s *Sets) TellByRows(b *event.Batch, t *event.Txn, o *event.Op) {
	x := &b.Extras[o.Extra]
	rows := b.Rows[x.FirstRow : x.FirstRow+x.NumRows]
	for i := range rows {
		if rows[i].Version.Len == 0 {
			continue
		}
		k := s.InternKey(s.InEpoch(b, t, rows[i].KeyHash), b.Bytes(rows[i].Key))
		if y := &s.Keys[k]; y.Flags&(ledger.Unsupported|ledger.Sums) == 0 && y.Kind <= event.Register {
			s.TellByVersion(k)
		}
	}
}

// asRegister says whether what a range shows of k can be used, and counts it if not.
func (s *Sets) asRegister(k uint32) bool {
	x := &s.Keys[k]
	if x.Flags&(ledger.Unsupported|ledger.Sums) != 0 || x.Kind > event.Register {
		s.Counters.Ignored++
		return false
	}
	if x.Kind == event.AnyKind {
		s.ReadPlainly(k)
	}
	return true
}

// ReadPlainly notes that k, whose kind is not known yet, was read as a register.
func (s *Sets) ReadPlainly(k uint32) {
	if x := &s.Keys[k]; x.Length == 0 {
		x.Length = 1
		if len(s.ordered) > 0 {
			s.Enroll(k)
		}
	}
}

// RangesOf is the index in s.ordered of the keys of k's epoch, which it sorts when k's first range
// comes. whole is false if keys were out of memory then: they are not known to be there.
func (s *Sets) RangesOf(k uint32) (at int, whole bool) {
	for i := range s.ordered {
		if s.ordered[i].domain == k {
			return i, true
		}
	}
	whole = s.Spill.Keys == 0
	if !whole {
		s.Counters.Ignored++
	}
	s.ordered = append(s.ordered, s.sorted(k))
	return len(s.ordered) - 1, whole
}

func (s *Sets) sorted(domain uint32) ranges {
	var all []uint32
	for k := range s.Keys {
		if s.within(uint32(k), domain) {
			all = append(all, uint32(k))
		}
	}
	slices.SortFunc(all, func(a, b uint32) int { return bytes.Compare(s.NameOf(a), s.NameOf(b)) })
	r := ranges{domain: domain}
	for part := range slices.Chunk(all, maxBlock/2) {
		r.blocks = append(r.blocks, slices.Clone(part))
	}
	return r
}

// within says whether k is a key of the epoch that the domain stands for. The epoch's hash is
// the hash of an empty name in it.
func (s *Sets) within(k, domain uint32) bool {
	y := &s.Keys[k]
	if k == domain || y.Flags&(ledger.Element|ledger.Sums) != 0 || y.Kind > event.Register || y.Kind == event.AnyKind && y.Length == 0 {
		return false // also of a number that no key has
	}
	h, x, d := xxh3.Hash128(s.NameOf(k)), y.Hash, s.Keys[domain].Hash
	return x.Hi-d.Hi == h.Hi && x.Lo^d.Lo == h.Lo
}

// Enroll puts k, which from now on is a register, or was read as one, among the ordered keys.
// The scans that cover k become its readers.
func (s *Sets) Enroll(k uint32) {
	for i := range s.ordered {
		r := &s.ordered[i]
		if !s.within(k, r.domain) {
			continue
		}
		r.insert(s, k)
		name := s.NameOf(k)
		for _, id := range slices.Backward(s.newScans) {
			if x := &s.scans[id]; x.domain == r.domain && s.covers(x, name) {
				s.readMissing(k, x.txn, x.op)
			}
		}
		for id := uint32(*s.scansOf(r.domain)); id != 0; id = s.scans[id].next {
			if s.covers(&s.scans[id], name) {
				s.foundMissing(id, k)
			}
		}
	}
}

// covers says whether a key of this name is within the bounds of x.
func (s *Sets) covers(x *scan, name []byte) bool {
	return (x.from == 0 || bytes.Compare(name, s.bounds.Get(x.from)) >= 0) && (x.to == 0 || bytes.Compare(name, s.bounds.Get(x.to)) < 0)
}

// EnrollAgain puts k, which came back, among the ordered keys. Scans in memory that lack the key are
// not compared with it. If the source's first range lacked it, that was counted as not checked.
func (s *Sets) EnrollAgain(k uint32) {
	for i := range s.ordered {
		if r := &s.ordered[i]; s.within(k, r.domain) {
			r.insert(s, k)
		}
	}
}

// insert puts k into its place.
func (r *ranges) insert(s *Sets, k uint32) {
	name := s.NameOf(k)
	if len(r.blocks) == 0 {
		r.blocks = [][]uint32{{k}}
		return
	}
	at := max(0, r.block(s, name)-1)
	b := r.blocks[at]
	i, _ := slices.BinarySearchFunc(b, name, func(k uint32, name []byte) int { return bytes.Compare(s.NameOf(k), name) })
	b = slices.Insert(b, i, k)
	r.blocks[at] = b
	if len(b) > maxBlock {
		r.blocks = slices.Insert(r.blocks, at+1, slices.Clone(b[maxBlock/2:]))
		r.blocks[at] = b[:maxBlock/2]
	}
}

// block is the first block that begins behind the name.
func (r *ranges) block(s *Sets, name []byte) int {
	i, _ := slices.BinarySearchFunc(r.blocks, name, func(b []uint32, name []byte) int {
		if bytes.Compare(s.NameOf(b[0]), name) <= 0 {
			return -1
		}
		return 1
	})
	return i
}

// each calls fn with the keys from one name to another, in their order. fn makes no
// keys.
func (r *ranges) each(s *Sets, from, to []byte, fn func(uint32)) {
	at := 0
	if from != nil {
		at = max(0, r.block(s, from)-1)
	}
	for ; at < len(r.blocks); at++ {
		for _, k := range r.blocks[at] {
			name := s.NameOf(k)
			if to != nil && bytes.Compare(name, to) >= 0 {
				return
			}
			if from == nil || bytes.Compare(name, from) >= 0 {
				fn(k)
			}
		}
	}
}

// AppendScans writes the scans, and which epochs have had a range.
func (s *Sets) AppendScans(dst *flat.Writer) *flat.Writer {
	dst = flat.Append(dst, "scans", s.scans)
	dst = s.freeScans.AppendState(dst, "freeScans")
	dst = s.bounds.AppendState(dst)
	var domains []uint32
	for i := range s.ordered {
		domains = append(domains, s.ordered[i].domain)
	}
	return flat.Append(dst, "domains", domains)
}

// ReadScans reads what AppendScans wrote, when the keys and their names are read.
func (s *Sets) ReadScans(r *flat.Reader) {
	flat.Read(r, "scans", &s.scans)
	s.freeScans.ReadState(r, "freeScans")
	s.bounds.ReadState(r)
	var domains []uint32
	flat.Read(r, "domains", &domains)
	s.ordered = nil
	for _, d := range domains {
		if int(d) < len(s.Keys) && r.Err == nil {
			s.ordered = append(s.ordered, s.sorted(d))
		}
	}
}

// AddElement takes an add to the set k by n.
func (s *Sets) AddElement(b *event.Batch, n, i, k uint32, o *event.Op) {
	s.Write(s.TouchOf(s.ElementKey(k, b.Bytes(o.Value), o.ValueHash)), n, i, o.ValueHash)
}

// RemoveElement takes a remove from the set k by n, with the record of n.
func (s *Sets) RemoveElement(b *event.Batch, t *event.Txn, n, i, k uint32, o *event.Op) {
	s.RemovePart(b, t, n, i, s.ElementKey(k, b.Bytes(o.Value), o.ValueHash))
}

// RemovePart takes a remove of the element whose key is e by n, with the record of n.
func (s *Sets) RemovePart(b *event.Batch, t *event.Txn, n, i, e uint32) {
	s.Deletion(e, n)
	c := s.TouchOf(e)
	s.Write(c, n, i, s.Removed(b, t, e))
	c.Flags |= causes.Removed
}

// Replaced takes back what rests on k having been added to and removed from only: another operation may
// have replaced or deleted it. Nothing is concluded about its elements any more.
func (s *Sets) Replaced(k uint32) {
	for e := s.Keys[k].Base; e != 0; e = s.Keys[e].Base {
		s.Deletion(e, 0)
		for id := s.Versions[s.Keys[e].Initial].Over; id != 0; id = s.Writes[id].NextOver {
			s.Void(s.Writes[id].Version)
			s.MakeAmbiguous(s.Writes[id].Version)
		}
		s.Keys[e].Flags |= ledger.Unsupported // later adds are not taken in
	}
}

// CheckScans audits the lists of scans and their back links.
func (s *Sets) CheckScans() error {
	for n := range s.Txns {
		for id := s.Txns[n].Scans; id != 0; id = s.scans[id].nextOfTxn {
			x := &s.scans[id]
			head := uint32(*s.scansOf(x.domain))
			switch {
			case x.txn != uint32(n):
				return fmt.Errorf("transaction %d lists scan %d of %d", n, id, x.txn)
			case x.prev == 0 && head != id, x.prev != 0 && s.scans[x.prev].next != id, x.next != 0 && s.scans[x.next].prev != id:
				return fmt.Errorf("scan %d is not linked in the list of key %d", id, x.domain)
			}
		}
	}
	return nil
}

// Memory is the size of the scans and their bounds, bytes.
func (s *Sets) Memory() (used, taken int64) {
	used, taken = ledger.SizeOf(s.scans, &s.freeScans)
	return used + s.bounds.InUse, taken + s.bounds.Taken()
}
