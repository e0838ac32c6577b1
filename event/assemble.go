package event

import (
	"bytes"
	"container/heap"
	"fmt"
	"math"
	"slices"
)

// Limits of an Assembler, unless its fields say otherwise.
const (
	DefaultMaxOpen  = 1_000_000 // open transactions
	DefaultMaxBytes = 512 << 20 // of open transactions together
)

// Assembler puts operation-level records together into transactions. It has no clock. A
// transaction that never finishes becomes unknown when Expire is called. The longest open one
// also becomes unknown when a limit on the open ones is reached. The same parts in the same
// order give the same transactions.
//
// The zero Assembler is ready. One goroutine uses it at a time.
type Assembler struct {
	MaxOpen  int // 0: DefaultMaxOpen
	MaxBytes int // 0: DefaultMaxBytes
	// Recorded: AppendChanges is asked what changes.
	Recorded bool

	byID    map[Hash]*openTxn // by source, epoch and id; looked up, never ranged over
	oldest  *openTxn          // the open transactions by arrival, a list
	newest  *openTxn
	sources map[string]*openSource // those with open transactions, and some without
	round   uint64                 // calls of Add
	unused  *openTxn               // closed ones, kept for their memory
	bytes   int
	serial  uint64
	evicted uint64
	log     assemblyLog

	decoder Decoder
	scratch []byte
	ender   []int // of the transactions that a call of Add finished: the index of the part that did
	merged  []Txn
}

// openTxn is a transaction whose commit or abort was not seen yet.
type openTxn struct {
	id         Hash // of source, epoch and txn
	serial     uint64
	prev, next *openTxn
	source     *openSource
	heapIndex  int // in openSource.starts, -1 without a start

	partition string   // of the begin record
	pos       Position // of the begin record
	start     int64
	hasStart  bool
	// tooLong: operations beyond 16 MiB were refused.
	tooLong bool
	early   bool       // its begin has not come
	ended   *spreadEnd // its last record has, and others have not
	// waited is how far the source had come when Expire first saw that the
	// transaction waits; stamped says that it has.
	waited  int64
	stamped bool

	// text is a compact record without operations, then the operations as the
	// compact record holds them, in order of arrival.
	text []byte
	head int    // length of the record without operations
	ops  []opAt // by index
	log  logged
}

// opAt is the place of an operation in openTxn.text.
type opAt struct{ index, off, end uint32 }

// openOverhead is about what an open transaction costs beside its text.
const openOverhead = 256

// Len is the number of open transactions.
func (a *Assembler) Len() int { return len(a.byID) }

// Bytes is the size of the open transactions.
func (a *Assembler) Bytes() int { return a.bytes }

// Evicted counts the transactions that became unknown because too many were
// open, or too long ones.
func (a *Assembler) Evicted() uint64 { return a.evicted }

// Oldest is the least start of the source's open transactions. now is about those that are
// still open. since is about all that were open at any time since the latest Add began,
// including those that it finished. math.MaxInt64 stands for no transaction with a start.
func (a *Assembler) Oldest(source []byte) (since, now int64) {
	s := a.sources[string(source)]
	if s == nil {
		return math.MaxInt64, math.MaxInt64
	}
	a.touch(s)
	return s.since, s.least()
}

// Add takes the parts of b. It puts the transactions that they finish among the whole ones of
// b, at the place of the finishing record. A part that does not fit gives a BadRecord.
func (a *Assembler) Add(b *Batch) {
	if a.byID == nil {
		a.byID = make(map[Hash]*openTxn)
	}
	a.round++
	a.sweep()
	whole := len(b.Txns)
	a.ender = a.ender[:0]
	defer func() { a.merge(b, whole) }()
	for i := range b.Parts {
		p := &b.Parts[i]
		id := a.identity(b, p.Source, p.Epoch, p.ID)
		open := a.byID[id]
		switch {
		case p.Kind == Begin:
			a.begin(b, p, id, open)
		case p.Spread:
			a.spread(b, p, id, open)
		case open == nil || open.early:
			b.AddBad(p.Pos, b.Bytes(p.Raw), fmt.Sprintf("%s of txn %q, which is not open: it has no begin, or has ended", p.Kind, b.Bytes(p.ID)))
		case p.Kind == OpPart:
			a.op(b, p, open)
		default:
			a.end(b, p, open)
		}
		for len(a.ender) < len(b.Txns)-whole {
			a.ender = append(a.ender, i)
		}
	}
}

