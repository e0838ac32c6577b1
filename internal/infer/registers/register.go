package registers

import (
	"math"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/orders"
)

// Registers has keys whose operations read and write whole values: registers, and the elements of sets.
// It also does what is common to versions of all kinds: several writers, a delete, leaving memory.
type Registers struct {
	orders.Orders
	Late    []uint32 // the versions with the flag LateReaders, oldest first
	Deletes bool     // some key was deleted

	// Scratch of the transaction in work; no state.
	Own []own
	// Parted are the write records that replaced the same version as a write which is taken back. Each
	// of them had diverged from that write: see Diverge.
	Parted  []uint32
	Promote []uint32 // transactions of unknown outcome that somebody has read from now
	Demote  []uint32 // transactions of unknown outcome that may have lost their last reader
}

// own is a write or append of the transaction in work.
type own struct {
	Hash       event.Hash
	Write      uint32
	Prev, Next uint32
}

// TouchOf is the note of what the transaction in work did to k.
func (s *Registers) TouchOf(k uint32) *causes.Touch {
	x := &s.Keys[k]
	if x.Stamp == s.Stamp {
		return &s.Touches[x.Touch]
	}
	x.Stamp, x.Touch = s.Stamp, uint32(len(s.Touches))
	if len(s.Touches) == cap(s.Touches) {
		s.Touches = append(s.Touches, causes.Touch{})[:len(s.Touches)]
	}
	s.Touches = s.Touches[:len(s.Touches)+1]
	c := &s.Touches[len(s.Touches)-1]
	*c = causes.Touch{}
	c.Key = k
	return c
}

// BeginTouching begins the work on another transaction: no key was touched.
func (s *Registers) BeginTouching() {
	if s.Stamp++; s.Stamp == 0 { // around after 2^32 transactions: no key may look touched
		for k := range s.Keys {
			s.Keys[k].Stamp = 0
		}
		s.Stamp = 1
	}
	s.Touches = s.Touches[:0]
}

// Write takes a register write. Only the last one of a key is installed; a value
// that the transaction writes again is one version.
func (s *Registers) Write(c *causes.Touch, n, op uint32, h event.Hash) {
	if s.Keys[c.Key].Flags&ledger.Repeats != 0 {
		c.WriteDuplicate(h)
		return
	}
	v := s.plannedVersion(op, c.Key, h)
	if c.Flags&causes.Wrote != 0 {
		s.Writes[c.LastWrite].Intermediate = true
		s.Txns[n].Flags |= ledger.Rewrote
		s.Versions[s.Writes[c.LastWrite].Version].Flags |= ledger.OverwrittenByWriter
	}
	absent := c.Flags&causes.ReadNothing != 0 || c.Flags&causes.Wrote != 0 && s.Writes[c.LastWrite].Absent
	c.Current = h
	c.Flags = c.Flags&^causes.Removed | causes.Wrote
	if id := s.WroteNow(n, v); id != 0 {
		s.Writes[id].Op, s.Writes[id].Intermediate = op, false
		c.LastWrite = id
		return
	}
	s.Pin(n)
	c.LastWrite = s.AddWrite(n, v, op)
	s.Writes[c.LastWrite].Unread, s.Writes[c.LastWrite].Absent = c.Flags&causes.HasRead == 0, absent
	s.PushOwn(c, h)
}

// PushOwn notes the latest write record of c as one of the transaction in work.
func (s *Registers) PushOwn(c *causes.Touch, h event.Hash) {
	if len(s.Own) == cap(s.Own) {
		s.Own = append(s.Own, own{})[:len(s.Own)]
	}
	s.Own = s.Own[:len(s.Own)+1]
	o := &s.Own[len(s.Own)-1]
	o.Hash, o.Write, o.Prev, o.Next = h, c.LastWrite, c.LastOwn, 0
	i := uint32(len(s.Own))
	if c.LastOwn != 0 {
		s.Own[c.LastOwn-1].Next = i
	} else {
		c.FirstOwn = i
	}
	c.LastOwn = i
}

