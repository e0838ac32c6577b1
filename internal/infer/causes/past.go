package causes

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
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
func (s *Causes) ExternalReads(dst []ExternalRead, n uint32) []ExternalRead {
	from, again := len(dst), false
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		r := &s.Readers[id]
		v := &s.Versions[r.Version]
		if v.Flags&(ledger.Ambiguous|ledger.Baseline) != 0 || v.Writer == n || v.Writer == 0 && v.Flags&ledger.InitialVersion == 0 {
			continue
		}
		if r.How != ledger.Surely || s.Keys[v.Key].Flags&(ledger.Unsupported|ledger.Deleted) == ledger.Unsupported|ledger.Deleted {
			continue // of a list that somebody deleted nothing is known: see Replaced in package lists
		}
		dst = append(dst, ExternalRead{r.Version, v.Key, v.Writer, r.Op, r.Op, r.Reread})
		again = again || r.Again
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
func (s *Causes) readAgain(reads []ExternalRead, n uint32) {
	s.Scratch.Reset()
	if s.Decoder.DecodeRecord(&s.Scratch, event.Position{}, s.Records.Get(s.Txns[n].Record)) != nil {
		return // not possible: the record was written by AppendRecord
	}
	txn := &s.Scratch.Txns[0]
	ops := s.Scratch.OpsOf(txn)
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
func (s *Causes) writesOf(t *event.Txn, o *event.Op, k uint32) bool {
	if !WritesVersion(o) {
		return false
	}
	h := s.InEpoch(&s.Scratch, t, o.KeyHash)
	if OfElement(o) {
		h = ElementHash(h, o.ValueHash)
	}
	return h == s.Keys[k].Hash
}

// showsAgain says whether o shows what r, a read by the operation first, does.
func (s *Causes) showsAgain(t *event.Txn, o *event.Op, r *ExternalRead, first *event.Op) bool {
	v, k := &s.Versions[r.Version], &s.Keys[r.Key]
	nothing := v.Flags&ledger.InitialVersion != 0
	silent := t.Status == event.Unknown // only the elements that it showed are evidence
	h := s.InEpoch(&s.Scratch, t, o.KeyHash)
	switch {
	case o.Kind == event.Range:
		if k.Flags&ledger.Element != 0 {
			return false
		}
		x := &s.Scratch.Extras[o.Extra]
		rows := s.Scratch.Rows[x.FirstRow : x.FirstRow+x.NumRows]
		for i := range rows {
			if s.InEpoch(&s.Scratch, t, rows[i].KeyHash) == k.Hash {
				return !nothing && k.Identity(s.Scratch.Bytes(rows[i].Version), rows[i].ValueHash) == v.Hash
			}
		}
		from, to := Covered(&s.Scratch, x, rows)
		name := s.NameOf(r.Key)
		return nothing && !silent && (from == nil || bytes.Compare(name, from) >= 0) && (to == nil || bytes.Compare(name, to) < 0)
	case k.Flags&ledger.Element != 0:
		if h != s.Keys[k.Set()].Hash || o.Kind != event.Read {
			return false
		}
		there := slices.ContainsFunc(s.Scratch.ElemsOf(o), func(e event.Elem) bool { return ElementHash(h, e.Hash) == k.Hash })
		return there != nothing && !(nothing && silent)
	case h == k.Hash && o.Kind == event.CAS && k.Flags&ledger.Versioned == 0:
		shown, hash := s.comparedWith(o)
		if len(shown) == 0 || string(shown) == "null" {
			return nothing && len(shown) > 0 && !silent
		}
		return !nothing && hash == v.Hash
	case h != k.Hash || o.Kind != event.Read:
		return false
	case first.Kind == event.Range || first.Kind == event.CAS && k.Flags&ledger.Versioned == 0:
		version, _ := VersionOf(&s.Scratch, o)
		return nothing == (o.Flags&event.NotFound != 0) && (nothing || k.Identity(version, o.ValueHash) == v.Hash)
	}
	return o.ValueHash == first.ValueHash && o.Flags&event.NotFound == first.Flags&event.NotFound
}

// comparedWith is the value that a cas of the decoded record found. A successful one found the value
// that it expected, and a failed one reports it. It is empty if the cas names none.
func (s *Absences) comparedWith(o *event.Op) (text []byte, h event.Hash) {
	x := &s.Scratch.Extras[o.Extra]
	if o.Flags&event.Success != 0 {
		return s.Scratch.Bytes(x.Expected), x.ExpectedHash
	}
	return s.Scratch.Bytes(x.Seen), x.SeenHash
}

// MaxShown bounds the elements that a list read is followed back.
const MaxShown = 4096

// Shown calls fn with the writers of the elements before v, as far as the elements are kept. A
// list read that ended at v has shown them too. It returns false when there are more than
// MaxShown.
func (s *Causes) Shown(v uint32, fn func(writer uint32)) bool {
	x := &s.Versions[v]
	if s.Keys[x.Key].Kind != event.List {
		return true
	}
	last := x.Writer
	for e, n := x.Prev, 0; e != 0; e, n = s.Versions[e].Prev, n+1 {
		if n == MaxShown {
			return false
		}
		if w := s.Versions[e].Writer; w != 0 && w != last {
			fn(w)
			last = w
		}
	}
	return true
}

// OfList says whether the version is an element of a list.
func (s *Causes) OfList(v uint32) bool { return s.Keys[s.Versions[v].Key].Kind == event.List }

// ReadUpTo says whether n is known to have read a key up to v. If a list read contradicts the
// order of its elements, only its last one is known.
func (s *Causes) ReadUpTo(n, v uint32) bool {
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if s.Readers[id].Version == v {
			return true
		}
	}
	return false
}

// FoundBy is the ValueKey of what n found in the key of v before it wrote it. It is 0 if that is not
// known, and for lists.
func (s *Causes) FoundBy(n, v uint32) uint64 {
	k := s.Versions[v].Key
	if s.Keys[k].Kind == event.List {
		return 0
	}
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if r := &s.Readers[id]; s.Versions[r.Version].Key == k && r.Saw() {
			return s.KeyOfValue(r.Version)
		}
	}
	return 0
}

