package registers

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/saturation"
)

// History is a whole history of registers. The zero value is empty.
type History struct {
	Committed, Aborted, Unknown, Operations int64
	// Drift is how far two clients' clocks may be apart, ns.
	Drift int64

	odd         string // why this is not decided here, "" if it is
	diverged    bool   // two transactions replaced one version
	sessionless bool   // a committed transaction has no place in a session
	timeless    bool   // or no times
	inSessions  bool   // some transaction has a session; known when it is closed
	source      event.Hash
	begun       bool
	closed      bool

	ids         hashes // of transactions
	keys        hashes
	sessions    hashes
	values      hashes // of versions: of a key and a value
	members     []member
	writers     []uint32 // by version: the state of its writer
	places      []uint32 // by version: the place of its write in numbers.Writes, from 1
	replaced    []uint64 // bits by version: somebody read it and wrote the key
	numbers     saturation.History
	spans       []saturation.Span // by transaction, unless one is timeless
	lists       lists
	numKeys     int      // known when it is closed
	numVersions int      // known then: with the initial ones
	saw         []uint32 // by read: the place of the write in numbers.Writes, from 1; known then

	fetching fetching

	// The transaction in work.
	stamp   uint32
	touched []touch
	touches []touchOf // by key
}

// Writers of a version that are not numbers of transactions.
const (
	nobody   = uint32(0)
	nobodys  = ^uint32(0) // of an aborted transaction or of an unknown one, or overwritten by its writer
	maxCount = nobodys - 1
)

// member is the latest of a session.
type member struct {
	seq, end int64
	timed    bool
	counted  bool // it has a seq
}

// touch is the work of the transaction in work on one key.
type touch struct {
	key   uint32
	read  uint32   // index+1 of its read in numbers.Reads
	wrote uint32   // the version that the transaction wrote last; 0: it wrote none
	own   []uint32 // of a list: all that it appended
}

type touchOf struct {
	stamp, at uint32
	replaced  bool // its initial version was
	kind      event.DataKind
}

// Add takes in the transactions of b. A history is odd, and is decided elsewhere, where
//
//   - a record is not a whole one, could not be read, or has another source;
//   - a record has an epoch or a level of its own, or is about old data;
//   - an id comes twice;
//   - something else is done than reads and writes of registers, and reads and appends of
//     lists, or versions are given;
//   - two reads of a list do not agree on its beginning, or an element comes twice in it;
//   - a transaction misreads what it wrote or read before, or writes a value again that
//     it had overwritten;
//   - a version has two writers;
//   - a version is read that nobody is known to have committed, that its reader wrote later
//     on, or that its writer overwrote;
//   - the members of a session do not come one behind the other.
func (h *History) Add(b *event.Batch) {
	if len(b.Bad)+len(b.Parts) > 0 {
		h.odd = "a record is not a whole transaction"
	}
	for i := range b.Txns {
		if h.odd != "" {
			return
		}
		if i%atATime == 0 {
			h.fetch(b, b.Txns[i:min(i+atATime, len(b.Txns))])
		}
		h.add(b, &b.Txns[i])
	}
}

// Expect says that the whole history is about so many times what has come. Where that is
// so, nothing is moved any more to where there is room for it.
func (h *History) Expect(times float64) {
	more := func(n int) int { return int(min(float64(n)*times*1.15, mostExpected)) }
	h.ids.expect(more(len(h.ids.all)))
	x := &h.numbers
	// Writes of sessions that come later may have been read already. In the end every version
	// has been written.
	versions := more(min(len(h.values.all), 1+len(x.Writes)))
	h.values.expect(versions)
	h.writers = slices.Grow(h.writers, max(0, versions-len(h.writers)))
	h.places = slices.Grow(h.places, max(0, versions-len(h.places)))
	h.spans = slices.Grow(h.spans, max(0, more(len(h.spans))-len(h.spans)))
	x.Txns = slices.Grow(x.Txns, max(0, more(len(x.Txns))-len(x.Txns)))
	x.Reads = slices.Grow(x.Reads, max(0, more(len(x.Reads))-len(x.Reads)))
	x.Writes = slices.Grow(x.Writes, max(0, more(len(x.Writes))-len(x.Writes)))
}

// mostExpected bounds the room that is made.
const mostExpected = 1 << 23

// Reads is how many reads of committed transactions show what others left.
func (h *History) Reads() int { return len(h.numbers.Reads) }

// Versions is how many versions of keys there are, with the initial ones; 0 where the history was not closed, or is odd.
func (h *History) Versions() int { return h.numVersions }

// Writes is how many versions committed transactions left.
func (h *History) Writes() int { return len(h.numbers.Writes) }

