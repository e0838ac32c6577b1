package saturation

import "github.com/isowatch/isowatch/internal/flat"

// Rule says what forces an edge.
type Rule uint8

// From weak to strong: a level takes the edges of its own rule and of those before
// it, plain levels those by reads only.
const (
	AtomicView    Rule = iota + 1 // figure 2a: t3 read from t2 before
	Atomic                        // figure 2b: t3 read from t2
	SessionAtomic                 // figure 2b: t2 is before t3 in its session
	Causal                        // figure 2c: t2 is in the causal past of t3
)

// Edge says that From comes before To, because By read Key from To and has From
// before it by Rule. To is 0 when By read the initial version: a contradiction by
// itself.
type Edge struct {
	From, To, By uint32
	Key          uint32
	Rule         Rule
	// Again says that By had From in its past before the latest Renew.
	Again bool
}

// Read is an external read. A transaction's reads are given in the order of First.
type Read struct {
	Key, Writer uint32 // Writer 0: the initial version
	First, Last uint32 // places in the transaction of the first and the last read that saw it
}

// Shown is a transaction whose append a list read shows, with another one's append behind. It
// was read from, and is not the latest of its key.
type Shown struct {
	Writer uint32
	First  uint32 // as in Read
}

// txn is a transaction. Numbers are the caller's.
type txn struct {
	chain, pos uint32 // chain 0: not taken in
	session    uint32
	entries    uint32 // list of what it wrote
	stamp      uint32
	firstRead  uint32 // scratch
}

// entry is a write of a key.
type entry struct {
	key, txn  uint32
	pos       uint32 // of txn in its chain
	height    uint32 // entries before it in its column, and 1
	prev      uint32 // the entry before it in its column
	jump      uint32 // one further back: see find
	nextOfTxn uint32
}

// column is the writes of one key in one chain, in the chain's order.
type column struct {
	chain     uint32
	lastPos   uint32 // of last
	last      uint32 // entry
	nextOfKey uint32
}

type key struct {
	columns uint32
	stamp   uint32
	reads   uint32 // index+1 into the reads of the transaction in work, scratch
}

// chain is a sequence of transactions. Each has the ones before it in its past.
type chain struct {
	tail    uint32 // latest member
	pos     uint32 // of the latest member; never goes back
	live    uint32 // members that are not dropped
	dropped uint32 // position of the latest member that was dropped, or that began behind what was; never goes back
	session uint32 // of the latest member
	mixed   uint32 // 1: it has had members of several sessions
}

// State is the state of the transactions that were taken in. Use [New].
type State struct {
	clocked bool // session order and causality are followed
	txns    []txn
	keys    []key
	entries []entry
	columns []column
	chains  []chain
	// clocks are the past of each transaction: up to which position it has the members of each
	// chain. A transaction is not in its own. They lie in pages. A page has stride entries a
	// transaction when it is made, and when one of its transactions is taken in.
	clocks [][]uint32
	stride uint32

	freeEntry, freeColumn uint32 // linked by nextOfTxn, nextOfKey
	idle                  []uint32

	stamp   uint32
	sameKey []uint32
	before  []uint32 // clock before Renew; empty in Add
	Out     []Edge   // of the latest Add or Renew
	// Missed says that the latest Renew took transactions into the past that had been
	// dropped: with these the reads were never compared.
	Missed bool

	// MaxChains bounds the chains that are in use at one time; a clock has an entry
	// for each. Default 4096.
	MaxChains int
	// TooWide says that there were more: from then on only the rules by direct reads
	// are applied.
	TooWide bool
}

// New returns an empty state. Without clocks only the rules by direct reads are
// applied.
func New(clocked bool) *State {
	return &State{
		clocked: clocked, txns: make([]txn, 1), keys: make([]key, 1), entries: make([]entry, 1),
		columns: make([]column, 1), chains: make([]chain, 1), stride: 8, MaxChains: 1 << 12,
	}
}

// Known says whether t was taken in.
func (s *State) Known(t uint32) bool { return int(t) < len(s.txns) && s.txns[t].chain != 0 }

// Precedes says whether p is in t's past, as far as both were taken in.
func (s *State) Precedes(p, t uint32) bool {
	return s.clocked && !s.TooWide && s.Known(p) && s.Known(t) && s.txns[p].pos <= of(s.row(t), s.txns[p].chain)
}

func (s *State) grow(t uint32) {
	for int(t) >= len(s.txns) {
		s.txns = flat.Push(s.txns, txn{})
	}
}

func (s *State) keyAt(k uint32) *key {
	for int(k) >= len(s.keys) {
		s.keys = flat.Push(s.keys, key{})
	}
	return &s.keys[k]
}

// Txn is a transaction to take in.
type Txn struct {
	Number uint32 // not 0
	// Session is its session, 0 for none, and After the one before it there, 0 for
	// the first. Open says that nothing follows from its end: it has a place in its
	// session and nobody comes behind it.
	Session, After uint32
	Open           bool
	// Preds are further ones that it directly depends on: at least those it read
	// from may be left out.
	Preds []uint32
	Reads []Read
	Shown []Shown
	// Behind says that some of what it directly depends on was dropped before it is added.
	Behind bool
}