// ShownOf is an element by writer that a list read which ended at v has shown before
// v, 0 if there is none.
func (s *Causes) ShownOf(v, writer uint32) uint32 {
	x := &s.Versions[v]
	if s.Keys[x.Key].Kind != event.List {
		return 0
	}
	for e, n := x.Prev, 0; e != 0 && n < MaxShown; e, n = s.Versions[e].Prev, n+1 {
		if s.Versions[e].Writer == writer {
			return e
		}
	}
	return 0
}

// EachReadFrom calls fn with the versions by writer that reader is known to have read first of
// their keys. Versions that a list showed before its end are included.
func (s *Causes) EachReadFrom(writer, reader uint32, fn func(version uint32)) {
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
func (s *Causes) WrittenKeys(dst []uint32, n uint32) []uint32 {
	from := len(dst)
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		k := s.Versions[s.Writes[id].Version].Key
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

// Missed is a version that n wrote and that a reader of v is known to have missed, 0 if there is none.
// For a register, n read v before it wrote, or v is the initial version. For a list, it is an append
// that a read up to v did not show, and that no other transaction can have made.
func (s *Causes) Missed(n, v uint32) uint32 {
	x := &s.Versions[v]
	if s.Keys[x.Key].Kind == event.List {
		for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
			if w := &s.Versions[s.Writes[id].Version]; w.Key == x.Key && w.Flags&ledger.Ambiguous == 0 && (w.Flags&ledger.Placed == 0 || w.Index > x.Index) {
				return s.Writes[id].Version
			}
		}
		return 0
	}
	if x.Flags&ledger.InitialVersion != 0 {
		return s.LastOf(n, x.Key)
	}
	for id := x.Over; id != 0; id = s.Writes[id].NextOver {
		if s.Writes[id].Txn == n {
			return s.Writes[id].Version
		}
	}
	return 0
}

// SawAgain notes that n, in work, read v once more.
func (s *Causes) SawAgain(v, n uint32) {
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if s.Readers[id].Version == v {
			s.Readers[id].Again = true
		}
	}
}