// merge puts the transactions behind the first whole ones, which are in order,
// to their places.
func (a *Assembler) merge(b *Batch, whole int) {
	if len(b.Txns) == whole {
		return
	}
	a.merged = a.merged[:0]
	next, mark := 0, 0
	passTo := func(end int) {
		for ; next < end; next++ {
			mark = b.moveMarks(mark, next, math.MaxInt, len(a.merged))
			a.merged = append(a.merged, b.Txns[next])
		}
	}
	for i, t := range b.Txns[whole:] {
		at := a.ender[i]
		before := int(b.Parts[at].Before)
		passTo(min(before, whole))
		mark = b.moveMarks(mark, before, at, len(a.merged))
		a.merged = append(a.merged, t)
	}
	passTo(whole)
	b.moveMarks(mark, whole, math.MaxInt, len(a.merged))
	copy(b.Txns, a.merged)
}

// identity is the hash of source, epoch and id, each with its length.
func (a *Assembler) identity(b *Batch, source, epoch, id Span) Hash {
	s := appendText(a.scratch[:0], b, source)
	s = appendText(s, b, epoch)
	a.scratch = appendText(s, b, id)
	return hashBytes(a.scratch)
}

func (a *Assembler) begin(b *Batch, p *Part, id Hash, open *openTxn) {
	t := p.txn()
	if open != nil && open.early {
		a.adopt(b, p, open)
		a.complete(b, open)
		return
	}
	if open != nil {
		a.scratch = AppendRecord(a.scratch[:0], b, &t)
		same := open.start == p.Start && open.hasStart == p.HasStart &&
			bytes.Equal(a.scratch, open.text[:open.head])
		if !same {
			b.AddBad(p.Pos, b.Bytes(p.Raw), fmt.Sprintf("a second begin of txn %q, unlike the first", b.Bytes(p.ID)))
		}
		return
	}
	open = a.newOpen()
	open.id, open.pos = id, p.Pos
	open.partition = b.partitionName(p.Pos)
	open.start, open.hasStart = p.Start, p.HasStart
	open.text = AppendRecord(open.text[:0], b, &t)
	open.head = len(open.text)
	a.insert(open, b.Bytes(p.Source))
	a.change(open)
	a.makeRoom(b)
}

// txn is the transaction that p speaks of, as far as p alone tells.
func (p *Part) txn() Txn {
	return Txn{
		ID: p.ID, Source: p.Source, Epoch: p.Epoch, Session: p.Session,
		Name: p.Name, Isolation: p.Isolation, TraceID: p.TraceID, Labels: p.Labels,
		StartTS: p.StartTS, CommitTS: p.CommitTS, Seq: p.Seq,
		Status: Unknown, Flags: p.Flags,
	}
}

func (a *Assembler) op(b *Batch, p *Part, open *openTxn) {
	off := uint32(len(open.text))
	open.text = appendOp(open.text, b, &b.Ops[p.Op])
	op := opAt{p.Index, off, uint32(len(open.text))}
	at, twice := slices.BinarySearchFunc(open.ops, op, func(x, y opAt) int { return int(x.index) - int(y.index) })
	refuse := ""
	switch {
	case twice && !bytes.Equal(open.text[op.off:], open.text[open.ops[at].off:open.ops[at].end]):
		refuse = fmt.Sprintf("operation %d of txn %q is given twice, unlike the first time", p.Index, b.Bytes(p.ID))
	case open.ended != nil && p.Index >= open.ended.count:
		refuse = fmt.Sprintf("operation %d of txn %q, which counts %d", p.Index, b.Bytes(p.ID), open.ended.count)
	case !twice && op.end > MaxRecord:
		open.tooLong = true
		a.change(open)
		refuse = fmt.Sprintf("txn %q is longer than 16 MiB", b.Bytes(p.ID))
	case !twice:
		open.ops = slices.Insert(open.ops, at, op)
		a.change(open)
		a.bytes += int(op.end - op.off)
		a.makeRoom(b)
		return
	}
	open.text = open.text[:off]
	if refuse != "" {
		b.AddBad(p.Pos, b.Bytes(p.Raw), refuse)
	}
}

// spread takes a piece that may come before its begin and behind its end.
func (a *Assembler) spread(b *Batch, p *Part, id Hash, open *openTxn) {
	if open == nil {
		open = a.early(b, p, id)
		a.makeRoom(b) // open stays: it is the newest
	}
	if p.Kind == OpPart {
		a.op(b, p, open)
	} else {
		a.endSpread(b, p, open)
	}
	a.complete(b, open)
}