// WroteNow is WriteOf for the transaction in work, whose record nobody's is ahead
// of. O(1).
func (s *Registers) WroteNow(n, v uint32) uint32 {
	if id := s.Versions[v].Writes; id != 0 && s.Writes[id].Txn == n {
		return id
	}
	return 0
}

// wroteIn says whether v is among the versions that the transaction in work wrote.
func (s *Registers) wroteIn(c *causes.Touch, v uint32) bool {
	for i := c.FirstOwn; i != 0; i = s.Own[i-1].Next {
		if s.Writes[s.Own[i-1].Write].Version == v {
			return true
		}
	}
	return false
}

// ReadRegister takes a read of a register, or of a key whose kind no operation has told.
func (s *Registers) ReadRegister(c *causes.Touch, n, op uint32, o *event.Op) {
	if o.Nothing() && s.Txns[n].Flags&ledger.Unknown != 0 {
		return // what it saw is not known
	}
	if o.ValueHash == emptyArray && o.Flags&event.IsArray != 0 {
		if v := s.LookupVersion(c.Key, emptyArray); v == 0 || s.Versions[v].Writes == 0 {
			s.Counters.Ambiguous++ // perhaps a list, and only its deletion is known
			s.ReadOpen(n, ledger.OpenUnrecorded)
			return
		}
	}
	s.ReadValue(c, n, op, o.ValueHash, o.Flags&event.NotFound != 0)
}

// ReadValue takes a read that found a value, or nothing.
func (s *Registers) ReadValue(c *causes.Touch, n, op uint32, h event.Hash, nothing bool) {
	switch {
	case s.Keys[c.Key].Flags&ledger.Repeats != 0:
		s.ReadDuplicate(c, n, op, h, nothing)
	case nothing && s.Txns[n].Flags&ledger.Unknown != 0: // what it saw is not known
	case c.Flags&causes.Misread != 0 && c.Flags&causes.Wrote == 0: // reported once
		s.sawAnother(c, n, op, h, nothing)
	case c.Flags&causes.Wrote != 0:
		s.ReadOwn(c, n, op, h, nothing)
	case c.Flags&causes.HasRead != 0:
		if nothing != (c.Flags&causes.ReadNothing != 0) || h != c.ReadHash {
			if !nothing && c.Flags&causes.ReadNothing == 0 && (s.OfRow(c.Key, h) || s.OfRow(c.Key, c.ReadHash)) {
				s.ReadRow(n)
				return
			}
			s.Misreads(ledger.Nonrepeatable, c, n, op, 0)
			s.sawAnother(c, n, op, h, nothing)
		} else {
			s.SawAgain(c.ReadVer, n)
		}
	default:
		c.Flags |= causes.HasRead
		c.ReadHash, c.ReadOp = h, op
		var v uint32
		if nothing {
			c.Flags |= causes.ReadNothing
			s.FoundNothing(c.Key)
			s.mayHaveBeenDeleted(c.Key)
			if s.AbsentUnknown(c.Key) {
				s.CountAbsent()
				s.ReadOpen(n, ledger.OpenNothing)
				return
			}
			v = s.Absent(c.Key)
		} else {
			v = s.plannedVersion(op, c.Key, h)
			if s.Opt.Observed {
				s.CountRead(c.Key)
				s.Nobody(v)
			}
		}
		c.ReadVer = v
		s.AddReader(n, v, op)
	}
}

// ofOwnRow says whether the transaction in work has written this version at another column of c's
// row, and nobody at c's key.
func (s *Registers) ofOwnRow(c *causes.Touch, version event.Hash) bool {
	if len(s.Own) == 0 || !s.UnwrittenHere(c.Key, version) {
		return false
	}
	row, column := s.ColumnOf(c.Key)
	for i := range s.Own {
		if s.Own[i].Hash != version {
			continue
		}
		other := s.Versions[s.Writes[s.Own[i].Write].Version].Key
		if r, o := s.ColumnOf(other); r == row && o != column { // a name without a column has row 0 and column 0
			s.Signs.Patterns.Get(s.Keys[c.Key].Pattern).OfRows = true
			return true
		}
	}
	return false
}

