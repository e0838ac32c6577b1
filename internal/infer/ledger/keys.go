package ledger

import (
	"bytes"

	"github.com/isowatch/isowatch/event"
	"github.com/zeebo/xxh3"
)

// InEpoch keeps names of different epochs apart.
func (s *Ledger) InEpoch(b *event.Batch, t *event.Txn, h event.Hash) event.Hash {
	if t.Epoch.Len == 0 {
		return h
	}
	return UnderEpoch(h, xxh3.Hash(b.Bytes(t.Epoch)))
}

// UnderEpoch is the hash h of a name, kept apart from the same name in other epochs. epoch is the epoch's hash.
func UnderEpoch(h event.Hash, epoch uint64) event.Hash {
	return event.Hash{Lo: h.Lo ^ epoch*0x9e3779b97f4a7c15, Hi: h.Hi + epoch}
}

// The contract may give the order of a register's versions (version-order: numeric,
// trust-commit-ts). Then the versions with a number stand in the key's spine behind the initial
// one, in the order of their numbers. Version.Prefix is the number, made unsigned, and
// Version.Index is 1. Edges join known neighbours, as in a list; further ones that a version in
// between makes redundant stay true.
//
// A read that goes before its own transaction's write must show a lower number. If it does not,
// the contract is not true of the key. That is reported, and the edges of its order are taken
// back. From then on only the reads and writes themselves count.

// notOrdered is in Key.Length of a register whose numbers contradict its reads. An element has its set there,
// and the bit elementNotOrdered.
const (
	notOrdered        = 2
	elementNotOrdered = 1 << 31
)

// HasNoOrder says whether the numbers of x contradict its reads.
func (x *Key) HasNoOrder() bool {
	if x.Flags&Element != 0 {
		return x.Length&elementNotOrdered != 0
	}
	return x.Length == notOrdered
}

// LoseOrder notes that the numbers of x contradict its reads.
func (x *Key) LoseOrder() {
	if x.Flags&Element != 0 {
		x.Length |= elementNotOrdered
	} else {
		x.Length = notOrdered
	}
}

// Set is the key of the set that the element x is of.
func (x *Key) Set() uint32 { return x.Length &^ elementNotOrdered }

// VersionIdentity is the value of the version with this text, where the contract says
// that versions are told by it.
func VersionIdentity(text []byte) event.Hash {
	h := xxh3.Hash128(text)
	return event.Hash{Lo: h.Lo ^ 0x76657273696f6e00, Hi: h.Hi}
}

// With a window, "nothing" is a value of a register that comes again, from the first recorded delete of
// the key on. Each delete leaves it, and it is there in the initial state. The order in which the
// window freezes tells whose "nothing" a read found, as for each value that several left
// (causes/duplicate_values.go). A whole history has a tombstone of its own for each delete, and orders are
// tried there.

// NothingHash is the value of what deletes leave in an emptied key: no text has it.
func NothingHash() event.Hash { return event.Hash{Lo: 0x6e6f7468696e6721, Hi: 0x6e6f207465787421} }

// Absent is the version of k that a read of nothing saw.
func (s *Ledger) Absent(k uint32) uint32 {
	if !s.Keys[k].Emptied() {
		return s.Keys[k].Initial
	}
	return s.LookupVersion(k, NothingHash())
}

// Emptied says whether nothing is a value of the key that comes again. If versions are told only since
// later operations, the older versions are not compared.
func (x *Key) Emptied() bool {
	return x.Flags&Emptied != 0 && x.Flags&(Versioned|PlainBefore) != Versioned|PlainBefore
}

// unchained are the flags of keys whose versions give no chains. There is a version from before
// watching, an empty read has several meanings, or the key is an element of a set.
const unchained = HasBaseline | Deleted | Element

// Unchained says whether the versions of k give no chains. In an emptied key nothing ends them.
func (k *Key) Unchained() bool {
	if k.Flags&Emptied != 0 {
		return k.Flags&HasBaseline != 0
	}
	return k.Flags&unchained != 0
}

// TellsVersions says whether operations tell the versions of the key.
func (k *Key) TellsVersions() bool {
	return k.Flags&Versioned != 0 && k.Kind != event.List && k.Flags&Element == 0
}

// Identity is the hash of the version that a read of k shows. The version's text tells it, or else its
// value.
func (k *Key) Identity(version []byte, value event.Hash) event.Hash {
	if k.Flags&Versioned != 0 && len(version) > 0 {
		return VersionIdentity(version)
	}
	return value
}

// LastOf is the version of k that n left there, 0 if none.
func (s *Ledger) LastOf(n, k uint32) uint32 {
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		if w := &s.Writes[id]; s.Versions[w.Version].Key == k && !w.Intermediate {
			return w.Version
		}
	}
	return 0
}

// IsCounter says whether k is a counter, whether or not its versions are told.
func (s *Ledger) IsCounter(k uint32) bool {
	x := &s.Keys[k]
	return x.Kind == event.Counter || x.Flags&Sums != 0
}

// ElementMark is before the two parts of an element's name.
const ElementMark = 0xff

// elementName cuts the name of an element into set and text.
func elementName(name []byte) (set, text []byte) {
	i := bytes.LastIndexByte(name, ElementMark)
	return name[1:i], name[i+1:]
}

// NameOf is the name of the key k.
func (s *Ledger) NameOf(k uint32) []byte { return s.Names.Get(s.Keys[k].Name) }

// If several transactions left a value in a register, it does not name its writer: its version is
// ambiguous. Still, a reader of the value read from one of these writers. That is a choice like the
// order of two writers (VeriStrong's duplicate values): package window asks package solve for it. The
// version ends its writers' chains, and writes over it begin chains of their own.

// Searchable says whether the writer of the ambiguous version v may be looked for: v is
// of a plain register.
func (s *Ledger) Searchable(v uint32) bool {
	if s.Opt.Observed || s.Opt.Ordered {
		return false
	}
	x := &s.Versions[v]
	k := &s.Keys[x.Key]
	if k.Flags&Versioned != 0 && (x.Flags&Nothing == 0 || !k.Emptied()) { // a transaction that told no version may have left it
		return false
	}
	return k.Kind == event.Register && k.Flags&(Unsupported|HasBaseline) == 0 && x.Flags&InitialVersion == 0 &&
		(k.Flags&(Deleted|Element) == 0 || k.Flags&Emptied != 0)
}
