package infer

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// ExternalRead is a transaction's read of a key before it wrote the key.
type ExternalRead struct {
	Version uint32
	Key     uint32
	Writer  uint32 // the one writer of the version, 0 for the initial version
	First   uint32 // the first operation that saw the version, and the last one
	Last    uint32
	Reread  bool // another version had been seen before
}

// ExternalReads appends the reads of n whose writer is known, in the order of its
// operations.
func (s *causes) ExternalReads(dst []ExternalRead, n uint32) []ExternalRead {
	from, again := len(dst), false
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		r := &s.readers[id]
		v := &s.versions[r.version]
		if v.flags&(ambiguous|baseline) != 0 || v.writer == n || v.writer == 0 && v.flags&initialVersion == 0 {
			continue
		}
		if r.how != surely || s.keys[v.key].flags&(unsupported|deleted) == unsupported|deleted {
			continue // of a list that somebody deleted nothing is known: see replaced
		}
		dst = append(dst, ExternalRead{r.version, v.key, v.writer, r.op, r.op, r.reread})
		again = again || r.again
	}
	mine := dst[from:]
	slices.Reverse(mine)
	slices.SortStableFunc(mine, func(a, b ExternalRead) int { return int(a.First) - int(b.First) })
	if again {
		s.readAgain(mine, n)
	}
	return dst
}

// readAgain finds the last operations that saw the same. n read some key several
// times.
func (s *causes) readAgain(reads []ExternalRead, n uint32) {
	s.scratch.Reset()
	if s.decoder.DecodeRecord(&s.scratch, event.Position{}, s.records.get(s.txns[n].record)) != nil {
		return // not possible: the record was written by AppendRecord
	}
	txn := &s.scratch.Txns[0]
	ops := s.scratch.OpsOf(txn)
	for i := range reads {
		r := &reads[i]
		for j := int(r.First) + 1; j < len(ops); j++ {
			o := &ops[j]
			if s.showsAgain(txn, o, r, &ops[r.First]) {
				r.Last = uint32(j)
			}
			if s.writesOf(txn, o, r.Key) {
				break // later reads see its own write
			}
		}
	}
}

// writesOf says whether o, an operation of the decoded t, writes k.
func (s *causes) writesOf(t *event.Txn, o *event.Op, k uint32) bool {
	if !writesVersion(o) {
		return false
	}
	h := s.inEpoch(&s.scratch, t, o.KeyHash)
	if ofElement(o) {
		h = elementHash(h, o.ValueHash)
	}
	return h == s.keys[k].hash
}

// showsAgain says whether o shows what r, a read by the operation first, does.
func (s *causes) showsAgain(t *event.Txn, o *event.Op, r *ExternalRead, first *event.Op) bool {
	v, k := &s.versions[r.Version], &s.keys[r.Key]
	nothing := v.flags&initialVersion != 0
	silent := t.Status == event.Unknown // only the elements that it showed are evidence
	h := s.inEpoch(&s.scratch, t, o.KeyHash)
	switch {
	case o.Kind == event.Range:
		if k.flags&element != 0 {
			return false
		}
		x := &s.scratch.Extras[o.Extra]
		rows := s.scratch.Rows[x.FirstRow : x.FirstRow+x.NumRows]
		for i := range rows {
			if s.inEpoch(&s.scratch, t, rows[i].KeyHash) == k.hash {
				return !nothing && k.identity(s.scratch.Bytes(rows[i].Version), rows[i].ValueHash) == v.hash
			}
		}
		from, to := covered(&s.scratch, x, rows)
		name := s.nameOf(r.Key)
		return nothing && !silent && (from == nil || bytes.Compare(name, from) >= 0) && (to == nil || bytes.Compare(name, to) < 0)
	case k.flags&element != 0:
		if h != s.keys[k.set()].hash || o.Kind != event.Read {
			return false
		}
		there := slices.ContainsFunc(s.scratch.ElemsOf(o), func(e event.Elem) bool { return elementHash(h, e.Hash) == k.hash })
		return there != nothing && !(nothing && silent)
	case h == k.hash && o.Kind == event.CAS && k.flags&versioned == 0:
		shown, hash := s.comparedWith(o)
		if len(shown) == 0 || string(shown) == "null" {
			return nothing && len(shown) > 0 && !silent
		}
		return !nothing && hash == v.hash
	case h != k.hash || o.Kind != event.Read:
		return false
	case first.Kind == event.Range || first.Kind == event.CAS && k.flags&versioned == 0:
		version, _ := versionOf(&s.scratch, o)
		return nothing == (o.Flags&event.NotFound != 0) && (nothing || k.identity(version, o.ValueHash) == v.hash)
	}
	return o.ValueHash == first.ValueHash && o.Flags&event.NotFound == first.Flags&event.NotFound
}

// identity is the hash of the version that a read of k shows. The version's text tells it, or else its
// value.
func (k *key) identity(version []byte, value event.Hash) event.Hash {
	if k.flags&versioned != 0 && len(version) > 0 {
		return versionIdentity(version)
	}
	return value
}

