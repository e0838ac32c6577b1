package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// recordReader reads the compact form. After the first thing that is wrong it
// returns zeros, and err says what it was.
type recordReader struct {
	rec  []byte
	base uint32 // where the copy of rec begins in Batch.Data
	i    int
	err  error
}

func (r *recordReader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("compact record: byte %d: %s", r.i, what)
	}
	r.i = len(r.rec)
}

func (r *recordReader) byte() byte {
	if r.i >= len(r.rec) {
		r.fail("the record ends early")
		return 0
	}
	r.i++
	return r.rec[r.i-1]
}

func (r *recordReader) uint() uint64 {
	if r.i < len(r.rec) && r.rec[r.i] < 0x80 {
		r.i++
		return uint64(r.rec[r.i-1])
	}
	u, n := binary.Uvarint(r.rec[r.i:])
	if n <= 0 {
		r.fail("the record ends early, or an integer is beyond 64 bits")
		return 0
	}
	r.i += n
	return u
}

func (r *recordReader) int() int64 {
	u := r.uint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *recordReader) fixed64() int64 {
	if len(r.rec)-r.i < 8 {
		r.fail("the record ends early")
		return 0
	}
	r.i += 8
	return int64(binary.LittleEndian.Uint64(r.rec[r.i-8:]))
}

func (r *recordReader) hash() Hash { return Hash{uint64(r.fixed64()), uint64(r.fixed64())} }

// count reads how many things follow, each of at least size bytes.
func (r *recordReader) count(size int) uint32 {
	n := r.uint()
	if n > uint64((len(r.rec)-r.i)/size) {
		r.fail("a count is larger than the record")
		return 0
	}
	return uint32(n)
}

func (r *recordReader) text() Span {
	n := r.uint()
	if n > uint64(len(r.rec)-r.i) {
		r.fail("a text is longer than the record")
		return Span{}
	}
	s := Span{r.base + uint32(r.i), uint32(n)}
	r.i += int(n)
	return s
}

// bytes reads a text as bytes of the record.
func (r *recordReader) bytes() []byte {
	s := r.text()
	if r.err != nil {
		return nil
	}
	off := s.Off - r.base
	return r.rec[off : off+s.Len]
}

// hashed reads a text and hashes it.
func (r *recordReader) hashed() (Span, Hash) {
	s := r.text()
	if r.err != nil {
		return Span{}, Hash{}
	}
	off := s.Off - r.base
	return s, hashBytes(r.rec[off : off+s.Len])
}

// present reads and hashes a text that is only written when it is not empty.
func (r *recordReader) present() (Span, Hash) {
	s, h := r.hashed()
	if s.Len == 0 {
		r.fail("an empty text")
	}
	return s, h
}

// DecodeRecord reads a record of [AppendRecord] and appends its transaction to
// b, with the hashes that Decode would have given it. After an error b is as
// it was before.
func (d *Decoder) DecodeRecord(b *Batch, pos Position, rec []byte) error {
	if uint64(len(b.Data))+uint64(len(rec))+maxRaw > math.MaxUint32 {
		return errors.New("compact record: the batch holds 4 GiB")
	}
	before := markOf(b)
	r := recordReader{rec: rec, base: uint32(len(b.Data))}
	b.Data = append(b.Data, rec...)
	d.rec, d.base = rec, r.base
	d.names.reset()
	b.Txns = append(b.Txns, Txn{Pos: pos})
	d.readTxn(b, &r, &b.Txns[len(b.Txns)-1])
	if r.err == nil && r.i != len(rec) {
		r.fail("bytes behind the record")
	}
	if r.err != nil {
		before.restore(b)
	}
	return r.err
}

// RecordID is the id of the transaction in a record of [AppendRecord], "" where it has none.
func RecordID(rec []byte) string {
	const head = 3 // version, status and flags, what it has
	if len(rec) < head {
		return ""
	}
	r := recordReader{rec: rec, i: head}
	return string(r.bytes())
}

// RecordTimed says whether the transaction in a record of [AppendRecord] has times.
func RecordTimed(rec []byte) bool { return len(rec) > 1 && TxnFlags(rec[1]>>2)&HasTimes != 0 }

// decodeOp reads one operation of [appendOp] and appends it to b.
func (d *Decoder) decodeOp(b *Batch, rec []byte) error {
	if uint64(len(b.Data))+uint64(len(rec))+maxRaw > math.MaxUint32 {
		return errors.New("compact record: the batch holds 4 GiB")
	}
	r := recordReader{rec: rec, base: uint32(len(b.Data))}
	b.Data = append(b.Data, rec...)
	d.rec, d.base = rec, r.base
	d.names.reset()
	d.readOp(b, &r)
	if r.err == nil && r.i != len(rec) {
		r.fail("bytes behind the operation")
	}
	return r.err
}

