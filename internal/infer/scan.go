package infer

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/zeebo/xxh3"
)

// A scan is a read of a set, or of a range of keys. It shows some places of its domain: the elements of
// the set, or the keys between the bounds. It found nothing at all other places, even at places that no
// record has named yet. So when a place is made later, the scans in memory that cover it become readers
// of its initial version. A scan that has retired needs no edge: edges out of it agree by rule (b).
//
// An element of a set is a key of its own, a register that is there or not. Its name consists
// of the set's name and its text, with a byte that no UTF-8 text has before each.

// scan is 40 bytes.
type scan struct {
	from, to   ref    // of a range, in State.bounds; 0 is open
	txn, op    uint32 // the reader, and its operation
	domain     uint32 // the set, or the key that stands for all keys of an epoch
	prev, next uint32 // in the domain's list
	nextOfTxn  uint32
}

// elementMark is before the two parts of an element's name.
const elementMark = 0xff

// ranges are the keys of one epoch in the order of their names, from its first
// range on.
type ranges struct {
	domain uint32
	blocks [][]uint32 // of keys, at most maxBlock each, none empty
}

const maxBlock = 256

// scans is the head of the domain's list; elements of a set begin at key.base.
func (s *sets) scansOf(domain uint32) *uint64 { return &s.keys[domain].basePrefix }

// elementHash is the hash of the key that stands for the element of the set. Its multiplier
// differs from versionHash's: else valueKey would take the element out again.
func elementHash(set, elem event.Hash) event.Hash {
	return event.Hash{
		Lo: bits.RotateLeft64(set.Lo, 17) ^ elem.Lo*0xbf58476d1ce4e5b9,
		Hi: bits.RotateLeft64(set.Hi, 31) + elem.Hi ^ 0x656c656d656e7473,
	}
}

