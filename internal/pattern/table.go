package pattern

import (
	"bytes"
	"strings"
)

// Bounds of a table. Names beyond them share one pattern, which has the number 0.
const (
	MaxPatterns = 4096
	maxTexts    = 32 // of a segment in one place
	maxSegments = 16 // of a name; the rest is one
	maxNodes    = 4 * MaxPatterns
)

// ID is the number of a pattern. It stays with a key; [Table.Get] follows it to what the
// pattern has become.
type ID uint16

// Pattern is the state of the keys of one pattern.
type Pattern struct {
	// Reads counts reads of plain values. Undecided counts the reads that could not be decided
	// since the values repeat.
	Reads, Undecided int64
	into             ID   // what it was merged into; itself otherwise
	Repeats          Sign // why its values name no version
	Shared           bool // one value was seen at two keys, or an element was appended twice
	Told             bool // that it repeats was told
	OfRows           bool // its keys are columns, and rows have the versions
}

// Sign is why the values of a pattern are known to repeat; 0 stands for no sign.
type Sign uint8

const (
	TwoWriters  Sign = iota + 1 // two transactions that committed wrote one value of a key
	LateWriter                  // the writer of a value began when a reader of it had ended
	TwoVersions                 // one value of a key had two versions
	CameBack                    // a value that had been replaced was there again
)

func (s Sign) String() string {
	switch s {
	case TwoWriters:
		return "two transactions wrote one value of a key"
	case LateWriter:
		return "a value was read before the transaction began that wrote it"
	case TwoVersions:
		return "one value of a key had two versions"
	case CameBack:
		return "a value that had been replaced was there again"
	}
	return "none"
}

// node is a place in the tree of segments; 0 is the root, whose children are epochs.
type node struct {
	parent  uint32
	texts   uint32 // children
	merged  bool   // one child stands for all texts
	gone    bool   // it went into another node
	named   bool   // a name ends here
	pattern ID
	text    string // as shown, with the separator behind it
}

type place struct {
	parent uint32
	text   string
}

// anyText is, in Table.child, the child that stands for all texts.
const anyText = "\x00"

// Table holds patterns. Use [New]. Not safe for concurrent use.
type Table struct {
	all   []Pattern
	nodes []node
	child map[place]uint32
	text  []byte // scratch
	// spread says that a pattern with a sign and one without have become one.
	spread bool
}

// New returns a table with one pattern: patterns beyond its bounds share it.
func New() *Table {
	return &Table{all: make([]Pattern, 1), nodes: make([]node, 1), child: map[place]uint32{}}
}

// Of is the pattern of the key with this name in the epoch. spread says that by it a
// pattern with a sign and one without have become one: keys of both have the sign now.
// O(len(name)); O(maxNodes) when a place shows one text too many, which happens to each once.
func (t *Table) Of(epoch uint64, name []byte) (id ID, spread bool) {
	var root [8]byte
	for i := range root {
		root[i] = byte(epoch >> (8 * i))
	}
	t.spread = false
	at, ok := t.step(0, root[:])
	for n := 1; ok && len(name) > 0; n++ {
		end := bytes.IndexAny(name, "/:.") + 1
		if end == 0 || n == maxSegments {
			end = len(name)
		}
		t.text = AppendNormal(t.text[:0], name[:end])
		name = name[end:]
		at, ok = t.step(at, t.text)
	}
	if !ok {
		return 0, t.spread
	}
	return t.end(at), t.spread
}

// end is the pattern of the names that end at the node.
func (t *Table) end(at uint32) ID {
	x := &t.nodes[at]
	if !x.named {
		if len(t.all) > MaxPatterns {
			return 0
		}
		x.named, x.pattern = true, ID(len(t.all))
		t.all = append(t.all, Pattern{into: x.pattern})
	}
	return t.find(x.pattern)
}

// step goes from a node to its child with this text, which it makes; false when the table
// is full.
func (t *Table) step(parent uint32, text []byte) (uint32, bool) {
	if t.nodes[parent].merged {
		return t.child[place{parent, anyText}], true
	}
	if c, ok := t.child[place{parent, string(text)}]; ok {
		return c, true
	}
	if parent != 0 && t.nodes[parent].texts == maxTexts {
		t.merge(parent)
		return t.child[place{parent, anyText}], true
	}
	if len(t.nodes) >= maxNodes {
		return 0, false
	}
	return t.add(parent, string(text), string(text)), true
}