// Session is the session of n and whether n follows from and is followed in it:
// nothing follows from one of unknown outcome. 0 without a place in one.
func (s *Causes) Session(n uint32) (session uint32, open bool) {
	t := &s.Txns[n]
	if t.Flags&ledger.InSession == 0 {
		return 0, false
	}
	return t.Session, t.Flags&ledger.Unknown != 0
}

// SessionRetired says whether a member of the session has retired.
func (s *Causes) SessionRetired(session uint32) bool {
	x := &s.Sessions[session]
	return x.Retired|x.Unsure != 0
}

// Latest is the generation of the transaction that came last.
func (s *Causes) Latest() uint32 { return s.Gen }

// Generation tells two users of the number n apart.
func (s *Causes) Generation(n uint32) uint32 { return s.Txns[n].Gen }

// Holds says whether n is a transaction that is in memory.
func (s *Causes) Holds(n uint32) bool { return int(n) < len(s.Txns) && s.Txns[n].Gen != 0 }

// Slots is more than the greatest number of a transaction in memory.
func (s *Causes) Slots() uint32 { return uint32(len(s.Txns)) }

// Counts says whether n is a transaction that takes part.
func (s *Causes) Counts(n uint32) bool {
	return int(n) < len(s.Txns) && s.Txns[n].State == ledger.Counted
}

// Follows says whether b comes behind a in a session that they both have a place in,
// and something follows from a's end.
func (s *Causes) Follows(a, b uint32) bool {
	x, y := &s.Txns[a], &s.Txns[b]
	return x.Session != 0 && x.Session == y.Session && x.Flags&y.Flags&ledger.InSession != 0 && x.Flags&ledger.Unknown == 0 && s.ComesAfter(b, a)
}

// EachKept calls fn with the versions of the register k that are kept of the retired,
// and their writers.
func (s *Causes) EachKept(k uint32, fn func(version, writer uint32)) {
	if s.Keys[k].Kind == event.List {
		return
	}
	for v := s.Keys[k].Unplaced; v != 0; v = s.Versions[v].Sibling {
		if x := &s.Versions[v]; x.Writer != 0 && x.Flags&ledger.InitialVersion == 0 {
			fn(v, x.Writer)
		}
	}
}

// Overtake notes that n, another writer of v's key, has retired behind v's, which is w. To read v now
// is to read an old state, as far as is known. If the two ran at the same time, it is a guess.
func (s *Causes) Overtake(v, w, n uint32) {
	if s.EndedBefore(w, n) || s.Follows(w, n) {
		s.Versions[v].Flags |= ledger.Overwritten
	} else {
		s.Versions[v].Flags |= ledger.Overtaken
	}
}

// Overtaken says whether to read v now is to read an old state. guess says that it is not known.
func (s *Causes) Overtaken(v uint32) (is, guess bool) {
	x := s.Versions[v].Flags & ledger.Old
	return x != 0, x == ledger.Overtaken
}

// OvertakeLast is Overtake of the version of k that n left. w wrote k too.
func (s *Causes) OvertakeLast(n, k, w uint32) {
	if v := s.LastOf(n, k); v != 0 && s.Keys[k].Kind != event.List {
		s.Overtake(v, n, w)
	}
}

// EachTaken calls fn with every transaction in memory that did not abort, in the
// order of arrival.
func (s *Causes) EachTaken(fn func(n uint32)) {
	var ns []uint32
	for n := range s.Txns {
		if st := s.Txns[n].State; st == ledger.Counted || st == ledger.Tentative {
			ns = append(ns, uint32(n))
		}
	}
	slices.SortFunc(ns, func(a, b uint32) int { return cmp.Compare(s.Txns[a].Gen, s.Txns[b].Gen) })
	for _, n := range ns {
		fn(n)
	}
}