// Diverged says whether two transactions read one version and wrote its key: a lost
// update, which the levels that are decided here allow.
func (h *History) Diverged() bool { return h.diverged }

// Odd is why the history is not decided here, "" if it is.
func (h *History) Odd() string { return h.odd }

func (h *History) add(b *event.Batch, t *event.Txn) {
	source := event.HashText(b.Bytes(t.Source))
	switch {
	case h.begun && source != h.source:
		h.odd = "there are several sources"
	case t.Epoch.Len > 0:
		h.odd = "there are epochs"
	case t.Isolation.Len > 0:
		h.odd = "transactions ask for levels of their own"
	case t.Flags&event.Stale != 0:
		h.odd = "a transaction is about old data"
	case len(h.numbers.Reads)+len(h.numbers.Writes)+int(t.NumOps) > int(maxCount):
		h.odd = "it is too long"
	}
	h.source, h.begun = source, true
	if _, known := h.ids.find(t.IDHash); known {
		h.odd = "an id comes twice"
	}
	session := h.place(t)
	if h.odd != "" {
		return
	}
	h.Operations += int64(t.NumOps)
	if len(h.numbers.Txns) == 0 {
		h.numbers.Txns = append(h.numbers.Txns, saturation.HistoryTxn{})
		h.spans = append(h.spans, saturation.Span{})
		h.writers, h.places = append(h.writers, nobody), append(h.places, 0)
		h.values.next()
	}
	timeless := t.Flags&event.HasTimes == 0 || t.End < t.Start || t.Start < -mostTime || t.End > mostTime
	if t.Status != event.Committed {
		h.timeless = h.timeless || timeless
		if t.Status == event.Unknown {
			h.Unknown++
		} else {
			h.Aborted++
		}
		h.operate(b, t, nobodys)
		return
	}
	h.Committed++
	h.sessionless = h.sessionless || session == 0
	h.numbers.Txns = append(h.numbers.Txns, saturation.HistoryTxn{
		Session: session, Reads: uint32(len(h.numbers.Reads)), Writes: uint32(len(h.numbers.Writes)),
	})
	if !h.timeless {
		h.spans = append(h.spans, saturation.Span{Start: t.Start, End: t.End})
		h.timeless = timeless
	}
	h.operate(b, t, uint32(len(h.numbers.Txns)-1))
}

// mostTime is how far a time may be from 1970, ns: sums with the drift do not overflow.
const mostTime = 1 << 61

// place is the session of t, 0 if it has none.
func (h *History) place(t *event.Txn) uint32 {
	if t.Session.Len == 0 {
		return 0
	}
	id, known := h.sessions.find(t.SessionHash)
	now := member{seq: t.Seq, end: t.End, timed: t.Flags&event.HasTimes != 0}
	now.counted = t.Flags&event.HasSeq != 0
	if !now.counted && !now.timed {
		h.odd = "a session's members have no seq, and no times"
	}
	if !known {
		h.members = append(h.members, now)
		return id + 1
	}
	before := &h.members[id]
	inOrder := before.counted && now.counted && now.seq-1 == before.seq && !(before.timed && now.timed && before.end > t.Start)
	if !before.counted && !now.counted { // then their times place them
		inOrder = before.timed && now.timed && before.end < t.Start
	}
	if !inOrder {
		h.odd = "a session's members do not come one behind the other"
	}
	*before = now
	return id + 1
}

// operate takes in the operations of t, whose number is n. n is nobodys if it did not commit, as far
// as anybody knows: then its reads do not count. Where nobody has seen an unknown one, it need not
// have taken effect.
func (h *History) operate(b *event.Batch, t *event.Txn, n uint32) {
	h.stamp++
	h.touched = h.touched[:0]
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		kind, ok := kindOf(o)
		if !ok {
			h.odd = "something else than reads and writes of registers and lists is done"
			return
		}
		if o.Kind == event.Read && n == nobodys {
			continue
		}
		x := h.touch(o.KeyHash, kind)
		switch {
		case h.odd != "":
			return
		case kind == event.List && o.Kind == event.Read:
			h.readList(x, b.ElemsOf(o), uint32(i))
		case kind == event.List:
			h.append(x, h.version(x.key, o.ValueHash))
		case o.Kind == event.Write:
			h.write(x, h.version(x.key, o.ValueHash))
		case o.Flags&event.NotFound != 0:
			h.readNothing(x, uint32(i))
		default:
			h.read(x, h.version(x.key, o.ValueHash), uint32(i))
		}
	}
	for i := range h.touched {
		x := &h.touched[i]
		if x.wrote == 0 {
			continue
		}
		for _, v := range x.own[:max(0, len(x.own)-1)] {
			h.wrote(v, n)
			h.places[v] = nobodys // an intermediate version
		}
		h.wrote(x.wrote, n)
		if n != nobodys {
			h.numbers.Writes = append(h.numbers.Writes, x.key)
			h.places[x.wrote] = uint32(len(h.numbers.Writes))
			if len(x.own) > 1 {
				h.lists.keepOwn(h.places[x.wrote], x.own)
			}
			h.replace(x)
		}
	}
}

