package event

import "fmt"

// ReadRecord reads a record of [AppendRecord].
func ReadRecord(rec []byte) (Record, error) {
	var d Decoder
	var b Batch
	if err := d.DecodeRecord(&b, Position{}, rec); err != nil {
		return Record{}, err
	}
	return b.Record(&b.Txns[0]), nil
}

// Record is t as a Record, which outlives the batch.
func (b *Batch) Record(t *Txn) Record {
	r := Record{
		ID: b.Text(t.ID), Source: b.Text(t.Source), Epoch: b.Text(t.Epoch), Session: b.Text(t.Session),
		Name: b.Text(t.Name), Isolation: b.Text(t.Isolation), TraceID: b.Text(t.TraceID),
		Labels: b.labelsOf(t.Labels),
		Status: t.Status, Flags: t.Flags,
		Seq: t.Seq, Start: t.Start, End: t.End, StartTS: t.StartTS, CommitTS: t.CommitTS,
	}
	ops := b.OpsOf(t)
	r.Ops = make([]RecordOp, len(ops))
	for i := range ops {
		r.Ops[i] = b.recordOp(&ops[i])
	}
	return r
}

func (b *Batch) recordOp(o *Op) RecordOp {
	r := RecordOp{Kind: o.Kind, Data: o.Data, Flags: o.Flags, Key: b.Text(o.Key), Value: b.Text(o.Value)}
	for _, e := range b.ElemsOf(o) {
		r.Elems = append(r.Elems, b.Text(e.Value))
	}
	if o.Flags&HasExtra == 0 {
		return r
	}
	x := &b.Extras[o.Extra]
	r.Version, r.PrevVersion = b.Text(x.Version), b.Text(x.PrevVersion)
	r.Expected, r.Seen = b.Text(x.Expected), b.Text(x.Seen)
	r.From, r.To, r.HasFrom, r.HasTo = b.Text(x.From), b.Text(x.To), x.HasFrom, x.HasTo
	r.Desc, r.Limit = x.Desc, x.Limit
	for _, row := range b.Rows[x.FirstRow : x.FirstRow+x.NumRows] {
		r.Rows = append(r.Rows, RecordRow{Key: b.Text(row.Key), Value: b.Text(row.Value), Version: b.Text(row.Version)})
	}
	return r
}

// String is the type as a record writes it.
func (k PartKind) String() string {
	names := [...]string{Begin: "begin", OpPart: "op", Commit: "commit", Abort: "abort"}
	if int(k) < len(names) && k > 0 {
		return names[k]
	}
	return fmt.Sprintf("%d", k)
}