// elementKey interns the key of an element of the set k.
func (s *sets) elementKey(k uint32, text []byte, h event.Hash) uint32 {
	h = elementHash(s.keys[k].hash, h)
	if e := s.lookupKey(h); e != 0 {
		return e
	}
	s.name = append(append(append(append(s.name[:0], elementMark), s.names.get(s.keys[k].name)...), elementMark), text...)
	e := s.internKey(h, s.name)
	x := &s.keys[e]
	x.kind, x.flags = event.Register, x.flags&^versioned|element
	x.pattern = s.keys[k].pattern
	s.followPattern(e)
	x.length, x.base = k, s.keys[k].base
	s.keys[k].base = e
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

// elementName cuts the name of an element into set and text.
func elementName(name []byte) (set, text []byte) {
	i := bytes.LastIndexByte(name, elementMark)
	return name[1:i], name[i+1:]
}

// readSet takes a read of the set k.
func (s *sets) readSet(b *event.Batch, n, i, k uint32, o *event.Op) {
	nothing := o.Flags&event.NotFound != 0
	if !nothing && o.Flags&event.IsArray == 0 {
		s.giveUp(k)
		s.readUnchecked(n, k)
		return
	}
	if !nothing {
		for _, e := range b.ElemsOf(o) {
			c := s.touchOf(s.elementKey(k, b.Bytes(e.Value), e.Hash))
			c.shownBy = i + 1
			s.readValue(c, n, i, e.Hash, false)
		}
	}
	if !s.scansAbsence(n) {
		return
	}
	s.addScan(n, i, k, nil, nil)
	for e := s.keys[k].base; e != 0; e = s.keys[e].base {
		s.readMissing(e, n, i)
	}
}

// scansAbsence says whether a scan of n proves the absence of the places that it did not show.
func (s *sets) scansAbsence(n uint32) bool {
	if s.txns[n].flags&unknown != 0 {
		return false // what it saw is not known
	}
	if s.opt.vacant() {
		s.countAbsent()
		s.readOpen(n, OpenNothing)
		return false
	}
	return true
}

// readMissing is the read of k by a scan of n, the transaction in work, unless the
// scan showed it.
func (s *sets) readMissing(k, n, i uint32) {
	if c := s.touchOf(k); c.shownBy != i+1 {
		s.readValue(c, n, i, event.Hash{}, true)
	}
}

// foundMissing takes in that the scan id, of a transaction that was counted before, found nothing at
// k, which has just been made.
func (s *sets) foundMissing(id, k uint32) {
	x := s.scans[id]
	s.foundNothing(k)
	s.addReader(x.txn, s.absent(k), x.op)
}

// addScan notes a scan of n, the transaction in work. The scan comes into the list of its domain when
// all operations of n are counted: see linkScans. Until then n may read more of the places that the
// scan covers.
func (s *sets) addScan(n, op, domain uint32, from, to []byte) {
	id, ok := s.freeScans.Take()
	if !ok {
		if len(s.scans) == 0 {
			s.scans = append(s.scans, scan{})
		}
		id = uint32(len(s.scans))
		s.scans = flat.Push(s.scans, scan{})
	}
	x := scan{txn: n, op: op, domain: domain, nextOfTxn: s.txns[n].scans}
	if from != nil {
		x.from = s.bounds.put(from)
	}
	if to != nil {
		x.to = s.bounds.put(to)
	}
	s.scans[id], s.txns[n].scans = x, id
	s.newScans = append(s.newScans, id)
}

// linkScans puts the scans of the transaction in work, whose operations are counted, into the lists of
// their domains.
func (s *sets) linkScans() {
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

// dropScans frees the scans of n, which retires or does not count any more.
func (s *sets) dropScans(n uint32) {
	for id := s.txns[n].scans; id != 0; {
		x := s.scans[id]
		if x.prev != 0 {
			s.scans[x.prev].next = x.next
		} else {
			*s.scansOf(x.domain) = uint64(x.next)
		}
		if x.next != 0 {
			s.scans[x.next].prev = x.prev
		}
		s.bounds.drop(x.from)
		s.bounds.drop(x.to)
		s.scans[id] = scan{}
		s.freeScans.Give(id)
		id = x.nextOfTxn
	}
	s.txns[n].scans = 0
}

// readRange takes a range. k stands for the keys of its epoch.
func (s *sets) readRange(b *event.Batch, t *event.Txn, n, i, k uint32, o *event.Op) {
	at, whole := s.rangesOf(k)
	if !whole {
		s.readOpen(n, OpenUnchecked)
	}
	x := &b.Extras[o.Extra]
	rows := b.Rows[x.FirstRow : x.FirstRow+x.NumRows]
	for j := range rows {
		r := &rows[j]
		key := s.internKey(s.inEpoch(b, t, r.KeyHash), b.Bytes(r.Key))
		if !s.asRegister(key) {
			s.readUnchecked(n, key)
			continue
		}
		c := s.touchOf(key)
		c.shownBy = i + 1
		switch version := b.Bytes(r.Version); {
		case s.keys[key].flags&versioned == 0:
			s.readValue(c, n, i, r.ValueHash, false)
		case len(version) > 0:
			s.readNamed(n, i, key, version, r.ValueHash)
		default:
			s.Counters.Ambiguous++ // the row tells no version
			s.readOpen(n, OpenNameless)
		}
	}
	if !s.scansAbsence(n) {
		return
	}
	from, to := covered(b, x, rows)
	s.addScan(n, i, k, from, to)
	s.ordered[at].each(s, from, to, func(key uint32) {
		if s.asRegister(key) {
			s.readMissing(key, n, i)
		} else {
			s.readUnchecked(n, key)
		}
	})
}

// tellByRows notes that rows of o tell the versions of their keys.
func (s *sets) tellByRows(b *event.Batch, t *event.Txn, o *event.Op) {
	x := &b.Extras[o.Extra]
	rows := b.Rows[x.FirstRow : x.FirstRow+x.NumRows]
	for i := range rows {
		if rows[i].Version.Len == 0 {
			continue
		}
		k := s.internKey(s.inEpoch(b, t, rows[i].KeyHash), b.Bytes(rows[i].Key))
		if y := &s.keys[k]; y.flags&(unsupported|sums) == 0 && y.kind <= event.Register {
			s.tellByVersion(k)
		}
	}
}

// covered are the bounds between which a range shows all that is there. from is inclusive, to
// is exclusive, and nil is open. A limit that was reached ends the range at its last row.
func covered(b *event.Batch, x *event.Extra, rows []event.Row) (from, to []byte) {
	if x.HasFrom {
		from = b.Bytes(x.From)
	}
	if x.HasTo {
		to = b.Bytes(x.To)
	}
	if x.Limit == 0 || int64(len(rows)) < x.Limit {
		return from, to
	}
	last := b.Bytes(rows[0].Key)
	for i := range rows {
		if key := b.Bytes(rows[i].Key); (bytes.Compare(key, last) > 0) != x.Desc {
			last = key
		}
	}
	if x.Desc {
		return last, to
	}
	return from, append(slices.Clone(last), 0) // the next text
}

// asRegister says whether what a range shows of k can be used, and counts it if not.
func (s *sets) asRegister(k uint32) bool {
	x := &s.keys[k]
	if x.flags&(unsupported|sums) != 0 || x.kind > event.Register {
		s.Counters.Ignored++
		return false
	}
	if x.kind == event.AnyKind {
		s.readPlainly(k)
	}
	return true
}

// readPlainly notes that k, whose kind is not known yet, was read as a register.
func (s *sets) readPlainly(k uint32) {
	if x := &s.keys[k]; x.length == 0 {
		x.length = 1
		if len(s.ordered) > 0 {
			s.enroll(k)
		}
	}
}

// rangesOf is the index in s.ordered of the keys of k's epoch, which it sorts when k's first range
// comes. whole is false if keys were out of memory then: they are not known to be there.
func (s *sets) rangesOf(k uint32) (at int, whole bool) {
	for i := range s.ordered {
		if s.ordered[i].domain == k {
			return i, true
		}
	}
	whole = s.spill.keys == 0
	if !whole {
		s.Counters.Ignored++
	}
	s.ordered = append(s.ordered, s.sorted(k))
	return len(s.ordered) - 1, whole
}

func (s *sets) sorted(domain uint32) ranges {
	var all []uint32
	for k := range s.keys {
		if s.keys[k].count > 0 && s.within(uint32(k), domain) {
			all = append(all, uint32(k))
		}
	}
	slices.SortFunc(all, func(a, b uint32) int { return bytes.Compare(s.nameOf(a), s.nameOf(b)) })
	r := ranges{domain: domain}
	for part := range slices.Chunk(all, maxBlock/2) {
		r.blocks = append(r.blocks, slices.Clone(part))
	}
	return r
}

func (s *ledger) nameOf(k uint32) []byte { return s.names.get(s.keys[k].name) }

// within says whether k is a key of the epoch that the domain stands for. The epoch's hash is
// the hash of an empty name in it.
func (s *sets) within(k, domain uint32) bool {
	name := s.nameOf(k)
	y := &s.keys[k]
	if k == domain || y.flags&(element|sums) != 0 || y.kind > event.Register || y.kind == event.AnyKind && y.length == 0 {
		return false
	}
	h, x, d := xxh3.Hash128(name), s.keys[k].hash, s.keys[domain].hash
	return x.Hi-d.Hi == h.Hi && x.Lo^d.Lo == h.Lo
}

// enroll puts k, which from now on is a register, or was read as one, among the ordered keys.
// The scans that cover k become its readers.
func (s *sets) enroll(k uint32) {
	for i := range s.ordered {
		r := &s.ordered[i]
		if !s.within(k, r.domain) {
			continue
		}
		r.insert(s, k)
		name := s.nameOf(k)
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
func (s *sets) covers(x *scan, name []byte) bool {
	return (x.from == 0 || bytes.Compare(name, s.bounds.get(x.from)) >= 0) && (x.to == 0 || bytes.Compare(name, s.bounds.get(x.to)) < 0)
}

// enrollAgain puts k, which came back, among the ordered keys. Scans in memory that lack the key are
// not compared with it. If the source's first range lacked it, that was counted as not checked.
func (s *sets) enrollAgain(k uint32) {
	for i := range s.ordered {
		if r := &s.ordered[i]; s.within(k, r.domain) {
			r.insert(s, k)
		}
	}
}

// insert puts k into its place.
func (r *ranges) insert(s *sets, k uint32) {
	name := s.nameOf(k)
	if len(r.blocks) == 0 {
		r.blocks = [][]uint32{{k}}
		return
	}
	at := max(0, r.block(s, name)-1)
	b := r.blocks[at]
	i, _ := slices.BinarySearchFunc(b, name, func(k uint32, name []byte) int { return bytes.Compare(s.nameOf(k), name) })
	b = slices.Insert(b, i, k)
	r.blocks[at] = b
	if len(b) > maxBlock {
		r.blocks = slices.Insert(r.blocks, at+1, slices.Clone(b[maxBlock/2:]))
		r.blocks[at] = b[:maxBlock/2]
	}
}

// block is the first block that begins behind the name.
func (r *ranges) block(s *sets, name []byte) int {
	i, _ := slices.BinarySearchFunc(r.blocks, name, func(b []uint32, name []byte) int {
		if bytes.Compare(s.nameOf(b[0]), name) <= 0 {
			return -1
		}
		return 1
	})
	return i
}

// each calls fn with the keys from one name to another, in their order. fn makes no
// keys.
func (r *ranges) each(s *sets, from, to []byte, fn func(uint32)) {
	at := 0
	if from != nil {
		at = max(0, r.block(s, from)-1)
	}
	for ; at < len(r.blocks); at++ {
		for _, k := range r.blocks[at] {
			name := s.nameOf(k)
			if to != nil && bytes.Compare(name, to) >= 0 {
				return
			}
			if from == nil || bytes.Compare(name, from) >= 0 {
				fn(k)
			}
		}
	}
}

func (s *sets) appendScans(dst *flat.Writer) *flat.Writer {
	dst = flat.Append(dst, "scans", s.scans)
	dst = s.freeScans.AppendState(dst, "freeScans")
	dst = s.bounds.appendState(dst)
	var domains []uint32
	for i := range s.ordered {
		domains = append(domains, s.ordered[i].domain)
	}
	return flat.Append(dst, "domains", domains)
}

// readScans comes when the keys and names are read.
func (s *sets) readScans(r *flat.Reader) {
	flat.Read(r, "scans", &s.scans)
	s.freeScans.ReadState(r, "freeScans")
	s.bounds.readState(r)
	var domains []uint32
	flat.Read(r, "domains", &domains)
	s.ordered = nil
	for _, d := range domains {
		if int(d) < len(s.keys) && r.Err == nil {
			s.ordered = append(s.ordered, s.sorted(d))
		}
	}
}

// addElement takes an add to the set k by n.
func (s *sets) addElement(b *event.Batch, n, i, k uint32, o *event.Op) {
	s.write(s.touchOf(s.elementKey(k, b.Bytes(o.Value), o.ValueHash)), n, i, o.ValueHash)
}

// removeElement takes a remove from the set k by n, with the record of n.
func (s *sets) removeElement(b *event.Batch, t *event.Txn, n, i, k uint32, o *event.Op) {
	e := s.elementKey(k, b.Bytes(o.Value), o.ValueHash)
	s.deletion(e, n)
	c := s.touchOf(e)
	s.write(c, n, i, s.written(b, t, e, o))
	c.flags |= removed
}

// Replaced takes back what rests on k having been added to and removed from only: another operation may
// have replaced or deleted it.
func (s *sets) Replaced(k uint32) {
	for e := s.keys[k].base; e != 0; e = s.keys[e].base {
		s.deletion(e, 0)
		for id := s.versions[s.keys[e].initial].over; id != 0; id = s.writes[id].nextOver {
			s.void(s.writes[id].version)
			s.makeAmbiguous(s.writes[id].version)
		}
	}
}

// check audits the lists of scans and their back links.
func (s *sets) check() error {
	for n := range s.txns {
		for id := s.txns[n].scans; id != 0; id = s.scans[id].nextOfTxn {
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

// memory is the size of the scans and their bounds, bytes.
func (s *sets) memory() (used, taken int64) {
	used, taken = slots(s.scans, &s.freeScans)
	return used + s.bounds.inUse, taken + s.bounds.taken()
}