// kindOf is the kind of the key of o, Unspecified if o does not tell. ok is false for what is not taken
// in here.
func kindOf(o *event.Op) (kind event.DataKind, ok bool) {
	switch {
	case o.Flags&^(event.NotFound|event.IsArray) != 0 || o.Data > event.List:
		return 0, false
	case o.Kind == event.Append:
		return event.List, o.Flags == 0
	case o.Kind == event.Write:
		return event.Register, o.Flags == 0 && o.Data != event.List
	case o.Kind != event.Read:
		return 0, false
	case o.Flags&event.IsArray != 0 || o.Data == event.List:
		return event.List, o.Data != event.Register
	case o.Flags&event.NotFound != 0:
		return o.Data, true
	}
	return event.Register, true
}

// touch is the work of the transaction in work on a key of this kind, so far.
func (h *History) touch(hash event.Hash, kind event.DataKind) *touch {
	key, known := h.keys.find(hash)
	if !known {
		h.touches = append(h.touches, touchOf{})
	}
	k := &h.touches[key]
	if kind != 0 {
		if k.kind != 0 && k.kind != kind {
			h.odd = "a key is of two kinds"
		}
		k.kind = kind
	}
	if k.stamp != h.stamp {
		k.stamp, k.at = h.stamp, uint32(len(h.touched))
		if len(h.touched) < cap(h.touched) {
			h.touched = h.touched[:len(h.touched)+1]
		} else {
			h.touched = append(h.touched, touch{})
		}
		x := &h.touched[k.at]
		*x = touch{key: key, own: x.own[:0]}
	}
	return &h.touched[k.at]
}

// replace notes which version a transaction read and replaced.
func (h *History) replace(x *touch) {
	if x.read == 0 {
		return
	}
	v := h.numbers.Reads[x.read-1].Writer
	if v == 0 {
		k := &h.touches[x.key]
		h.diverged = h.diverged || k.replaced
		k.replaced = true
		return
	}
	for int(v>>6) >= len(h.replaced) {
		h.replaced = append(h.replaced, 0)
	}
	word, bit := &h.replaced[v>>6], uint64(1)<<(v&63)
	h.diverged = h.diverged || *word&bit != 0
	*word |= bit
}

// version is the number of a value of the key.
func (h *History) version(key uint32, value event.Hash) uint32 {
	v, known := h.values.find(versionHash(key, value))
	if !known {
		h.writers, h.places = append(h.writers, nobody), append(h.places, 0)
	}
	return v
}

func versionHash(key uint32, value event.Hash) event.Hash {
	return event.Hash{Lo: value.Lo ^ uint64(key)*0x9e3779b97f4a7c15, Hi: value.Hi + uint64(key)*0xc2b2ae3d27d4eb4f}
}

func (h *History) write(x *touch, v uint32) {
	if x.wrote != 0 && x.wrote != v {
		h.wrote(x.wrote, nobodys)
	}
	x.wrote = v
}

func (h *History) wrote(v, n uint32) {
	if h.writers[v] != nobody {
		h.odd = "a version is written twice"
	}
	h.writers[v] = n
}

// readNothing notes a read that found nothing.
func (h *History) readNothing(x *touch, at uint32) {
	if len(x.own) > 0 {
		h.odd = "a transaction misreads what it wrote"
		return
	}
	h.read(x, 0, at)
}

// read notes that v was read of a register. The version stands for its writer until all are known.
func (h *History) read(x *touch, v, at uint32) {
	if x.wrote == 0 {
		h.readVersion(x, v, at)
	} else if x.wrote != v {
		h.odd = "a transaction misreads what it wrote"
	}
}

// readVersion notes that the transaction in work read v, which others left.
func (h *History) readVersion(x *touch, v, at uint32) {
	if x.read == 0 {
		h.numbers.Reads = append(h.numbers.Reads, saturation.Read{Key: x.key, Writer: v, First: at, Last: at})
		x.read = uint32(len(h.numbers.Reads))
		return
	}
	r := &h.numbers.Reads[x.read-1]
	if r.Writer != v {
		h.odd = "a transaction reads two versions of a key"
	}
	r.Last = at
}
