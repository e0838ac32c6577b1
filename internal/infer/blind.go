package infer

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Chain is a row of versions of one register. Each writer read the version before and replaced
// it. Under serializability and snapshot isolation no other version comes between them (Viper's
// combined writes). Its order against the other chains of the key is not known.
type Chain struct {
	Txns     []uint32 // writers, in order
	Versions []uint32
	Readers  []uint32 // of the last version, if nobody else may have written its value
}

// EachUnordered calls fn with the chains of every register whose versions have several roots,
// in the order of the hashes of their keys. fn gets nil for a key whose versions are not
// chains. Then two writers replaced one version, or a value has several possible writers that
// are not looked for. With lists, the lists with several appends that no read shows follow in
// the same way, a chain a writer. The slices are reused.
func (s *State) EachUnordered(lists bool, fn func(key uint32, chains []Chain)) {
	var c chains
	for _, k := range s.keysWhere(func(x *ledger.Key) bool {
		return x.Flags&ledger.Unordered != 0 && x.Kind == event.Register ||
			lists && x.Kind == event.List && x.Unplaced != 0 && s.Versions[x.Unplaced].Sibling != 0
	}) {
		c.reset()
		switch {
		case s.Keys[k].Kind == event.List:
			if s.unreadChains(k, &c); len(c.list) > 1 {
				fn(k, c.list)
			}
		case s.chainsOf(k, &c):
			fn(k, c.list)
		default:
			fn(k, nil)
		}
	}
}

// EachVersions calls fn with the versions of every register whose order is not known, a chain a
// version. It is for levels where two writers may both replace the version that they both read, as
// under prefix consistency. Otherwise as EachUnordered.
func (s *State) EachVersions(fn func(key uint32, chains []Chain)) {
	var c chains
	for _, k := range s.keysWhere(func(x *ledger.Key) bool {
		return x.Kind == event.Register && x.Flags&(ledger.Element|ledger.Deleted) != ledger.Element
	}) {
		c.reset()
		path, ok := s.versionsOf(k, &c)
		switch {
		case s.Keys[k].Flags&ledger.Unordered == 0 && path:
		case ok:
			fn(k, c.list)
		default:
			fn(k, nil)
		}
	}
}

// keysWhere are the keys that are in use and have inference, in the order of their hashes.
func (s *State) keysWhere(want func(*ledger.Key) bool) []uint32 {
	var ks []uint32
	for k := range s.Keys {
		if x := &s.Keys[k]; x.Flags&ledger.Unsupported == 0 && x.Count > 0 && want(x) {
			ks = append(ks, uint32(k))
		}
	}
	slices.SortFunc(ks, func(a, b uint32) int {
		x, y := s.Keys[a].Hash, s.Keys[b].Hash
		return cmp.Or(cmp.Compare(x.Lo, y.Lo), cmp.Compare(x.Hi, y.Hi))
	})
	return ks
}

// versionsOf finds the versions of k that were installed over known ones. path says that each version
// has at most one successor, and ok that each has one writer.
func (s *State) versionsOf(k uint32, c *chains) (path, ok bool) {
	x := &s.Keys[k]
	path, ok = true, !x.Unchained()
	next := []uint32{x.Initial}
	for len(next) > 0 {
		v := next[0]
		next = next[1:]
		n := 0
		for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
			w := &s.Writes[id]
			n++
			repeated := s.Versions[w.Version].Flags&ledger.Ambiguous != 0
			if repeated && (!s.Searched(w.Version) || s.Versions[w.Version].Over != 0) {
				return path, false
			}
			at := len(c.all)
			c.all = append(c.all, w.Txn, w.Version)
			if repeated {
				c.list = append(c.list, Chain{Txns: c.all[at : at+1 : at+1], Versions: c.all[at+1 : at+2 : at+2]})
				continue
			}
			for r := s.Versions[w.Version].Readers; r != 0; r = s.OlderReader(r) {
				if s.Readers[r].How == ledger.Surely {
					c.all = append(c.all, s.Readers[r].Txn)
				}
			}
			c.list = append(c.list, Chain{
				Txns: c.all[at : at+1 : at+1], Versions: c.all[at+1 : at+2 : at+2], Readers: c.all[at+2 : len(c.all) : len(c.all)],
			})
			next = append(next, w.Version)
		}
		path = path && n <= 1
	}
	return path, ok
}

// chains are the chains of a key, with their memory.
type chains struct {
	list []Chain
	all  []uint32
}

func (c *chains) reset() { c.list, c.all = c.list[:0], c.all[:0] }