// FoundNothing notes that k had no value. So the value that was taken as older than the first record
// was not there. Or a writer without a record wrote it in between.
func (s *Registers) FoundNothing(k uint32) {
	x := &s.Keys[k]
	if x.Flags&ledger.FoundNothing != 0 {
		return
	}
	if x.Flags&ledger.HasBaseline != 0 {
		s.Counters.Unattributed++
	}
	x.Flags |= ledger.FoundNothing
}

// Install ends the work on one key, which is not a list: the edges of the first external read and
// of the last write.
func (s *Registers) Install(c *causes.Touch, n uint32) {
	k := &s.Keys[c.Key]
	if k.Flags&ledger.Repeats != 0 {
		return
	}
	if c.Flags&causes.Wrote == 0 {
		if c.ReadVer != 0 {
			s.SawVersion(c.ReadVer, n, c.ReadOp, false)
		}
		return
	}
	if c.ReadVer != 0 && s.wroteIn(c, c.ReadVer) {
		// Its read and its write are two versions of one value, or it read the future.
		s.MakeAmbiguous(c.ReadVer)
		if !s.Values.Has(s.KeyOfValue(c.ReadVer)) { // else a transaction that has left memory may have written it
			s.SuspectFuture(c.ReadVer, n, c.ReadOp)
		}
	}
	if c.Flags&(causes.Wrote|causes.Misread) == causes.Wrote|causes.Misread {
		s.sawOwnFuture(c, n)
	}
	if c.ReadVer != 0 {
		s.SawVersion(c.ReadVer, n, c.ReadOp, k.Flags&ledger.Versioned == 0 || c.ReadLen == 0)
	}
	pred := c.ReadVer
	if k.Flags&ledger.Versioned != 0 && c.ReadLen != 0 { // the write names the version that it replaced, and the transaction had read another one
		pred = c.ReadLen
		if s.wroteIn(c, pred) { // it names a version that it wrote itself
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
		s.recorded(v, n)
		if s.Versions[v].Flags&ledger.Ambiguous == 0 {
			if s.Opt.TrustCommitTS && s.CommitTS != math.MinInt64 && s.Versions[v].Possible == 1 && !s.Numeric(c.Key) {
				s.Number(c.Key, v, n, s.CommitTS)
			}
			s.settleRegister(v, n)
		} else {
			if s.Opt.TrustCommitTS && s.CommitTS != math.MinInt64 && id == c.LastWrite && !s.Numeric(c.Key) {
				s.Uncheckable(c.Key) // n's version has no place of its own: see losePlace
			}
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
		s.overwrite(c.LastWrite, pred, false)
	} else {
		s.overwrite(c.LastWrite, k.Initial, true)
	}
	if s.Opt.Ordered && s.Opt.Partly() {
		s.VersionCycleBy(c.LastWrite)
	}
}

// SawVersion gives the edges of n's read of v: from the writer of v, and to the transactions that overwrote v.
func (s *Registers) SawVersion(v, n, op uint32, rmw bool) {
	x := &s.Versions[v]
	if x.Writer == 0 || x.Writes == 0 || x.Over != 0 || x.Flags&(ledger.Ambiguous|ledger.InitialVersion|ledger.Old|ledger.OverwrittenByWriter) != 0 || s.Opt.Ordered {
		s.sawOld(v, n, op, rmw)
		return
	}
	if (s.Opt.Causal() || s.AddedUnseen(v)) && (s.ReadBefore(v, x.Writer, n) || rmw && s.Signs.Stood.Before(&s.Causes, v, x.Writer, n, true)) {
		s.MakeAmbiguous(v)
		return
	}
	label := ledger.WR
	if rmw {
		label = s.replacing(v, n)
	}
	s.Signs.Stood.ReadFrom(&s.Causes, v, n, label)
}

// sawOld is saw for all versions, whatever became of them.
func (s *Registers) sawOld(v, n, op uint32, rmw bool) {
	x := &s.Versions[v]
	if x.Possible == 0 && x.Flags&(ledger.InitialVersion|ledger.Ambiguous) == 0 && s.Twice.Has(s.KeyOfValue(v)) {
		s.Mark(v, ledger.Ambiguous, 0)
	}
	if x.Flags&(ledger.Ambiguous|ledger.InitialVersion) == 0 && s.NotThat(v, n, rmw) {
		s.MakeAmbiguous(v)
		return
	}
	if x.Flags&ledger.Ambiguous != 0 {
		s.ReadEarly(v, n)
		s.CountAmbiguous(v)
		return
	}
	if x.Flags&ledger.InitialVersion == 0 {
		switch {
		case x.Writer != 0:
			label := ledger.WR
			if rmw && (x.Flags&ledger.OverwrittenByWriter == 0 || s.Installed(v)) && !s.beginsRow(v) {
				label = s.replacing(v, n)
			}
			s.Signs.Stood.ReadFrom(&s.Causes, v, n, label)
			if x.Flags&ledger.OverwrittenByWriter != 0 {
				s.IntermediateRead(v, n, op)
			}
		case x.Possible == 1:
			s.PromoteWriter(v)
		default:
			s.Await(v, n, op)
		}
	}
	if x.Flags&ledger.Old != 0 {
		s.Report(ledger.Anomaly{Kind: ledger.RetiredRead, A: n, OpA: op, Version: v})
	}
	if s.Opt.Ordered {
		s.SawOrdered(v, n)
	}
	for id := x.Over; id != 0 && x.Flags&ledger.Unrecorded == 0 && !(rmw && s.NamedOnly(v, n)); id = s.Writes[id].NextOver {
		if !rmw || s.Writes[id].Blind || s.Txns[s.Writes[id].Txn].Asked != s.Txns[n].Asked { // else n diverges from the others: see overwrite
			s.GiveEdge(n, s.Writes[id].Txn, ledger.RW, s.Writes[id].Version, 0)
		}
	}
}

// PromoteWriter queues the tentative writer of v, which was just observed.
func (s *Registers) PromoteWriter(v uint32) {
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if t := s.Writes[id].Txn; s.Txns[t].State == ledger.Tentative {
			s.Promote = append(s.Promote, t)
		}
	}
}

// IntermediateRead reports G1b: n read a version that its writer overwrote
// itself (Elle, section 4.1; Adya's G1b).
func (s *Registers) IntermediateRead(v, n, op uint32) {
	w := s.Versions[v].Writer
	if s.Versions[v].Flags&ledger.OverwrittenByWriter == 0 || w == n || w == 0 {
		return
	}
	if s.stoodBefore(v, w, n) {
		return
	}
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if x := &s.Writes[id]; x.Txn == w && x.Intermediate {
			s.Report(ledger.Anomaly{Kind: ledger.G1b, A: n, B: w, Version: v, OpA: op, Certain: true})
		}
	}
}