// comparedWith is the value that a cas of the decoded record found. A successful one found the value
// that it expected, and a failed one reports it. It is empty if the cas names none.
func (s *absences) comparedWith(o *event.Op) (text []byte, h event.Hash) {
	x := &s.scratch.Extras[o.Extra]
	if o.Flags&event.Success != 0 {
		return s.scratch.Bytes(x.Expected), x.ExpectedHash
	}
	return s.scratch.Bytes(x.Seen), x.SeenHash
}

// MaxShown bounds the elements that a list read is followed back.
const MaxShown = 4096

// Shown calls fn with the writers of the elements before v, as far as the elements are kept. A
// list read that ended at v has shown them too. It returns false when there are more than
// MaxShown.
func (s *causes) Shown(v uint32, fn func(writer uint32)) bool {
	x := &s.versions[v]
	if s.keys[x.key].kind != event.List {
		return true
	}
	last := x.writer
	for e, n := x.prev, 0; e != 0; e, n = s.versions[e].prev, n+1 {
		if n == MaxShown {
			return false
		}
		if w := s.versions[e].writer; w != 0 && w != last {
			fn(w)
			last = w
		}
	}
	return true
}

// OfList says whether the version is an element of a list.
func (s *causes) OfList(v uint32) bool { return s.keys[s.versions[v].key].kind == event.List }

// ReadUpTo says whether n is known to have read a key up to v. If a list read contradicts the
// order of its elements, only its last one is known.
func (s *causes) ReadUpTo(n, v uint32) bool {
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if s.readers[id].version == v {
			return true
		}
	}
	return false
}

// FoundBy is the ValueKey of what n found in the key of v before it wrote it. It is 0 if that is not
// known, and for lists.
func (s *causes) FoundBy(n, v uint32) uint64 {
	k := s.versions[v].key
	if s.keys[k].kind == event.List {
		return 0
	}
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if r := &s.readers[id]; s.versions[r.version].key == k && r.saw() {
			return s.valueKey(r.version)
		}
	}
	return 0
}

// ShownOf is an element by writer that a list read which ended at v has shown before
// v, 0 if there is none.
func (s *causes) ShownOf(v, writer uint32) uint32 {
	x := &s.versions[v]
	if s.keys[x.key].kind != event.List {
		return 0
	}
	for e, n := x.prev, 0; e != 0 && n < MaxShown; e, n = s.versions[e].prev, n+1 {
		if s.versions[e].writer == writer {
			return e
		}
	}
	return 0
}

// EachReadFrom calls fn with the versions by writer that reader is known to have read first of
// their keys. Versions that a list showed before its end are included.
func (s *causes) EachReadFrom(writer, reader uint32, fn func(version uint32)) {
	s.fromOne = s.ExternalReads(s.fromOne[:0], reader)
	for i := range s.fromOne {
		r := &s.fromOne[i]
		if r.Reread {
			continue
		}
		v := r.Version
		if r.Writer != writer {
			v = s.ShownOf(v, writer)
		}
		if v != 0 {
			fn(v)
		}
	}
}

// WrittenKeys appends the keys that n wrote, each once.
func (s *causes) WrittenKeys(dst []uint32, n uint32) []uint32 {
	from := len(dst)
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		k := s.versions[s.writes[id].version].key
		if len(dst)-from < 16 && slices.Contains(dst[from:], k) {
			continue
		}
		dst = append(dst, k)
	}
	if mine := dst[from:]; len(mine) > 16 {
		slices.Sort(mine)
		dst = dst[:from+len(slices.Compact(mine))]
	}
	return dst
}

// lastOf is the version of k that n left there, 0 if none.
func (s *ledger) lastOf(n, k uint32) uint32 {
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		if w := &s.writes[id]; s.versions[w.version].key == k && !w.intermediate {
			return w.version
		}
	}
	return 0
}

// sawOwnFuture is about what n read once more of a key before it wrote that value
// itself.
func (s *registers) sawOwnFuture(c *touch, n uint32) {
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if v := s.readers[id].version; v != c.readVer && s.versions[v].key == c.key && s.wroteNow(n, v) != 0 {
			s.makeAmbiguous(v)
			s.suspectFuture(v, n, s.readers[id].op)
		}
	}
}

// Missed is a version that n wrote and that a reader of v is known to have missed, 0 if there is none.
// For a register, n read v before it wrote, or v is the initial version. For a list, it is an append
// that a read up to v did not show, and that no other transaction can have made.
func (s *causes) Missed(n, v uint32) uint32 {
	x := &s.versions[v]
	if s.keys[x.key].kind == event.List {
		for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
			if w := &s.versions[s.writes[id].version]; w.key == x.key && w.flags&ambiguous == 0 && (w.flags&placed == 0 || w.index > x.index) {
				return s.writes[id].version
			}
		}
		return 0
	}
	if x.flags&initialVersion != 0 {
		return s.lastOf(n, x.key)
	}
	for id := x.over; id != 0; id = s.writes[id].nextOver {
		if s.writes[id].txn == n {
			return s.writes[id].version
		}
	}
	return 0
}

