package causes

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// WritesVersion says whether o installs a version when its transaction commits.
func WritesVersion(o *event.Op) bool {
	switch o.Kind {
	case event.Write, event.Append, event.Insert, event.Delete, event.Add, event.Remove:
		return true
	case event.CAS:
		return o.Flags&event.Success != 0
	}
	return false
}

// OfElement says whether o writes an element of a set.
func OfElement(o *event.Op) bool { return o.Kind == event.Add || o.Kind == event.Remove }

// PartlyOrdered is in Key.Base of a register if a version without a number was installed. Under
// serializability and snapshot isolation, a version stands right behind the one that it replaced, if
// its writer had read that. So the read stands before all versions with a higher number. If two are not
// one read-modify-write after the other, package solve finds their order, as for blind writes.
const PartlyOrdered = 1

// VersionOf are the texts of o's version and of the one before it.
func VersionOf(b *event.Batch, o *event.Op) (version, prev []byte) {
	if o.Flags&event.HasExtra == 0 {
		return nil, nil
	}
	x := &b.Extras[o.Extra]
	return b.Bytes(x.Version), b.Bytes(x.PrevVersion)
}

// Numeric says whether the versions of k are numbers. Their order has no commit timestamps then:
// the two kinds of number do not compare. Elements of sets have no version, and so timestamps.
func (s *Absences) Numeric(k uint32) bool {
	return s.Opt.NumericVersions && s.Keys[k].Flags&ledger.Versioned != 0
}

// IsOrdered says whether v stands in a spine by its number.
func (s *Absences) IsOrdered(v uint32) bool {
	return s.Opt.Ordered && s.Versions[v].Index == 1 && s.Keys[s.Versions[v].Key].Kind != event.List
}

// ElementHash is the hash of the key that stands for the element of the set. Its multiplier
// differs from VersionHash's: else KeyOfValue would take the element out again.
func ElementHash(set, elem event.Hash) event.Hash {
	return event.Hash{
		Lo: bits.RotateLeft64(set.Lo, 17) ^ elem.Lo*0xbf58476d1ce4e5b9,
		Hi: bits.RotateLeft64(set.Hi, 31) + elem.Hi ^ 0x656c656d656e7473,
	}
}

// Covered are the bounds between which a range shows all that is there. from is inclusive, to
// is exclusive, and nil is open. A limit that was reached ends the range at its last row.
func Covered(b *event.Batch, x *event.Extra, rows []event.Row) (from, to []byte) {
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

// Loose is for counters without a recorded delete: the increments have no known order; counted.
const Loose = ledger.RowsApart

// Since is for lists: a frozen element was appended since those from before watching have ended.
const Since = ledger.PlainBefore