// chainsOf finds the chains of k: from every root up to the version that nobody
// replaced after reading it. False if they are none.
func (s *State) chainsOf(k uint32, c *chains) bool {
	x := &s.Keys[k]
	if x.Unchained() {
		return false
	}
	fromInitial := false
	for id := s.Versions[x.Initial].Over; id != 0; id = s.Writes[id].NextOver {
		if !s.Writes[id].Blind {
			if fromInitial {
				return false
			}
			fromInitial = true
		}
		n := Chain{}
		first := len(c.all)
		last := id
		for {
			w := &s.Writes[last]
			repeated := s.Versions[w.Version].Flags&ledger.Ambiguous != 0
			if repeated && (!s.Searched(w.Version) || s.Versions[w.Version].Over != 0) {
				return false
			}
			c.all = append(c.all, w.Txn)
			next := s.Versions[w.Version].Over
			if next == 0 {
				break
			}
			if s.Writes[next].NextOver != 0 {
				return false
			}
			last = next
		}
		n.Txns = c.all[first:len(c.all):len(c.all)]
		first = len(c.all)
		for w := id; w != 0; w = s.Versions[s.Writes[w].Version].Over {
			c.all = append(c.all, s.Writes[w].Version)
		}
		n.Versions = c.all[first:len(c.all):len(c.all)]
		first = len(c.all)
		if v := s.Writes[last].Version; s.Versions[v].Flags&ledger.Ambiguous == 0 {
			for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
				if s.Readers[r].How == ledger.Surely {
					c.all = append(c.all, s.Readers[r].Txn)
				}
			}
		}
		n.Readers = c.all[first:len(c.all):len(c.all)]
		c.list = append(c.list, n)
	}
	slices.Reverse(c.list) // overwriters are listed latest first
	return true
}

// unreadChains are the writers of the unplaced appends of k, one chain each.
func (s *State) unreadChains(k uint32, c *chains) {
	for v := s.Keys[k].Unplaced; v != 0; v = s.Versions[v].Sibling {
		w := s.Versions[v].Writer
		if w == 0 || slices.ContainsFunc(c.list, func(x Chain) bool { return x.Txns[0] == w }) {
			continue
		}
		at := len(c.all)
		c.all = append(c.all, w, v)
		c.list = append(c.list, Chain{Txns: c.all[at : at+1 : at+1], Versions: c.all[at+1 : at+2 : at+2]})
	}
	slices.Reverse(c.list)
}

// InitialReaders appends to dst who read that k had no value.
func (s *State) InitialReaders(dst []uint32, k uint32) []uint32 {
	for r := s.Versions[s.Keys[k].Initial].Readers; r != 0; r = s.OlderReader(r) {
		dst = append(dst, s.Readers[r].Txn)
	}
	return dst
}

// EachBlindRead calls fn with the versions that n read of unordered keys.
func (s *State) EachBlindRead(n uint32, fn func(key, version uint32)) {
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if v := s.Readers[id].Version; s.blindKey(s.Versions[v].Key) && s.Readers[id].How == ledger.Surely {
			fn(s.Versions[v].Key, v)
		}
	}
}

// EachBlindWrite calls fn with the versions that n installed of unordered keys.
func (s *State) EachBlindWrite(n uint32, fn func(key, version uint32)) {
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		if w := &s.Writes[id]; !w.Intermediate && s.blindKey(s.Versions[w.Version].Key) {
			fn(s.Versions[w.Version].Key, w.Version)
		}
	}
}

func (s *State) blindKey(k uint32) bool {
	x := &s.Keys[k]
	return x.Flags&ledger.Unordered != 0 && x.Flags&ledger.Unsupported == 0 && x.Kind == event.Register
}

// EachReaderOf calls fn with the transactions in memory that read the version of k with this ValueKey.
func (s *State) EachReaderOf(k uint32, value uint64, fn func(n, v uint32)) {
	lo := (value ^ s.Keys[k].Hash.Lo) * versionHashInverse
	x := &s.ByVersion
	for i, mask, fp := x.Start(ledger.VersionHash(k, event.Hash{Lo: lo})); x.Slots[i] != 0; i = (i + 1) & mask {
		slot := x.Slots[i]
		if v := &s.Versions[uint32(slot)]; uint32(slot>>32) != fp || v.Hash.Lo != lo || v.Key != k {
			continue
		}
		for r := s.Versions[uint32(slot)].Readers; r != 0; r = s.OlderReader(r) {
			if s.Readers[r].Saw() {
				fn(s.Readers[r].Txn, uint32(slot))
			}
		}
		return
	}
}

