package event

import (
	"bytes"
	"container/heap"
	"fmt"
	"math"
	"slices"
)

// Pieces of a transaction that are spread over partitions come in any order. Those before the
// begin open the transaction early; the last record, which counts the operations, waits for
// what is missing. If a piece never comes, the whole becomes a dead letter, since half a
// transaction would raise false alarms.

// spreadEnd is the last record of a spread transaction, until all pieces have come.
type spreadEnd struct {
	status    Status
	count     uint32
	start     int64
	end       int64
	hasStart  bool
	hasEnd    bool
	pos       Position
	partition string
	text      []byte // compact record of what it says beside
	raw       []byte // cut to 64 KiB
}

// waiting is an open transaction that nothing else gives up.
type waiting struct {
	open   *openTxn
	serial uint64 // open.serial, unless open is gone or was used again
}

// waits says whether open is one that nothing else gives up: without begin, or ended
// and without start.
func (open *openTxn) waits() bool { return open.early || open.ended != nil && !open.hasStart }

// early opens a transaction whose begin has not come.
func (a *Assembler) early(b *Batch, p *Part, id Hash) *openTxn {
	open := a.newOpen()
	open.id, open.pos, open.early = id, p.Pos, true
	open.partition = b.partitionName(p.Pos)
	t := Txn{ID: p.ID, Source: p.Source, Epoch: p.Epoch, Status: Unknown}
	open.text = AppendRecord(open.text[:0], b, &t)
	open.head = len(open.text)
	a.insert(open, b.Bytes(p.Source))
	a.change(open)
	open.source.wait(open)
	return open
}

// adopt gives an early transaction its begin.
func (a *Assembler) adopt(b *Batch, p *Part, open *openTxn) {
	a.touch(open.source)
	a.bytes -= open.size()
	t := p.txn()
	head := AppendRecord(nil, b, &t)
	shift := len(head) - open.head
	open.text = append(head, open.text[open.head:]...)
	open.head = len(head)
	for i := range open.ops {
		open.ops[i].off = uint32(int(open.ops[i].off) + shift)
		open.ops[i].end = uint32(int(open.ops[i].end) + shift)
	}
	if open.log.round != 0 { // what the log holds is of another head
		a.log.gone = append(a.log.gone, open.serial)
		a.unlog(open)
	}
	a.change(open)
	open.early, open.pos, open.partition = false, p.Pos, b.partitionName(p.Pos)
	open.start, open.hasStart = p.Start, p.HasStart
	if open.hasStart {
		heap.Push(&open.source.starts, open)
		open.source.since = min(open.source.since, open.start)
	}
	a.bytes += open.size()
}

// endSpread takes the last record of a spread transaction.
func (a *Assembler) endSpread(b *Batch, p *Part, open *openTxn) {
	t := p.txn()
	end := &spreadEnd{
		status: Committed, count: p.Count, start: p.Start, end: p.End, hasStart: p.HasStart, hasEnd: p.HasEnd,
		pos: p.Pos, partition: b.partitionName(p.Pos), text: AppendRecord(nil, b, &t),
	}
	if p.Kind == Abort {
		end.status = Aborted
	}
	if old := open.ended; old != nil {
		if !old.same(end) {
			b.AddBad(p.Pos, b.Bytes(p.Raw), fmt.Sprintf("a second end of txn %q, unlike the first", b.Bytes(p.ID)))
		}
		return
	}
	end.raw = bytes.Clone(b.Bytes(p.Raw)[:min(int(p.Raw.Len), maxRaw)])
	if n := len(open.ops); n > 0 && open.ops[n-1].index >= p.Count {
		b.AddBad(p.Pos, end.raw, fmt.Sprintf("operation %d of txn %q, which counts %d", open.ops[n-1].index, b.Bytes(p.ID), p.Count))
		a.remove(open)
		return
	}
	a.touch(open.source)
	open.ended = end
	a.change(open)
	a.bytes += end.size()
	if !open.early && !open.hasStart {
		open.source.wait(open)
	}
}

func (e *spreadEnd) size() int { return len(e.text) + len(e.raw) }

func (e *spreadEnd) same(x *spreadEnd) bool {
	return e.status == x.status && e.count == x.count && e.start == x.start && e.hasStart == x.hasStart &&
		e.end == x.end && e.hasEnd == x.hasEnd && bytes.Equal(e.text, x.text)
}

