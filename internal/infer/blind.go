package infer

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
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
	for _, k := range s.keysWhere(func(x *key) bool {
		return x.flags&unordered != 0 && x.kind == event.Register ||
			lists && x.kind == event.List && x.unplaced != 0 && s.versions[x.unplaced].sibling != 0
	}) {
		c.reset()
		switch {
		case s.keys[k].kind == event.List:
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
	for _, k := range s.keysWhere(func(x *key) bool { return x.kind == event.Register && x.flags&(element|deleted) != element }) {
		c.reset()
		path, ok := s.versionsOf(k, &c)
		switch {
		case s.keys[k].flags&unordered == 0 && path:
		case ok:
			fn(k, c.list)
		default:
			fn(k, nil)
		}
	}
}

// keysWhere are the keys that are in use and have inference, in the order of their hashes.
func (s *State) keysWhere(want func(*key) bool) []uint32 {
	var ks []uint32
	for k := range s.keys {
		if x := &s.keys[k]; x.flags&unsupported == 0 && x.count > 0 && want(x) {
			ks = append(ks, uint32(k))
		}
	}
	slices.SortFunc(ks, func(a, b uint32) int {
		x, y := s.keys[a].hash, s.keys[b].hash
		return cmp.Or(cmp.Compare(x.Lo, y.Lo), cmp.Compare(x.Hi, y.Hi))
	})
	return ks
}

// versionsOf finds the versions of k that were installed over known ones. path says that each version
// has at most one successor, and ok that each has one writer.
func (s *State) versionsOf(k uint32, c *chains) (path, ok bool) {
	x := &s.keys[k]
	path, ok = true, !x.unchained()
	next := []uint32{x.initial}
	for len(next) > 0 {
		v := next[0]
		next = next[1:]
		n := 0
		for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
			w := &s.writes[id]
			n++
			repeated := s.versions[w.version].flags&ambiguous != 0
			if repeated && (!s.searched(w.version) || s.versions[w.version].over != 0) {
				return path, false
			}
			at := len(c.all)
			c.all = append(c.all, w.txn, w.version)
			if repeated {
				c.list = append(c.list, Chain{Txns: c.all[at : at+1 : at+1], Versions: c.all[at+1 : at+2 : at+2]})
				continue
			}
			for r := s.versions[w.version].readers; r != 0; r = s.olderReader(r) {
				if s.readers[r].how == surely {
					c.all = append(c.all, s.readers[r].txn)
				}
			}
			c.list = append(c.list, Chain{
				Txns: c.all[at : at+1 : at+1], Versions: c.all[at+1 : at+2 : at+2], Readers: c.all[at+2 : len(c.all) : len(c.all)],
			})
			next = append(next, w.version)
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

// unchained are the flags of keys whose versions give no chains. There is a version from before
// watching, an empty read has several meanings, or the key is an element of a set.
const unchained = hasBaseline | deleted | element

// unchained says whether the versions of k give no chains. In an emptied key nothing ends them.
func (k *key) unchained() bool {
	if k.flags&emptied != 0 {
		return k.flags&hasBaseline != 0
	}
	return k.flags&unchained != 0
}

// chainsOf finds the chains of k: from every root up to the version that nobody
// replaced after reading it. False if they are none.
func (s *State) chainsOf(k uint32, c *chains) bool {
	x := &s.keys[k]
	if x.unchained() {
		return false
	}
	fromInitial := false
	for id := s.versions[x.initial].over; id != 0; id = s.writes[id].nextOver {
		if !s.writes[id].blind {
			if fromInitial {
				return false
			}
			fromInitial = true
		}
		n := Chain{}
		first := len(c.all)
		last := id
		for {
			w := &s.writes[last]
			repeated := s.versions[w.version].flags&ambiguous != 0
			if repeated && (!s.searched(w.version) || s.versions[w.version].over != 0) {
				return false
			}
			c.all = append(c.all, w.txn)
			next := s.versions[w.version].over
			if next == 0 {
				break
			}
			if s.writes[next].nextOver != 0 {
				return false
			}
			last = next
		}
		n.Txns = c.all[first:len(c.all):len(c.all)]
		first = len(c.all)
		for w := id; w != 0; w = s.versions[s.writes[w].version].over {
			c.all = append(c.all, s.writes[w].version)
		}
		n.Versions = c.all[first:len(c.all):len(c.all)]
		first = len(c.all)
		if v := s.writes[last].version; s.versions[v].flags&ambiguous == 0 {
			for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
				if s.readers[r].how == surely {
					c.all = append(c.all, s.readers[r].txn)
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
	for v := s.keys[k].unplaced; v != 0; v = s.versions[v].sibling {
		w := s.versions[v].writer
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
	for r := s.versions[s.keys[k].initial].readers; r != 0; r = s.olderReader(r) {
		dst = append(dst, s.readers[r].txn)
	}
	return dst
}

// EachBlindRead calls fn with the versions that n read of unordered keys.
func (s *State) EachBlindRead(n uint32, fn func(key, version uint32)) {
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if v := s.readers[id].version; s.blindKey(s.versions[v].key) && s.readers[id].how == surely {
			fn(s.versions[v].key, v)
		}
	}
}

// EachBlindWrite calls fn with the versions that n installed of unordered keys.
func (s *State) EachBlindWrite(n uint32, fn func(key, version uint32)) {
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		if w := &s.writes[id]; !w.intermediate && s.blindKey(s.versions[w.version].key) {
			fn(s.versions[w.version].key, w.version)
		}
	}
}

func (s *State) blindKey(k uint32) bool {
	x := &s.keys[k]
	return x.flags&unordered != 0 && x.flags&unsupported == 0 && x.kind == event.Register
}

// EachReaderOf calls fn with the transactions in memory that read the version of k with this ValueKey.
func (s *State) EachReaderOf(k uint32, value uint64, fn func(n, v uint32)) {
	lo := (value ^ s.keys[k].hash.Lo) * versionHashInverse
	x := &s.byVersion
	for i, mask, fp := x.start(versionHash(k, event.Hash{Lo: lo})); x.slots[i] != 0; i = (i + 1) & mask {
		slot := x.slots[i]
		if v := &s.versions[uint32(slot)]; uint32(slot>>32) != fp || v.hash.Lo != lo || v.key != k {
			continue
		}
		for r := s.versions[uint32(slot)].readers; r != 0; r = s.olderReader(r) {
			if s.readers[r].saw() {
				fn(s.readers[r].txn, uint32(slot))
			}
		}
		return
	}
}

// KeyHash tells two keys apart that had the same number, one after the other.
func (s *State) KeyHash(k uint32) uint64 { return s.keys[k].hash.Lo | 1 }

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
		w := s.versions[v].writer
		return v != 0 && w != 0 && live(w)
	}
	ok = true
	// The pieces' lists lie one behind the other: most have one writer and few readers.
	writers, versions, readers := make([]uint32, 0, 4*len(txns)), make([]uint32, 0, 4*len(txns)), make([]uint32, 0, 4*len(txns))
	for _, n := range txns {
		for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
			w := &s.writes[id]
			v := w.version
			if w.intermediate || !s.blindKey(s.versions[v].key) || !elements && s.OfElement(v) {
				continue
			}
			k := &s.keys[s.versions[v].key]
			if k.unchained() {
				ok = false
				continue
			}
			p := Piece{Key: s.versions[v].key, Rows: s.opt.Rows && k.flags&emptied != 0}
			if !w.blind {
				if liveWriter(w.pred) {
					continue // it is in the middle of a piece
				}
				p.Closed = w.pred == 0 || s.versions[w.pred].flags&initialVersion == 0 && !s.Unwritten(w.pred)
			}
			from, read := len(writers), len(readers)
			for last := id; last != 0; {
				x := &s.writes[last]
				writers, versions = append(writers, x.txn), append(versions, x.version)
				next := s.versions[x.version].over
				if s.versions[x.version].flags&ambiguous != 0 {
					p.Duplicate = true
					ok = ok && next == 0 && s.searchable(x.version)
					break
				}
				if next == 0 || !live(s.writes[next].txn) {
					break
				}
				if s.writes[next].nextOver != 0 {
					ok = false
					break
				}
				last = next
			}
			for r := s.versions[versions[len(versions)-1]].readers; r != 0 && !p.Duplicate; r = s.olderReader(r) {
				if s.readers[r].how == surely {
					readers = append(readers, s.readers[r].txn)
				}
			}
			p.Txns, p.Versions, p.Readers = slices.Clip(writers[from:]), slices.Clip(versions[from:]), slices.Clip(readers[read:])
			fn(&p)
		}
	}
	return ok
}

// WriterOf is the one writer of v, 0 if there is none.
func (s *State) WriterOf(v uint32) uint32 { return s.versions[v].writer }

// Unwritten says whether the record of v's writer has not come, or is not known to count. A
// version that was there before watching began is not meant.
func (s *State) Unwritten(v uint32) bool {
	x := &s.versions[v]
	return x.writer == 0 && x.flags&(initialVersion|baseline|ambiguous) == 0
}

// Successor is the next member of n's session that counts, 0 if there is none.
func (s *State) Successor(n uint32) uint32 {
	if t := &s.txns[n]; t.state != counted || t.flags&inSession == 0 {
		return 0
	}
	m := s.txns[n].sessNext
	for m != 0 && s.txns[m].state != counted {
		m = s.txns[m].sessNext
	}
	return m
}

// Predecessor is the member of n's session before n that counts, and whose outcome is known, 0 if there is none.
func (s *State) Predecessor(n uint32) uint32 {
	if t := &s.txns[n]; t.state != counted || t.flags&inSession == 0 {
		return 0
	}
	m := s.txns[n].sessPrev
	for m != 0 && (s.txns[m].state != counted || s.txns[m].flags&unknown != 0) {
		m = s.txns[m].sessPrev
	}
	return m
}