// KeyHash tells two keys apart that had the same number, one after the other.
func (s *State) KeyHash(k uint32) uint64 { return s.Keys[k].Hash.Lo | 1 }

// Piece is a chain whose beginning may have retired. Then it comes before all other versions of the key
// that have not retired.
type Piece struct {
	Chain
	Key       uint32
	Closed    bool // the version that the first one replaced has retired
	Duplicate bool // the last version has several possible writers
	Rows      bool // a row is not its key, and some row of it was deleted
}

// EachPiece calls fn with the chains of unordered keys as far as their writers, txns, live.
// Elements of sets are included if they are asked for. ok is false where the versions are not
// chains.
func (s *State) EachPiece(txns []uint32, live func(n uint32) bool, elements bool, fn func(p *Piece)) (ok bool) {
	liveWriter := func(v uint32) bool {
		w := s.Versions[v].Writer
		return v != 0 && w != 0 && live(w)
	}
	ok = true
	// The pieces' lists lie one behind the other: most have one writer and few readers.
	writers, versions, readers := make([]uint32, 0, 4*len(txns)), make([]uint32, 0, 4*len(txns)), make([]uint32, 0, 4*len(txns))
	for _, n := range txns {
		for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
			w := &s.Writes[id]
			v := w.Version
			if w.Intermediate || !s.blindKey(s.Versions[v].Key) || !elements && s.OfElement(v) {
				continue
			}
			k := &s.Keys[s.Versions[v].Key]
			if k.Unchained() {
				ok = false
				continue
			}
			p := Piece{Key: s.Versions[v].Key, Rows: s.Opt.Rows && k.Flags&ledger.Emptied != 0}
			if !w.Blind {
				if liveWriter(w.Pred) {
					continue // it is in the middle of a piece
				}
				p.Closed = w.Pred == 0 || s.Versions[w.Pred].Flags&ledger.InitialVersion == 0 && !s.Unwritten(w.Pred)
			}
			from, read := len(writers), len(readers)
			for last := id; last != 0; {
				x := &s.Writes[last]
				writers, versions = append(writers, x.Txn), append(versions, x.Version)
				next := s.Versions[x.Version].Over
				if s.Versions[x.Version].Flags&ledger.Ambiguous != 0 {
					p.Duplicate = true
					ok = ok && next == 0 && s.Searchable(x.Version)
					break
				}
				if next == 0 || !live(s.Writes[next].Txn) {
					break
				}
				if s.Writes[next].NextOver != 0 {
					ok = false
					break
				}
				last = next
			}
			for r := s.Versions[versions[len(versions)-1]].Readers; r != 0 && !p.Duplicate; r = s.OlderReader(r) {
				if s.Readers[r].How == ledger.Surely {
					readers = append(readers, s.Readers[r].Txn)
				}
			}
			p.Txns, p.Versions, p.Readers = slices.Clip(writers[from:]), slices.Clip(versions[from:]), slices.Clip(readers[read:])
			fn(&p)
		}
	}
	return ok
}

// WriterOf is the one writer of v, 0 if there is none.
func (s *State) WriterOf(v uint32) uint32 { return s.Versions[v].Writer }

// Unwritten says whether the record of v's writer has not come, or is not known to count. A
// version that was there before watching began is not meant.
func (s *State) Unwritten(v uint32) bool {
	x := &s.Versions[v]
	return x.Writer == 0 && x.Flags&(ledger.InitialVersion|ledger.Baseline|ledger.Ambiguous) == 0
}

// Successor is the next member of n's session that counts, 0 if there is none.
func (s *State) Successor(n uint32) uint32 {
	if t := &s.Txns[n]; t.State != ledger.Counted || t.Flags&ledger.InSession == 0 {
		return 0
	}
	m := s.Txns[n].SessNext
	for m != 0 && s.Txns[m].State != ledger.Counted {
		m = s.Txns[m].SessNext
	}
	return m
}

// Predecessor is the member of n's session before n that counts, and whose outcome is known, 0 if there is none.
func (s *State) Predecessor(n uint32) uint32 {
	if t := &s.Txns[n]; t.State != ledger.Counted || t.Flags&ledger.InSession == 0 {
		return 0
	}
	m := s.Txns[n].SessPrev
	for m != 0 && (s.Txns[m].State != ledger.Counted || s.Txns[m].Flags&ledger.Unknown != 0) {
		m = s.Txns[m].SessPrev
	}
	return m
}
