package event

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// IsProto tells whether a message is a Records of isowatch.proto, by its first
// byte.
func IsProto(msg []byte) bool { return len(msg) > 0 && msg[0] == protoTag }

// decodeProto reads the records of a Records message.
func (d *Decoder) decodeProto(b *Batch, pos Position, msg []byte) {
	for at := 0; at < len(msg); {
		d.rec, d.op = msg, -1
		var f wireField
		next := d.wire(&f, at, len(msg))
		switch {
		case next < 0:
			d.bad(b, pos, msg[at:]) // the rest cannot be told apart
			return
		case f.num != 2:
		case f.wire != wireBytes:
			d.fail(at, "record has another wire type")
			d.bad(b, pos, msg[at:])
			return
		default:
			d.decodeProtoRecord(b, pos, msg[f.off:f.end])
			pos.Sub++
		}
		at = next
	}
}

// decodeProtoRecord appends to b what one record is: a Txn, a Part or, where it
// is wrong, a BadRecord.
func (d *Decoder) decodeProtoRecord(b *Batch, pos Position, rec []byte) {
	before := markOf(b)
	d.rec, d.op, d.errAt, d.errWhat, d.elems = rec, -1, 0, "", len(b.Elems)
	d.names.reset()
	if d.protoFits(b, rec) && d.protoRecord(b, pos) && d.shorten(b, &before, len(rec)) {
		return
	}
	before.restore(b)
	d.bad(b, pos, rec)
}

// protoFits copies rec into b.Data. Its values as JSON text are at most 6 times as long: a
// control character becomes six.
func (d *Decoder) protoFits(b *Batch, rec []byte) bool {
	switch {
	case len(rec) > MaxRecord:
		return d.fail(MaxRecord, "the record is longer than 16 MiB")
	case uint64(len(b.Data))+7*uint64(len(rec))+maxRaw > math.MaxUint32:
		return d.fail(0, "the batch holds 4 GiB")
	}
	d.base = uint32(len(b.Data))
	b.Data = append(b.Data, rec...)
	return true
}

var recordNames = []string{"", "txn", "status", "source", "epoch", "session", "seq", "start", "end", "ops",
	"start_ts", "commit_ts", "isolation", "stale", "name", "trace_id", "type", "index", "count", "spread", "labels", "text"}

const (
	pStart  = 7
	pEnd    = 8
	pIndex  = 17
	pCount  = 18
	pLabels = 20
	pText   = 21
)

// protoMarkType is TYPE_MARK.
const protoMarkType = uint64(Abort) + 1

// protoHead holds the fields of a record that are neither operations nor in Txn.
type protoHead struct {
	mask       uint64
	kind       uint64 // type
	status     uint64
	index      uint64
	count      uint64
	spread     bool
	start, end int64
	text       Span
}

func (d *Decoder) protoRecord(b *Batch, pos Position) bool {
	var h protoHead
	var t Txn
	t.Pos, t.FirstOp = pos, uint32(len(b.Ops))
	d.numOps, d.labelFields = 0, d.labelFields[:0]
	for i := 0; i < len(d.rec); {
		var f wireField
		next := d.wire(&f, i, len(d.rec))
		if next < 0 || !d.protoHeadField(b, &t, &h, &f, i) {
			return false
		}
		i = next
	}
	if t.ID.Len == 0 && h.kind != protoMarkType {
		return d.fail(len(d.rec), "txn is missing or empty")
	}
	t.IDHash = hashBytes(b.Bytes(t.ID))
	var ok bool
	if t.Source, ok = d.sourceOf(b, t.Source); !ok {
		return false
	}
	if t.Session.Len > 0 {
		t.SessionHash = hashBytes(b.Bytes(t.Session))
	}
	if len(d.labelFields) > 0 {
		t.Labels = d.protoLabels(b)
	}
	switch h.kind {
	case 0:
	case protoMarkType:
		return d.protoMark(b, &t, &h)
	default:
		return d.protoPart(b, &t, &h)
	}
	if h.status == 0 || h.status > uint64(Unknown) {
		return d.fail(len(d.rec), fmt.Sprintf("status %d is not one of 1 (committed), 2 (aborted), 3 (unknown)", h.status))
	}
	t.Status, t.NumOps = Status(h.status), uint32(d.numOps)
	const times = 1<<pStart | 1<<pEnd
	if h.mask&times == times {
		if h.end < h.start {
			return d.fail(len(d.rec), "end is before start")
		}
		t.Start, t.End = h.start, h.end
		t.Flags |= HasTimes
	}
	b.Txns = append(b.Txns, t)
	return true
}

