package event

import (
	"bytes"
	"fmt"
)

// extra reads the fields that few operations carry: versions, and what belongs
// to cas and range.
func (d *Decoder) extra(b *Batch, f *fields, o *Op, brace int) bool {
	var x Extra
	var ok bool
	if x.Version, ok = d.version(b, f.opt(fVersion), "version"); !ok {
		return false
	}
	if x.PrevVersion, ok = d.version(b, f.opt(fPrevVersion), "prev_version"); !ok {
		return false
	}
	x.replacesAnother(b)
	switch o.Kind {
	case CAS:
		ok = d.cas(b, f, o, &x, brace)
	case Range:
		ok = d.rangeResult(b, f, &x, brace)
	}
	if !ok {
		return false
	}
	if x != (Extra{}) || o.Kind == Range {
		o.Flags |= HasExtra
		o.Extra = uint32(len(b.Extras))
		b.Extras = append(b.Extras, x)
	}
	return true
}

// replacesAnother forgets a prev_version that is the version. No operation replaces what it makes: an
// update that changed nothing left the row's version as it was, and does not say what came before.
func (x *Extra) replacesAnother(b *Batch) {
	if bytes.Equal(b.Bytes(x.Version), b.Bytes(x.PrevVersion)) {
		x.PrevVersion = Span{}
	}
}

func (d *Decoder) version(b *Batch, t token, name string) (Span, bool) {
	switch t.class {
	case absent:
		return Span{}, true
	case isNumber, isString:
		return d.canonical(b, t), true
	}
	return Span{}, d.fail(int(t.off), name+" is neither a string nor a number")
}

// cas reads the fields of a compare-and-set. A null in expected or seen says
// that the key was not there, and is kept as the text "null".
func (d *Decoder) cas(b *Batch, f *fields, o *Op, x *Extra, brace int) bool {
	success, said, ok := d.boolean(f.opt(fSuccess), "success")
	expected, seen := f.get(fExpected), f.get(fSeen)
	switch {
	case !ok:
		return false
	case !said:
		return d.fail(brace, "success is missing")
	case expected.class == absent:
		return d.fail(brace, "expected is missing")
	}
	if success {
		o.Flags |= Success
	}
	x.Expected = d.canonical(b, expected)
	x.ExpectedHash = hashBytes(b.Bytes(x.Expected))
	if seen.class != absent {
		x.Seen = d.canonical(b, seen)
		x.SeenHash = hashBytes(b.Bytes(x.Seen))
	}
	return true
}

// rangeResult reads the bounds of a range and the rows that it returned.
func (d *Decoder) rangeResult(b *Batch, f *fields, x *Extra, brace int) bool {
	var ok bool
	from, to := f.opt(fFrom), f.opt(fTo)
	x.HasFrom, x.HasTo = from.class != absent, to.class != absent
	if x.From, ok = d.text(b, from, "from"); !ok {
		return false
	}
	if x.To, ok = d.text(b, to, "to"); !ok {
		return false
	}
	if x.Desc, _, ok = d.boolean(f.opt(fDesc), "desc"); !ok {
		return false
	}
	limit := f.opt(fLimit)
	if x.Limit, _, ok = d.integer(limit, "limit"); !ok {
		return false
	}
	if limit.class != absent && x.Limit < 1 {
		return d.fail(int(limit.off), "limit is below 1")
	}
	switch result := f.opt(fResult); result.class {
	case absent:
		return d.fail(brace, "result is missing")
	case isArray:
		x.FirstRow = uint32(len(b.Rows))
		ok = d.rows(b, int(result.off))
		x.NumRows = uint32(len(b.Rows)) - x.FirstRow
		return ok
	default:
		return d.fail(int(result.off), "result is not an array")
	}
}

// rows reads the rows of a range, an array that was scanned before.
func (d *Decoder) rows(b *Batch, i int) bool {
	for i = d.space(i + 1); d.at(i) != ']'; {
		if d.at(i) != '{' {
			return d.fail(i, "a row of a result is not an object")
		}
		end := d.object(&d.row, i, 5, nil)
		if end < 0 || !d.addRow(b, end-1) {
			return false
		}
		if i = d.space(end); d.at(i) == ',' {
			i = d.space(i + 1)
		}
	}
	return true
}