// complete finishes a spread transaction when its last piece has come.
func (a *Assembler) complete(b *Batch, open *openTxn) {
	e := open.ended
	if e == nil || open.early || len(open.ops) < int(e.count) {
		return
	}
	pos := e.pos
	pos.Partition = b.partition(e.partition)
	start, hasStart := open.start, open.hasStart
	if !hasStart {
		start, hasStart = e.start, e.hasStart
	}
	if e.hasEnd && hasStart && e.end < start {
		b.AddBad(pos, e.raw, fmt.Sprintf("end of txn %q is before its start", a.name(open)))
		a.remove(open)
		return
	}
	if t := a.finish(b, open, pos, e.raw); t != nil {
		t.Status = e.status
		var said Batch
		if err := a.decoder.DecodeRecord(&said, Position{}, e.text); err == nil { // it was made here, or read by loadEnd
			p := said.pieceOf(b)
			t.add(&p)
		}
		if e.hasEnd && hasStart {
			t.Start, t.End = start, e.end
			t.Flags |= HasTimes
		}
	}
	a.remove(open)
}

// pieceOf is the one transaction of b as a Part, with the texts that Txn.add takes
// over copied to dst.
func (b *Batch) pieceOf(dst *Batch) Part {
	t := &b.Txns[0]
	copied := func(s Span) Span {
		if s.Len == 0 {
			return Span{}
		}
		at := Span{uint32(len(dst.Data)), s.Len}
		dst.Data = append(dst.Data, b.Bytes(s)...)
		return at
	}
	return Part{
		Session: copied(t.Session), SessionHash: t.SessionHash,
		Name: copied(t.Name), Isolation: copied(t.Isolation), TraceID: copied(t.TraceID), Labels: copied(t.Labels),
		Seq: t.Seq, StartTS: t.StartTS, CommitTS: t.CommitTS, Flags: t.Flags,
	}
}

// name is the id of an open transaction.
func (a *Assembler) name(open *openTxn) string {
	r, err := ReadRecord(open.text[:open.head])
	if err != nil {
		return ""
	}
	return r.ID
}

// abandon makes a dead letter of a spread transaction if a piece of it never came.
func (a *Assembler) abandon(b *Batch, open *openTxn) {
	pos, partition, reason := open.pos, open.partition, fmt.Sprintf("txn %q has no begin", a.name(open))
	var raw []byte
	if e := open.ended; e != nil {
		pos, partition, raw = e.pos, e.partition, e.raw
		if !open.early {
			reason = fmt.Sprintf("%d of the %d operations of txn %q have come", len(open.ops), e.count, a.name(open))
		}
	}
	pos.Partition = b.partition(partition)
	b.AddBad(pos, raw, reason)
	a.remove(open)
}

// wait notes that open is given up by [Assembler.Expire] alone.
func (s *openSource) wait(open *openTxn) {
	if len(s.waits) > 2*s.open+16 {
		s.waits = slices.DeleteFunc(s.waits, func(w waiting) bool { return w.over() })
	}
	s.waits = append(s.waits, waiting{open, open.serial})
}

// over says whether the transaction is no longer one that waits.
func (w *waiting) over() bool { return w.open.serial != w.serial || !w.open.waits() }

// overdue are the transactions that have waited for longer than maxTxn, by how far
// the source has come meanwhile.
func (a *Assembler) overdue(s *openSource, reached, maxTxn int64, due []*openTxn) []*openTxn {
	if reached == math.MinInt64 {
		return due
	}
	for i := len(s.waits) - 1; i >= 0; i-- {
		w := &s.waits[i]
		if w.over() {
			continue
		}
		if w.open.stamped {
			break // and so are those before
		}
		w.open.waited, w.open.stamped = reached, true
		a.change(w.open)
	}
	n := 0
	for ; n < len(s.waits); n++ {
		w := &s.waits[n]
		if !w.over() {
			if saturatedAdd(w.open.waited, maxTxn) >= reached {
				break
			}
			due = append(due, w.open)
		}
	}
	s.waits = slices.Delete(s.waits, 0, n)
	return due
}

// partitionName is the name of the partition of pos, "" if b names none.
func (b *Batch) partitionName(pos Position) string {
	if int(pos.Partition) < len(b.Partitions) {
		return b.Partitions[pos.Partition]
	}
	return ""
}