func (d *Decoder) readTxn(b *Batch, r *recordReader, t *Txn) {
	if v := r.byte(); v != recordVersion {
		r.fail(fmt.Sprintf("version %d, this program reads %d", v, recordVersion))
		return
	}
	flags, has := r.byte(), r.byte()
	t.Status, t.Flags = Status(flags&3), TxnFlags(flags>>2)
	if t.Status == 0 || flags>>2 >= uint8(Stale)<<1 || has >= hasLabels<<1 {
		r.fail("unknown status or flags")
		return
	}
	t.ID, t.IDHash = r.present()
	if has&hasSource != 0 {
		t.Source, _ = r.present()
	} else {
		t.Source = d.fallbackSource(b, DefaultSource)
	}
	if has&hasEpoch != 0 {
		t.Epoch, _ = r.present()
	}
	if has&hasSession != 0 {
		t.Session, t.SessionHash = r.present()
	}
	if has&hasName != 0 {
		t.Name, _ = r.present()
	}
	if has&hasIsolation != 0 {
		t.Isolation, _ = r.present()
	}
	if has&hasTraceID != 0 {
		t.TraceID, _ = r.present()
	}
	if has&hasLabels != 0 {
		t.Labels = readLabels(r)
	}
	readNumbers(r, t)
	t.FirstOp, t.NumOps = uint32(len(b.Ops)), r.count(2)
	for n := t.NumOps; n > 0 && r.err == nil; n-- {
		d.readOp(b, r)
	}
}

func readNumbers(r *recordReader, t *Txn) {
	if t.Flags&HasSeq != 0 {
		t.Seq = r.int()
	}
	if t.Flags&HasTimes != 0 {
		t.Start = r.fixed64()
		t.End = int64(uint64(t.Start) + r.uint())
		if t.End < t.Start {
			r.fail("end is before start")
		}
	}
	if t.Flags&HasStartTS != 0 {
		t.StartTS = r.int()
	}
	if t.Flags&HasCommitTS != 0 {
		t.CommitTS = r.int()
	}
}

// readOp reads one operation and appends it to b.
func (d *Decoder) readOp(b *Batch, r *recordReader) {
	b.Ops = append(b.Ops, Op{})
	o := &b.Ops[len(b.Ops)-1]
	kinds, flags := r.byte(), r.byte()
	o.Kind, o.Data, o.Flags = OpKind(kinds&15), DataKind(kinds>>4), OpFlags(flags&opFlagsMask)
	if o.Kind == 0 || o.Kind > Range || o.Data > lastDataKind || flags&^(opFlagsMask|opHasValue|opHasKey) != 0 {
		r.fail("unknown operation or flags")
		return
	}
	switch {
	case flags&opHasKey == 0:
		if o.Kind != Range {
			r.fail("a key is missing")
		}
	case o.Kind == Range:
		o.Key, o.KeyHash = r.present()
	default:
		o.Key, o.KeyHash = r.hashed()
	}
	if o.Flags&ShortKey != 0 {
		o.KeyHash = r.hash()
	}
	if flags&opHasValue != 0 {
		o.Value, o.ValueHash = r.present()
	}
	if o.Flags&ShortValue != 0 {
		o.ValueHash = r.hash()
	}
	if o.Flags&IsArray != 0 && r.err == nil {
		o.FirstElem = uint32(len(b.Elems))
		start := int(o.Value.Off - r.base)
		if flags&opHasValue == 0 || r.rec[start] != '[' {
			r.fail("an array is expected")
			return
		}
		if end, _ := d.elements(start, 1, b); end != start+int(o.Value.Len) {
			r.fail("an array is not canonical JSON")
			return
		}
		o.NumElems = uint32(len(b.Elems)) - o.FirstElem
		hashElems(b, b.ElemsOf(o))
	}
	if o.Flags&HasExtra != 0 {
		o.Extra = uint32(len(b.Extras))
		b.Extras = append(b.Extras, Extra{})
		readExtra(b, r, &b.Extras[o.Extra], o.Kind)
	}
}

func readExtra(b *Batch, r *recordReader, x *Extra, kind OpKind) {
	has := r.byte()
	if has&extraVersion != 0 {
		x.Version, _ = r.present()
	}
	if has&extraPrevVersion != 0 {
		x.PrevVersion, _ = r.present()
	}
	versions := kind == Range && has&extraExpected != 0
	if has&extraExpected != 0 && !versions {
		x.Expected, x.ExpectedHash = r.present()
	}
	if has&extraSeen != 0 {
		x.Seen, x.SeenHash = r.present()
	}
	x.HasFrom, x.HasTo, x.Desc = has&extraFrom != 0, has&extraTo != 0, has&extraDesc != 0
	if x.HasFrom {
		x.From = r.text()
	}
	if x.HasTo {
		x.To = r.text()
	}
	if has&extraRange != 0 != (kind == Range) {
		r.fail("rows of what is not a range")
	}
	if kind != Range {
		return
	}
	limit := r.uint()
	if limit > math.MaxInt64 {
		r.fail("limit is beyond 64 bits")
	}
	x.Limit, x.FirstRow, x.NumRows = int64(limit), uint32(len(b.Rows)), r.count(2)
	for n := x.NumRows; n > 0 && r.err == nil; n-- {
		var row Row
		row.Key, row.KeyHash = r.hashed()
		row.Value, row.ValueHash = r.present()
		if versions {
			row.Version = r.text()
		}
		b.Rows = append(b.Rows, row)
	}
}