func (d *Decoder) addRow(b *Batch, brace int) bool {
	key, value := d.row.opt(fKey), d.row.get(fValue)
	if key.class == absent || value.class == absent {
		return d.fail(brace, "a row of a result needs key and value")
	}
	k, ok := d.text(b, key, "key")
	if !ok {
		return false
	}
	r := Row{Key: k, Value: d.canonical(b, value), KeyHash: hashBytes(b.Bytes(k))}
	if r.Version, ok = d.version(b, d.row.opt(fVersion), "version"); !ok {
		return false
	}
	r.ValueHash = hashBytes(b.Bytes(r.Value))
	b.Rows = append(b.Rows, r)
	return true
}

// part appends the operation-level record whose fields are in d.top.
func (d *Decoder) part(b *Batch, pos Position) bool {
	f := &d.top
	p := Part{Pos: pos, Raw: Span{d.base, uint32(len(d.rec))}}
	typ := f.tok[fType]
	if typ.class == isString {
		p.Kind = partKindOf(d.rec[typ.off+1 : typ.end-1])
	}
	if p.Kind == 0 {
		return d.fail(int(typ.off), fmt.Sprintf("type %s is not one of begin, op, commit, abort, mark", d.quote(typ)))
	}
	if ops := f.opt(fOps); ops.class != absent {
		return d.fail(int(ops.off), "ops in a record with a type: a whole transaction has none")
	}
	var t Txn
	if !d.head(b, &t) {
		return false
	}
	var ok bool
	if p.Start, p.HasStart, ok = d.time(f.opt(fStart), "start"); !ok {
		return false
	}
	if p.End, p.HasEnd, ok = d.time(f.opt(fEnd), "end"); !ok {
		return false
	}
	p.setHead(&t)
	if p.Spread, _, ok = d.boolean(f.opt(fSpread), "spread"); !ok {
		return false
	}
	count, present, ok := d.integer(f.opt(fCount), "count")
	switch {
	case !ok:
		return false
	case present && (count < 0 || count > MaxOps):
		return d.fail(int(f.tok[fCount].off), countRange)
	case !present && p.Spread && p.Kind >= Commit:
		return d.fail(len(d.rec), countMissing)
	}
	p.Count = uint32(count)
	if p.Kind == OpPart {
		if !d.partOp(b, &p) {
			return false
		}
	}
	p.Before = uint32(len(b.Txns))
	b.Parts = append(b.Parts, p)
	return true
}

func (d *Decoder) partOp(b *Batch, p *Part) bool {
	index, present, ok := d.integer(d.top.opt(fIndex), "index")
	switch {
	case !ok:
		return false
	case !present:
		return d.fail(len(d.rec), "index is missing")
	case index < 0 || index >= MaxOps:
		return d.fail(int(d.top.tok[fIndex].off), "index is not within 0 and 99999")
	}
	p.Index, p.Op = uint32(index), uint32(len(b.Ops))
	return d.operation(b, &d.top, len(d.rec))
}

const (
	countRange   = "count is not within 0 and 100000"
	countMissing = "count is missing: the pieces are spread"
)

func partKindOf(word []byte) PartKind {
	switch string(word) {
	case "begin":
		return Begin
	case "op":
		return OpPart
	case "commit":
		return Commit
	case "abort":
		return Abort
	}
	return 0
}

// setHead takes over what the head of the record says.
func (p *Part) setHead(t *Txn) {
	p.ID, p.Source, p.Epoch, p.Session = t.ID, t.Source, t.Epoch, t.Session
	p.Name, p.Isolation, p.TraceID, p.Labels = t.Name, t.Isolation, t.TraceID, t.Labels
	p.SessionHash = t.SessionHash
	p.StartTS, p.CommitTS, p.Seq, p.Flags = t.StartTS, t.CommitTS, t.Seq, t.Flags
}
