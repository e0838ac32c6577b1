package event

import (
	"cmp"
	"fmt"
)

// txn appends the transaction whose fields are in d.top.
func (d *Decoder) txn(b *Batch, pos Position) bool {
	b.Txns = append(b.Txns, Txn{Pos: pos})
	t := &b.Txns[len(b.Txns)-1]
	status := d.top.opt(fStatus)
	switch {
	case status.class == absent:
		return d.fail(len(d.rec), "status is missing")
	case status.class == isString:
		t.Status = statusOf(d.rec[status.off+1 : status.end-1])
	}
	if t.Status == 0 {
		return d.fail(int(status.off), fmt.Sprintf("status %s is not one of committed, aborted, unknown", d.quote(status)))
	}
	switch ops := d.top.get(fOps); ops.class {
	case absent:
		return d.fail(len(d.rec), "ops is missing")
	case isArray, isNull: // null is how Go writes a slice that is nil
	default:
		return d.fail(int(ops.off), "ops is not an array")
	}
	// d.ops appended the operations last of all, so they end the array.
	t.NumOps = uint32(d.numOps)
	t.FirstOp = uint32(len(b.Ops)) - t.NumOps
	if !d.head(b, t) {
		return false
	}
	start, okStart, valid := d.time(d.top.opt(fStart), "start")
	if !valid {
		return false
	}
	end, okEnd, valid := d.time(d.top.opt(fEnd), "end")
	if !valid {
		return false
	}
	if okStart && okEnd {
		if end < start {
			return d.fail(int(d.top.tok[fEnd].off), "end is before start")
		}
		t.Start, t.End = start, end
		t.Flags |= HasTimes
	}
	return true
}

func statusOf(word []byte) Status {
	switch string(word) {
	case "committed":
		return Committed
	case "aborted":
		return Aborted
	case "unknown":
		return Unknown
	}
	return 0
}

// head reads the fields that say which transaction a record speaks of, and
// what was asked of it. Whole transactions and parts share them.
func (d *Decoder) head(b *Batch, t *Txn) bool {
	f := &d.top
	var ok bool
	if t.ID, ok = d.text(b, f.opt(fTxn), "txn"); !ok {
		return false
	}
	if t.ID.Len == 0 {
		return d.fail(len(d.rec), "txn is missing or empty")
	}
	t.IDHash = hashBytes(b.Bytes(t.ID))
	if t.Source, ok = d.text(b, f.opt(fSource), "source"); !ok {
		return false
	}
	if t.Source, ok = d.sourceOf(b, t.Source); !ok {
		return false
	}
	if t.Session, ok = d.text(b, f.opt(fSession), "session"); !ok {
		return false
	}
	if t.Session.Len > 0 {
		t.SessionHash = hashBytes(b.Bytes(t.Session))
	}
	var present bool
	if t.Seq, present, ok = d.integer(f.opt(fSeq), "seq"); !ok {
		return false
	}
	if present {
		t.Flags |= HasSeq
	}
	const rare = 1<<fEpoch | 1<<fName | 1<<fIsolation | 1<<fTraceID | 1<<fLabels | 1<<fStartTS | 1<<fCommitTS | 1<<fStale
	return f.mask&rare == 0 || d.rareHead(b, t)
}

// rareHead reads the fields of the head that few records carry.
func (d *Decoder) rareHead(b *Batch, t *Txn) bool {
	f := &d.top
	var ok, present bool
	if t.Epoch, ok = d.text(b, f.opt(fEpoch), "epoch"); !ok {
		return false
	}
	if t.Name, ok = d.text(b, f.opt(fName), "name"); !ok {
		return false
	}
	if t.Isolation, ok = d.text(b, f.opt(fIsolation), "isolation"); !ok {
		return false
	}
	if t.TraceID, ok = d.text(b, f.opt(fTraceID), "trace_id"); !ok {
		return false
	}
	if t.Labels, ok = d.labels(b, f.opt(fLabels)); !ok {
		return false
	}
	if t.StartTS, present, ok = d.integer(f.opt(fStartTS), "start_ts"); !ok {
		return false
	}
	if present {
		t.Flags |= HasStartTS
	}
	if t.CommitTS, present, ok = d.integer(f.opt(fCommitTS), "commit_ts"); !ok {
		return false
	}
	if present {
		t.Flags |= HasCommitTS
	}
	stale, _, ok := d.boolean(f.opt(fStale), "stale")
	if stale {
		t.Flags |= Stale
	}
	return ok
}

// sourceOf is the source of a record that names one; without bytes it names none. ok is false where it is not of this input.
func (d *Decoder) sourceOf(b *Batch, named Span) (of Span, ok bool) {
	if named.Len == 0 {
		return d.inputSource(b), true
	}
	return named, !d.Only || d.isOwn(string(b.Bytes(named)))
}

// isOwn says whether a source is the one of the input.
func (d *Decoder) isOwn(source string) bool {
	own := cmp.Or(d.Source, DefaultSource)
	return source == own || d.fail(len(d.rec), fmt.Sprintf("source is %.40q: this input has only records of %.40q", source, own))
}

// inputSource is the source of a record of this input that names none.
func (d *Decoder) inputSource(b *Batch) Span {
	return d.fallbackSource(b, cmp.Or(d.Source, DefaultSource))
}

// fallbackSource is name in b.Data, written once a batch.
func (d *Decoder) fallbackSource(b *Batch, name string) Span {
	if end := int(d.fallback.Off + d.fallback.Len); d.fallback.Len > 0 && end <= len(b.Data) &&
		string(b.Bytes(d.fallback)) == name {
		return d.fallback
	}
	d.fallback = Span{uint32(len(b.Data)), uint32(len(name))}
	b.Data = append(b.Data, name...)
	return d.fallback
}