// Add takes t in, with the keys that it wrote. Its dependencies should be taken in already.
// Others are left out of its past, until [State.Renew]. The edges that its reads force are in
// s.Out until the next call.
func (s *State) Add(t *Txn, writes []uint32) {
	s.grow(t.Number)
	s.Out, s.before = s.Out[:0], s.before[:0]
	if s.clocked && !s.TooWide {
		s.join(t)
	}
	s.enter(t)
	if x := &s.txns[t.Number]; t.Behind { // who takes it in takes in what is not in its clock
		s.chains[x.chain].dropped = max(s.chains[x.chain].dropped, x.pos)
	}
	s.derive(t)
	for _, k := range writes {
		s.write(t.Number, k)
	}
}

// Renew takes in that t, which was added, depends on more than it was added with.
// It says whether t's past has grown: then those that depend on t are to be renewed
// as well.
func (s *State) Renew(t *Txn) (grown bool) {
	s.Out, s.before, s.Missed = s.Out[:0], s.before[:0], false
	if s.clocked && !s.TooWide {
		s.before = append(s.before, s.row(t.Number)...)
		grown = s.join(t)
		s.Missed = grown && s.gainedDropped(s.row(t.Number))
	}
	s.derive(t)
	return grown
}

// gainedDropped says whether a clock that was s.before holds more of what has been
// dropped now. Without clocks nothing such can be: what a transaction reads from is
// dropped when all that has arrived has been taken in with it.
func (s *State) gainedDropped(now []uint32) bool {
	for i := 1; i < len(s.chains); i++ {
		if b := of(s.before, uint32(i)); b < now[i] && b < s.chains[i].dropped {
			return true
		}
	}
	return false
}

// write notes that t wrote k.
func (s *State) write(t, k uint32) {
	s.keyAt(k)
	x := &s.txns[t]
	c := s.column(k, x.chain)
	id := s.freeEntry
	if id != 0 {
		s.freeEntry = s.entries[id].nextOfTxn
	} else {
		id = uint32(len(s.entries))
		s.entries = flat.Push(s.entries, entry{})
	}
	col := &s.columns[c]
	prev := col.last
	e := &s.entries[id]
	*e = entry{key: k, txn: t, pos: x.pos, prev: prev, height: 1, nextOfTxn: x.entries}
	if prev != 0 {
		p := &s.entries[prev]
		e.height, e.jump = p.height+1, prev
		if j := p.jump; j != 0 && s.older(j, p) {
			if jj := s.entries[j].jump; jj != 0 && s.older(jj, &s.entries[j]) && p.height-s.entries[j].height == s.entries[j].height-s.entries[jj].height {
				e.jump = jj
			}
		}
	}
	col.last, col.lastPos = id, x.pos
	x.entries = id
}

// older says whether the entry id is still the one that e points back to. Entries are dropped
// from the old end of a column, and their numbers are used again.
func (s *State) older(id uint32, e *entry) bool {
	x := &s.entries[id]
	return x.key == e.key && x.pos < e.pos && x.txn != 0 && s.txns[x.txn].chain == s.txns[e.txn].chain
}

// column finds or makes the column of k in the chain.
func (s *State) column(k, chain uint32) uint32 {
	for c := s.keys[k].columns; c != 0; c = s.columns[c].nextOfKey {
		if s.columns[c].chain == chain {
			return c
		}
	}
	c := s.freeColumn
	if c != 0 {
		s.freeColumn = s.columns[c].nextOfKey
	} else {
		c = uint32(len(s.columns))
		s.columns = flat.Push(s.columns, column{})
	}
	s.columns[c] = column{chain: chain, nextOfKey: s.keys[k].columns}
	s.keys[k].columns = c
	return c
}

// find is the latest entry of the column at or before pos, 0 if there is none.
// O(log n) of the entries behind it: jump leads back as in Myers, An applicative
// random-access stack (1983).
func (s *State) find(c *column, pos uint32) uint32 {
	id := c.last
	for s.entries[id].pos > pos {
		e := &s.entries[id]
		if j := e.jump; j != 0 && s.entries[j].pos > pos && s.older(j, e) {
			id = j
			continue
		}
		if e.prev == 0 || !s.older(e.prev, e) {
			return 0
		}
		id = e.prev
	}
	return id
}

// Drop forgets t: nothing that comes later is compared with it. Transactions that
// are in t's past are dropped before it.
func (s *State) Drop(t uint32) {
	if !s.Known(t) {
		return
	}
	x := &s.txns[t]
	for id := x.entries; id != 0; {
		e := &s.entries[id]
		next := e.nextOfTxn
		s.dropEntry(id)
		id = next
	}
	c := &s.chains[x.chain]
	c.dropped = max(c.dropped, x.pos)
	if c.live--; c.live == 0 {
		s.idle = append(s.idle, x.chain)
		c.tail, c.session, c.mixed = 0, 0, 0
	}
	*x = txn{}
}

func (s *State) dropEntry(id uint32) {
	e := &s.entries[id]
	k := e.key
	for c, prev := s.keys[k].columns, uint32(0); c != 0; prev, c = c, s.columns[c].nextOfKey {
		if s.columns[c].last != id {
			continue
		}
		if prev == 0 {
			s.keys[k].columns = s.columns[c].nextOfKey
		} else {
			s.columns[prev].nextOfKey = s.columns[c].nextOfKey
		}
		s.columns[c] = column{nextOfKey: s.freeColumn}
		s.freeColumn = c
		break
	}
	*e = entry{nextOfTxn: s.freeEntry}
	s.freeEntry = id
}