// sawAgain notes that n, in work, read v once more.
func (s *causes) sawAgain(v, n uint32) {
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if s.readers[id].version == v {
			s.readers[id].again = true
		}
	}
}

// sawAnother takes in that n read a register once more and saw another version. Levels below
// read atomic allow it, and the writer of that version comes before n too.
func (s *registers) sawAnother(c *touch, n, op uint32, h event.Hash, nothing bool) {
	var v uint32
	if nothing {
		s.foundNothing(c.key)
		s.mayHaveBeenDeleted(c.key)
		if s.absentUnknown(c.key) {
			s.countAbsent()
			s.readOpen(n, OpenNothing)
			return
		}
		v = s.absent(c.key)
	} else {
		v = s.plannedVersion(op, c.key, h)
		s.nobody(v)
	}
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if s.readers[id].version == v {
			s.readers[id].again = true
			return
		}
	}
	s.readers[s.addReader(n, v, op)].reread = true
	from := len(s.out.Edges)
	s.saw(v, n, op, false)
	kept := s.out.Edges[:from]
	for _, e := range s.out.Edges[from:] {
		if e.Label&WR != 0 {
			e.Label = Reread
			kept = append(kept, e)
		}
	}
	s.out.Edges = kept
}

// Session is the session of n and whether n follows from and is followed in it:
// nothing follows from one of unknown outcome. 0 without a place in one.
func (s *causes) Session(n uint32) (session uint32, open bool) {
	t := &s.txns[n]
	if t.flags&inSession == 0 {
		return 0, false
	}
	return t.session, t.flags&unknown != 0
}

// SessionRetired says whether a member of the session has retired.
func (s *causes) SessionRetired(session uint32) bool {
	x := &s.sessions[session]
	return x.retired|x.unsure != 0
}

// Latest is the generation of the transaction that came last.
func (s *causes) Latest() uint32 { return s.gen }

// Generation tells two users of the number n apart.
func (s *causes) Generation(n uint32) uint32 { return s.txns[n].gen }

// Holds says whether n is a transaction that is in memory.
func (s *causes) Holds(n uint32) bool { return int(n) < len(s.txns) && s.txns[n].gen != 0 }

// Slots is more than the greatest number of a transaction in memory.
func (s *causes) Slots() uint32 { return uint32(len(s.txns)) }

// Counts says whether n is a transaction that takes part.
func (s *causes) Counts(n uint32) bool { return int(n) < len(s.txns) && s.txns[n].state == counted }

// Follows says whether b comes behind a in a session that they both have a place in,
// and something follows from a's end.
func (s *causes) Follows(a, b uint32) bool {
	x, y := &s.txns[a], &s.txns[b]
	return x.session != 0 && x.session == y.session && x.flags&y.flags&inSession != 0 && x.flags&unknown == 0 && s.follows(b, a)
}

// EachKept calls fn with the versions of the register k that are kept of the retired,
// and their writers.
func (s *causes) EachKept(k uint32, fn func(version, writer uint32)) {
	if s.keys[k].kind == event.List {
		return
	}
	for v := s.keys[k].unplaced; v != 0; v = s.versions[v].sibling {
		if x := &s.versions[v]; x.writer != 0 && x.flags&initialVersion == 0 {
			fn(v, x.writer)
		}
	}
}

// Overtake notes that n, another writer of v's key, has retired behind v's, which is w. To read v now
// is to read an old state, as far as is known. If the two ran at the same time, it is a guess.
func (s *causes) Overtake(v, w, n uint32) {
	if s.endedBefore(w, n) || s.Follows(w, n) {
		s.versions[v].flags |= overwritten
	} else {
		s.versions[v].flags |= overtaken
	}
}

// Overtaken says whether to read v now is to read an old state. guess says that it is not known.
func (s *causes) Overtaken(v uint32) (is, guess bool) {
	x := s.versions[v].flags & old
	return x != 0, x == overtaken
}

// OvertakeLast is Overtake of the version of k that n left. w wrote k too.
func (s *causes) OvertakeLast(n, k, w uint32) {
	if v := s.lastOf(n, k); v != 0 && s.keys[k].kind != event.List {
		s.Overtake(v, n, w)
	}
}

// EachTaken calls fn with every transaction in memory that did not abort, in the
// order of arrival.
func (s *causes) EachTaken(fn func(n uint32)) {
	var ns []uint32
	for n := range s.txns {
		if st := s.txns[n].state; st == counted || st == tentative {
			ns = append(ns, uint32(n))
		}
	}
	slices.SortFunc(ns, func(a, b uint32) int { return cmp.Compare(s.txns[a].gen, s.txns[b].gen) })
	for _, n := range ns {
		fn(n)
	}
}
