package event

import (
	"fmt"
	"math"
	"strconv"

	"github.com/isowatch/isowatch/event/record"
)

// Mark is a record of something that happened beside the transactions, a fault that was
// injected for example. Its texts outlive the batch.
type Mark struct {
	Pos           Position
	Source, Epoch string // no Epoch: it is about all of the source
	Name, Text    string
	Start         int64 // ns since the Unix epoch
	End           int64 // when HasEnd; else it goes on, until one of its name and start ends it
	HasEnd        bool
	Before        uint32 // how many whole transactions of the batch came before it
	parts         uint32 // and how many operation-level records
}

// AppendMark appends m as one line of the documented format, without the line end.
func AppendMark(dst []byte, m *Mark) []byte {
	dst = append(dst, `{"type":"mark"`...)
	for _, x := range [...]struct{ name, text string }{{"source", m.Source}, {"epoch", m.Epoch}, {"name", m.Name}, {"text", m.Text}} {
		if x.text == "" || x.name == "source" && x.text == DefaultSource {
			continue
		}
		dst = append(dst, `,"`+x.name+`":`...)
		dst = record.AppendQuoted(dst, x.text)
	}
	dst = strconv.AppendInt(append(dst, `,"start":`...), m.Start, 10)
	if m.HasEnd {
		dst = strconv.AppendInt(append(dst, `,"end":`...), m.End, 10)
	}
	return append(dst, '}')
}

const markType = "mark"

// isMark says whether the record whose fields are in d.top is a mark.
func (d *Decoder) isMark() bool {
	t := d.top.opt(fType)
	return t.class == isString && string(d.rec[t.off+1:t.end-1]) == markType
}

// mark appends the mark whose fields are in d.top.
func (d *Decoder) mark(b *Batch, pos Position) bool {
	m := Mark{Pos: pos}
	for _, x := range [...]struct {
		to    *string
		field field
		name  string
	}{{&m.Source, fSource, "source"}, {&m.Epoch, fEpoch, "epoch"}, {&m.Name, fName, "name"}, {&m.Text, fText, "text"}} {
		s, ok := d.text(b, d.top.opt(x.field), x.name)
		if !ok {
			return false
		}
		*x.to = b.Text(s)
	}
	var started, ok bool
	if m.Start, started, ok = d.time(d.top.opt(fStart), "start"); !ok {
		return false
	}
	if m.End, m.HasEnd, ok = d.time(d.top.opt(fEnd), "end"); !ok {
		return false
	}
	return d.markFits(b, &m, started)
}

// markFits appends m, unless it lacks something.
func (d *Decoder) markFits(b *Batch, m *Mark, started bool) bool {
	switch {
	case m.Name == "":
		return d.fail(len(d.rec), "name is missing or empty: a mark needs one")
	case !started:
		return d.fail(len(d.rec), "start is missing: a mark needs one")
	case m.HasEnd && m.End < m.Start:
		return d.fail(len(d.rec), "end is before start")
	}
	if m.Source == "" {
		m.Source = b.Text(d.inputSource(b))
	} else if d.Only && !d.isOwn(m.Source) {
		return false
	}
	m.Before, m.parts = uint32(len(b.Txns)), uint32(len(b.Parts))
	b.Marks = append(b.Marks, *m)
	return true
}

// protoMark appends the mark that has its fields in t and h.
func (d *Decoder) protoMark(b *Batch, t *Txn, h *protoHead) bool {
	m := Mark{Pos: t.Pos, Source: b.Text(t.Source), Epoch: b.Text(t.Epoch), Name: b.Text(t.Name), Text: b.Text(h.text), Start: h.start, End: h.end}
	m.HasEnd = h.mask>>pEnd&1 != 0
	if d.numOps > 0 {
		return d.fail(len(d.rec), fmt.Sprintf("%d operations in a mark", d.numOps))
	}
	return d.markFits(b, &m, h.mask>>pStart&1 != 0)
}

// moveMarks moves marks, from the next one on, before the transaction that gets the index to.
// It moves those that came behind at most these transactions and operation-level records, and
// returns the first that stays.
func (b *Batch) moveMarks(next, txns, parts, to int) int {
	for next < len(b.Marks) && int(b.Marks[next].Before) <= txns && int(b.Marks[next].parts) <= parts {
		b.Marks[next].Before = uint32(to)
		next++
	}
	return next
}

// KeepTxns takes out the transactions that keep refuses, from the first to the last; marks stay
// between those around them.
func (b *Batch) KeepTxns(keep func(*Txn) bool) {
	kept, mark := b.Txns[:0], 0
	for i := range b.Txns {
		t := b.Txns[i]
		mark = b.moveMarks(mark, i, math.MaxInt, len(kept))
		if keep(&t) {
			kept = append(kept, t)
		}
	}
	b.moveMarks(mark, len(b.Txns), math.MaxInt, len(kept))
	b.Txns = kept
}