// stoodBefore says whether n may have found the value of v there before w wrote or added it.
func (s *Registers) stoodBefore(v, w, n uint32) bool {
	return s.Signs.Stood.Before(&s.Causes, v, w, n, false)
}

// EachIntermediateRead calls fn with what inference reports of reads of v, a register's
// version that its one writer overwrote itself.
func (s *Registers) EachIntermediateRead(v uint32, fn func(a ledger.Anomaly)) {
	x := &s.Versions[v]
	if !s.SureRegister(v) || x.Flags&ledger.OverwrittenByWriter == 0 || x.Writer == 0 {
		return
	}
	if id := s.WriteOf(x.Writer, v); id == 0 || !s.Writes[id].Intermediate {
		return
	}
	for r := x.Readers; r != 0; r = s.OlderReader(r) {
		if n := s.Readers[r].Txn; n != x.Writer && !s.stoodBefore(v, x.Writer, n) {
			fn(ledger.Anomaly{Kind: ledger.G1b, A: n, B: x.Writer, Version: v, OpA: s.Readers[r].Op, Certain: true})
		}
	}
}

// ReadUnchecked counts a read of k by n, the transaction in work, from which nothing is inferred.
func (s *Registers) ReadUnchecked(n, k uint32) {
	if s.Keys[k].Flags&ledger.Unsupported != 0 {
		c := s.TouchOf(k)
		if c.Flags&causes.HasRead != 0 {
			return
		}
		c.Flags |= causes.HasRead
	}
	s.ReadOpen(n, ledger.OpenUnchecked)
}