func (d *Decoder) protoHeadField(b *Batch, t *Txn, h *protoHead, f *wireField, at int) bool {
	switch f.num { // these two are repeated
	case 9:
		if f.wire != wireBytes {
			return d.fail(at, "ops has another wire type")
		}
		return d.protoOp(b, f)
	case pLabels:
		return d.protoLabel(f, at)
	}
	if f.num >= uint32(len(recordNames)) {
		return true
	}
	var wire uint8
	switch f.num {
	case 1, 3, 4, 5, 12, 14, 15, pText:
		wire = wireBytes
	case pStart, pEnd:
		wire = wireFixed8
	}
	if !d.once(&h.mask, f, at, wire, recordNames) {
		return false
	}
	switch f.num {
	case 1:
		return d.protoText(&t.ID, f)
	case 2:
		h.status = f.n
	case 3:
		return d.protoText(&t.Source, f)
	case 4:
		return d.protoText(&t.Epoch, f)
	case 5:
		return d.protoText(&t.Session, f)
	case 6:
		t.Seq = int64(f.n)
		t.Flags |= HasSeq
	case pStart:
		h.start = int64(f.n)
	case pEnd:
		h.end = int64(f.n)
	case 10:
		t.StartTS = int64(f.n)
		t.Flags |= HasStartTS
	case 11:
		t.CommitTS = int64(f.n)
		t.Flags |= HasCommitTS
	case 12:
		return d.protoText(&t.Isolation, f)
	case 13:
		if f.n != 0 {
			t.Flags |= Stale
		}
	case 14:
		return d.protoText(&t.Name, f)
	case 15:
		return d.protoText(&t.TraceID, f)
	case 16:
		h.kind = f.n
	case pIndex:
		h.index = f.n
	case pCount:
		h.count = f.n
	case 19:
		h.spread = f.n != 0
	case pText:
		return d.protoText(&h.text, f)
	}
	return true
}

// protoText is the text of f, where it stands in the record; the empty one is
// the absent one.
func (d *Decoder) protoText(s *Span, f *wireField) bool {
	if !utf8.Valid(d.rec[f.off:f.end]) {
		return d.fail(int(f.off), "invalid UTF-8")
	}
	if f.end > f.off {
		*s = Span{d.base + f.off, f.end - f.off}
	}
	return true
}

// protoPart appends an operation-level record. Its operation, if it has one, was
// appended to b.Ops.
func (d *Decoder) protoPart(b *Batch, t *Txn, h *protoHead) bool {
	if h.kind > uint64(Abort) {
		return d.fail(len(d.rec), fmt.Sprintf("type %d is not one of 0 to %d", h.kind, protoMarkType))
	}
	p := Part{Pos: t.Pos, Kind: PartKind(h.kind), Raw: Span{d.base, uint32(len(d.rec))}}
	p.setHead(t)
	p.HasStart, p.HasEnd = h.mask>>pStart&1 != 0, h.mask>>pEnd&1 != 0
	p.Start, p.End = h.start, h.end
	p.Spread, p.Count = h.spread, uint32(min(h.count, MaxOps))
	switch {
	case h.count > MaxOps:
		return d.fail(len(d.rec), countRange)
	case p.Spread && p.Kind >= Commit && h.mask>>pCount&1 == 0:
		return d.fail(len(d.rec), countMissing)
	case p.Kind != OpPart && d.numOps > 0:
		return d.fail(len(d.rec), "ops in a record with a type: a whole transaction has none")
	case p.Kind != OpPart:
	case d.numOps != 1:
		return d.fail(len(d.rec), fmt.Sprintf("%d operations in a record of one", d.numOps))
	case h.mask>>pIndex&1 == 0:
		return d.fail(len(d.rec), "index is missing")
	case h.index >= MaxOps:
		return d.fail(len(d.rec), "index is not within 0 and 99999")
	default:
		p.Index, p.Op = uint32(h.index), t.FirstOp
	}
	p.Before = uint32(len(b.Txns))
	b.Parts = append(b.Parts, p)
	return true
}
