package catalog

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/isowatch/isowatch/finding"
)

// Bounds of a catalog: the newest findings stay.
const (
	MaxEntries = 200_000
	MaxBytes   = 64 << 20
)

// entry is a finding: 80 bytes, and 6 for each token.
type entry struct {
	order       uint64
	id          uint64 // hash
	tokens      string // hashes of tokenBytes each, sorted
	first, last int64
	ended       [2]int64 // its first transaction and its last one
	count       int64
	group       uint32 // slot
	refutes     uint16 // index into the catalog's refuted
	state       uint8  // index into states
	flags       uint8
}

const (
	flagExpected = 1 << iota
	flagCertain
)

// tokenBytes of the hash of a text: among 2 million texts, one query in a hundred million finds
// what it should not.
const tokenBytes = 6

var states = []finding.State{"", finding.Waiting, finding.Provisional, finding.Final, finding.Withdrawn, finding.ResolvedOK, finding.ResolvedViolated}

// slot is a group that has entries.
type slot struct {
	group Group
	key   string
	lower []string
	refs  int
	bytes int64
}

// Catalog is the index. Its methods are not concurrent: many may read while none writes.
type Catalog struct {
	seed    maphash.Seed
	entries []entry // by order; those before head are free
	head    int
	slots   []slot
	free    []uint32
	byKey   map[string]uint32
	marks   map[string]Marks
	refuted [][]string        // lists of levels that findings refute
	byList  map[string]uint16 // index into refuted
	texts   int64             // bytes of tokens and groups
	floor   uint64            // findings up to this order are not taken in
	most    int
	bytes   int64
}

// New is an empty catalog of at most so many entries and bytes; 0: MaxEntries, MaxBytes.
func New(entries int, bytes int64) *Catalog {
	return &Catalog{
		seed:   maphash.MakeSeed(),
		byKey:  map[string]uint32{},
		byList: map[string]uint16{},
		marks:  map[string]Marks{},
		most:   cmp.Or(entries, MaxEntries),
		bytes:  cmp.Or(bytes, MaxBytes),
	}
}

// Clear takes everything out but the marks.
func (c *Catalog) Clear() {
	marks := c.marks
	*c = *New(c.most, c.bytes)
	c.marks = marks
}

// Len is how many findings are in the catalog.
func (c *Catalog) Len() int { return len(c.entries) - c.head }

// Oldest is the order of the oldest of them, 0 without any.
func (c *Catalog) Oldest() uint64 {
	if c.Len() == 0 {
		return 0
	}
	return c.entries[c.head].order
}

// Floor is the order up to which findings have had no room; 0: all had.
func (c *Catalog) Floor() uint64 { return c.floor }

// Full says whether older findings than those in the catalog have no room.
func (c *Catalog) Full() bool { return c.floor > 0 }

// Bytes is about the memory that it takes.
func (c *Catalog) Bytes() int64 {
	return int64(cap(c.entries))*int64(unsafe.Sizeof(entry{})) + int64(cap(c.slots))*int64(unsafe.Sizeof(slot{})) + c.texts
}

// used is the memory of its content, without room to grow.
func (c *Catalog) used() int64 {
	return int64(c.Len())*int64(unsafe.Sizeof(entry{})) + int64(len(c.byKey))*int64(unsafe.Sizeof(slot{})) + c.texts
}

// Put takes findings in, or their newer revisions.
func (c *Catalog) Put(list []Summary) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Summary) int { return cmp.Compare(a.Order, b.Order) })
	before := 0 // of list, they come before all entries
	for ; before < len(list) && c.Len() > 0 && list[before].Order < c.Oldest(); before++ {
	}
	c.prepend(list[:before])
	for i := range list[before:] {
		s := &list[before+i]
		if s.Order <= c.floor {
			continue
		}
		live := c.entries[c.head:]
		at, found := len(live), false
		if n := len(live); n > 0 && live[n-1].order >= s.Order {
			at, found = c.find(s.Order)
		}
		e := c.entryOf(s)
		switch {
		case found:
			old := live[at]
			live[at] = e
			c.leave(&old)
		case at == len(live):
			c.entries = append(c.entries, e)
		default:
			c.entries = slices.Insert(c.entries, c.head+at, e)
		}
	}
	c.trim()
}

// prepend puts findings, in order, before all others. Room grows with what is there, so that the way
// from the newest to the oldest costs O(1) each.
func (c *Catalog) prepend(list []Summary) {
	list = slices.DeleteFunc(list, func(s Summary) bool { return s.Order <= c.floor })
	unique := list[:0]
	for i := range list {
		if i+1 == len(list) || list[i+1].Order != list[i].Order {
			unique = append(unique, list[i])
		}
	}
	if n := len(unique); n > c.head {
		room := n + c.Len()
		grown := make([]entry, room+c.Len(), room+c.Len()+c.Len()/8)
		copy(grown[room:], c.entries[c.head:])
		c.entries, c.head = grown, room
	}
	for i := range slices.Backward(unique) {
		c.head--
		c.entries[c.head] = c.entryOf(&unique[i])
	}
}

// find is where the order is, or would be, among the entries from head on.
func (c *Catalog) find(order uint64) (at int, found bool) {
	return slices.BinarySearchFunc(c.entries[c.head:], order, func(e entry, order uint64) int { return cmp.Compare(e.order, order) })
}

// trim lets the oldest go beyond the bounds.
func (c *Catalog) trim() {
	for c.Len() > c.most || c.Len() > 1 && c.used() > c.bytes {
		c.floor = c.entries[c.head].order
		c.dropOldest()
	}
	c.compact()
}