func (t *Table) add(parent uint32, text, shown string) uint32 {
	c := uint32(len(t.nodes))
	t.nodes = append(t.nodes, node{parent: parent, text: shown})
	t.child[place{parent, text}] = c
	t.nodes[parent].texts++
	return c
}

// merge lets one child of the node stand for all.
func (t *Table) merge(parent uint32) {
	if t.nodes[parent].merged {
		return
	}
	children := t.childrenOf(parent)
	for _, c := range children {
		delete(t.child, place{parent, t.nodes[c].text})
	}
	t.nodes[parent].merged, t.nodes[parent].texts = true, 0
	shown := "#"
	if len(children) > 0 {
		if s := t.nodes[children[0]].text; s != "" && strings.IndexByte("/:.", s[len(s)-1]) >= 0 {
			shown += s[len(s)-1:]
		}
	}
	all := t.add(parent, anyText, shown)
	for _, c := range children {
		t.mergeInto(c, all)
	}
}

func (t *Table) childrenOf(parent uint32) []uint32 {
	var cs []uint32
	for i := 1; i < len(t.nodes); i++ {
		if x := &t.nodes[i]; x.parent == parent && !x.gone {
			cs = append(cs, uint32(i))
		}
	}
	return cs
}

// mergeInto lets node c hold all that node x holds. x has no parent any more.
func (t *Table) mergeInto(x, c uint32) {
	t.nodes[x].gone = true
	if t.nodes[x].named {
		if t.nodes[c].named {
			t.union(t.nodes[c].pattern, t.nodes[x].pattern)
		} else {
			t.nodes[c].named, t.nodes[c].pattern = true, t.nodes[x].pattern
		}
	}
	children := t.childrenOf(x)
	if t.nodes[x].merged {
		t.merge(c)
	}
	for _, y := range children {
		key := t.nodes[y].text
		if t.nodes[x].merged {
			key = anyText
		}
		delete(t.child, place{x, key})
		if !t.nodes[c].merged && t.nodes[c].texts == maxTexts && t.child[place{c, key}] == 0 {
			t.merge(c)
		}
		if t.nodes[c].merged {
			key = anyText
		}
		if to := t.child[place{c, key}]; to != 0 {
			t.mergeInto(y, to)
			continue
		}
		t.nodes[y].parent = c
		t.child[place{c, key}] = y
		t.nodes[c].texts++
	}
}

// union makes one pattern of two.
func (t *Table) union(a, b ID) {
	a, b = t.find(a), t.find(b)
	if a == b {
		return
	}
	a, b = min(a, b), max(a, b)
	x, y := &t.all[a], &t.all[b]
	y.into = a
	x.Reads, x.Undecided, x.Shared = x.Reads+y.Reads, x.Undecided+y.Undecided, x.Shared || y.Shared
	x.OfRows = x.OfRows || y.OfRows
	if (x.Repeats == 0) != (y.Repeats == 0) {
		t.spread = true
		x.Repeats, x.Told = max(x.Repeats, y.Repeats), x.Told || y.Told
	}
}

func (t *Table) find(id ID) ID {
	for t.all[id].into != id {
		id = t.all[id].into
	}
	return id
}

// Get is the pattern with this number, as it is by now. Valid until the next call of Of.
func (t *Table) Get(id ID) *Pattern { return &t.all[t.find(id)] }

// Same says whether two numbers stand for one pattern by now.
func (t *Table) Same(a, b ID) bool { return t.find(a) == t.find(b) }

// Len is more than the greatest number of a pattern.
func (t *Table) Len() int { return len(t.all) }

// Each calls fn with each pattern, in the order in which they were met, with its name as a
// person reads it. The first one is the shared one, which has none.
func (t *Table) Each(fn func(id ID, name string, p *Pattern)) {
	fn(0, "", &t.all[0])
	for i := range t.nodes {
		if x := &t.nodes[i]; x.named && !x.gone && t.find(x.pattern) == x.pattern {
			fn(x.pattern, t.path(uint32(i)), &t.all[x.pattern])
		}
	}
}

// Name is the pattern as a person reads it, "" for the shared one. O(nodes).
func (t *Table) Name(id ID) (name string) {
	id = t.find(id)
	for i := range t.nodes {
		if x := &t.nodes[i]; id != 0 && x.named && !x.gone && t.find(x.pattern) == id {
			return t.path(uint32(i))
		}
	}
	return ""
}

func (t *Table) path(n uint32) string {
	text := ""
	for ; t.nodes[n].parent != 0; n = t.nodes[n].parent {
		text = t.nodes[n].text + text
	}
	return text
}