func (a *Assembler) end(b *Batch, p *Part, open *openTxn) {
	if open.ended != nil {
		b.AddBad(p.Pos, b.Bytes(p.Raw), fmt.Sprintf("a second end of txn %q, unlike the first", b.Bytes(p.ID)))
		return
	}
	status := Committed
	if p.Kind == Abort {
		status = Aborted
	}
	if !open.hasStart {
		open.start, open.hasStart = p.Start, p.HasStart
	}
	if p.HasEnd && open.hasStart && p.End < open.start {
		b.AddBad(p.Pos, b.Bytes(p.Raw), fmt.Sprintf("end of txn %q is before its start", b.Bytes(p.ID)))
		a.remove(open)
		return
	}
	if t := a.finish(b, open, p.Pos, b.Bytes(p.Raw)); t != nil {
		t.Status = status
		t.add(p)
		if p.HasEnd && open.hasStart {
			t.Start, t.End = open.start, p.End
			t.Flags |= HasTimes
		}
	}
	a.remove(open)
}

// add takes over from the last record of a transaction what the first did not
// say.
func (t *Txn) add(p *Part) {
	if t.Session.Len == 0 {
		t.Session, t.SessionHash = p.Session, p.SessionHash
	}
	for _, s := range [...]struct{ to, from *Span }{{&t.Name, &p.Name}, {&t.Isolation, &p.Isolation}, {&t.TraceID, &p.TraceID}, {&t.Labels, &p.Labels}} {
		if s.to.Len == 0 {
			*s.to = *s.from
		}
	}
	more := p.Flags &^ t.Flags
	if more&HasSeq != 0 {
		t.Seq = p.Seq
	}
	if more&HasStartTS != 0 {
		t.StartTS = p.StartTS
	}
	if more&HasCommitTS != 0 {
		t.CommitTS = p.CommitTS
	}
	t.Flags |= more
}

// finish appends what open holds to b as an unknown transaction without times,
// or as a BadRecord where an operation is missing.
func (a *Assembler) finish(b *Batch, open *openTxn, pos Position, raw []byte) *Txn {
	d := &a.decoder
	before := markOf(b)
	if err := d.DecodeRecord(b, pos, open.text[:open.head]); err != nil {
		b.AddBad(pos, raw, err.Error())
		return nil
	}
	t := &b.Txns[len(b.Txns)-1]
	reason := ""
	if open.tooLong {
		reason = fmt.Sprintf("txn %q is longer than 16 MiB", b.Bytes(t.ID))
	}
	for i, op := range open.ops {
		if int(op.index) != i {
			reason = fmt.Sprintf("operation %d of txn %q is missing", i, b.Bytes(t.ID))
			break
		}
		if err := d.decodeOp(b, open.text[op.off:op.end]); err != nil {
			reason = err.Error()
			break
		}
		t.NumOps++
	}
	if reason != "" {
		before.restore(b)
		b.AddBad(pos, raw, reason)
		return nil
	}
	return t
}

// Expire makes open transactions of the source unknown if their start lies more than maxTxn
// (ns) before reached. It appends them to b by order of arrival. The end of such a transaction
// is start + maxTxn: no conclusion rests on the end of an unknown one.
func (a *Assembler) Expire(b *Batch, source []byte, reached, maxTxn int64) {
	s := a.sources[string(source)]
	if s == nil {
		return
	}
	a.touch(s)
	var due []*openTxn
	for len(s.starts) > 0 && saturatedAdd(s.starts[0].start, maxTxn) < reached {
		due = append(due, heap.Pop(&s.starts).(*openTxn))
	}
	due = a.overdue(s, reached, maxTxn, due)
	slices.SortFunc(due, func(x, y *openTxn) int { return int(int64(x.serial - y.serial)) })
	for _, open := range due {
		a.giveUp(b, open, maxTxn)
	}
}

// ExpireAll makes all open transactions unknown, also those without a start.
func (a *Assembler) ExpireAll(b *Batch, maxTxn int64) {
	for a.oldest != nil {
		a.giveUp(b, a.oldest, maxTxn)
	}
}

// giveUp makes an open transaction unknown.
func (a *Assembler) giveUp(b *Batch, open *openTxn, maxTxn int64) {
	if open.early || open.ended != nil {
		a.abandon(b, open)
		return
	}
	pos := open.pos
	pos.Partition = b.partition(open.partition)
	if t := a.finish(b, open, pos, nil); t != nil && open.hasStart {
		t.Start, t.End = open.start, saturatedAdd(open.start, maxTxn)
		t.Flags |= HasTimes
	}
	a.remove(open)
}

func saturatedAdd(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// partition is the index of a partition's name in b.
func (b *Batch) partition(name string) uint32 {
	i := slices.Index(b.Partitions, name)
	if i < 0 {
		i = len(b.Partitions)
		b.Partitions = append(b.Partitions, name)
	}
	return uint32(i)
}