// Forget takes out the findings up to the order: they are removed from the store.
func (c *Catalog) Forget(order uint64) {
	for c.Len() > 0 && c.entries[c.head].order <= order {
		c.dropOldest()
	}
	if c.floor <= order {
		c.floor = 0 // what has no room is gone
	}
	c.compact()
}

func (c *Catalog) dropOldest() {
	c.leave(&c.entries[c.head])
	c.entries[c.head] = entry{}
	c.head++
}

// compact moves the entries down once a quarter of the room is free before them: O(1) for each that went.
func (c *Catalog) compact() {
	if c.head > 1024 && c.head > c.Len()/4 {
		n := copy(c.entries, c.entries[c.head:])
		clear(c.entries[n:])
		c.entries, c.head = c.entries[:n], 0
	}
}

// Fit gives back the room that filling needed.
func (c *Catalog) Fit() {
	c.entries, c.head = append(make([]entry, 0, c.Len()+c.Len()/8), c.entries[c.head:]...), 0
}

// Remove takes out findings that are stored no more. Those are mostly new, and looked for from the
// newest on.
func (c *Catalog) Remove(ids []string) {
	gone := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		gone[maphash.String(c.seed, id)] = true
	}
	live := c.entries[c.head:]
	to := len(live) // entries behind it stay, and are moved up
	for i := len(live) - 1; i >= 0; i-- {
		if len(gone) == 0 { // the rest stays where it is, with a hole behind it
			n := copy(live[i+1:], live[to:])
			clear(live[i+1+n:])
			c.entries = c.entries[:c.head+i+1+n]
			return
		}
		if gone[live[i].id] {
			delete(gone, live[i].id)
			c.leave(&live[i])
			continue
		}
		to--
		if to != i {
			live[to] = live[i]
		}
	}
	clear(live[:to])
	c.head += to
}

func (c *Catalog) entryOf(s *Summary) entry {
	e := entry{order: s.Order, id: maphash.String(c.seed, s.ID), first: s.First, last: s.Last, count: s.Count}
	e.state = uint8(max(slices.Index(states, s.State), 0))
	if s.Expected {
		e.flags |= flagExpected
	}
	if s.Certain {
		e.flags |= flagCertain
	}
	e.ended = [2]int64{s.EndedFirst, s.EndedLast}
	e.refutes = c.levels(s.Refutes)
	e.group = c.meet(s)
	e.tokens = c.pack(s)
	c.texts += int64(len(e.tokens))
	return e
}

// levels is the index of a list of levels. There are as many lists as anomalies, about.
func (c *Catalog) levels(list []string) uint16 {
	joined := strings.Join(list, " ")
	n, ok := c.byList[joined]
	if !ok {
		n = uint16(min(len(c.refuted), math.MaxUint16))
		if len(c.refuted) <= math.MaxUint16 {
			c.refuted = append(c.refuted, list)
			c.byList[joined] = n
		}
	}
	return n
}

// leave gives back what an entry held on to.
func (c *Catalog) leave(e *entry) {
	c.texts -= int64(len(e.tokens))
	x := &c.slots[e.group]
	if x.refs--; x.refs > 0 {
		return
	}
	c.texts -= x.bytes
	delete(c.byKey, x.key)
	*x = slot{}
	c.free = append(c.free, e.group)
}

// meet is the slot of the summary's group, with one more entry.
func (c *Catalog) meet(s *Summary) uint32 {
	key := s.Group.Key()
	n, ok := c.byKey[key]
	if !ok {
		if last := len(c.free) - 1; last >= 0 {
			n, c.free = c.free[last], c.free[:last]
		} else {
			n = uint32(len(c.slots))
			c.slots = append(c.slots, slot{})
		}
		g := s.Group
		c.byKey[key] = n
		c.slots[n] = slot{group: g, key: key}
		x := &c.slots[n]
		x.bytes = int64(len(key) + len(g.Source) + len(g.Anomaly) + 100)
		for _, list := range [][]string{g.Names, g.Keys, g.Endpoints} {
			for _, text := range list {
				x.lower = append(x.lower, strings.ToLower(text))
				x.bytes += 2 * int64(len(text)+16)
			}
		}
		c.texts += x.bytes
	}
	c.slots[n].refs++
	return n
}

func (c *Catalog) token(text string) [tokenBytes]byte {
	h := maphash.String(c.seed, text)
	return [tokenBytes]byte{byte(h), byte(h >> 8), byte(h >> 16), byte(h >> 24), byte(h >> 32), byte(h >> 40)}
}

// pack makes the hashes of what the finding is found by, each once.
func (c *Catalog) pack(s *Summary) string {
	all := make([][tokenBytes]byte, 0, len(s.Tokens)+1)
	all = append(all, c.token(s.ID))
	seen := map[[tokenBytes]byte]bool{all[0]: true}
	for _, text := range s.Tokens {
		if t := c.token(text); text != "" && !seen[t] && len(all) < maxTokens {
			seen[t] = true
			all = append(all, t)
		}
	}
	var b strings.Builder
	b.Grow(len(all) * tokenBytes)
	for i := range all {
		b.Write(all[i][:])
	}
	return b.String()
}

func (e *entry) has(t [tokenBytes]byte) bool {
	for i := 0; i+tokenBytes <= len(e.tokens); i += tokenBytes {
		if e.tokens[i:i+tokenBytes] == string(t[:]) {
			return true
		}
	}
	return false
}
