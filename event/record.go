package event

import "fmt"

// Record is a transaction with its texts as strings: for explanation,
// verification and export, where the speed of a Batch is not needed.
type Record struct {
	ID, Source, Epoch, Session string
	Name, Isolation, TraceID   string
	Labels                     map[string]string // at most MaxLabels; nil without any

	Status            Status
	Flags             TxnFlags
	Seq, Start, End   int64 // Start and End in ns since the Unix epoch
	StartTS, CommitTS int64

	Ops []RecordOp
}

// RecordOp is one operation of a Record. Value and what is like it is
// canonical JSON text; an absent one is "".
type RecordOp struct {
	Kind  OpKind
	Data  DataKind
	Flags OpFlags // with IsArray, Elems is the array; HasExtra says nothing here

	Key   string
	Value string
	Elems []string

	Version, PrevVersion string
	Expected, Seen       string // cas
	From, To             string // range, raw key texts, when HasFrom, HasTo
	HasFrom, HasTo, Desc bool
	Limit                int64 // 0: none
	Rows                 []RecordRow
}

// Nothing says whether a read found nothing: no value, or a list without elements.
func (o *RecordOp) Nothing() bool {
	return o.Flags&NotFound != 0 || o.Flags&IsArray != 0 && len(o.Elems) == 0
}

// Writes says whether o writes its key.
func (o *RecordOp) Writes() bool {
	switch o.Kind {
	case Write, Append, Insert, Delete, Add, Remove:
		return true
	case CAS:
		return o.Flags&Success != 0
	}
	return false
}

// RecordRow is one row of a range's result.
type RecordRow struct{ Key, Value string }

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
		r.Rows = append(r.Rows, RecordRow{b.Text(row.Key), b.Text(row.Value)})
	}
	return r
}

// String is the status as a record writes it.
func (s Status) String() string { return word(uint8(s), "", "committed", "aborted", "unknown") }

// String is the operation as a record writes it.
func (k OpKind) String() string {
	return word(uint8(k), "", "r", "w", "append", "add", "remove", "inc", "cas", "insert", "delete", "range")
}

// String is the kind of object as a record writes it.
func (k DataKind) String() string {
	return word(uint8(k), "any", "register", "list", "set", "counter")
}

// String is the type as a record writes it.
func (k PartKind) String() string { return word(uint8(k), "", "begin", "op", "commit", "abort") }

func word(i uint8, words ...string) string {
	if int(i) < len(words) && words[i] != "" {
		return words[i]
	}
	return fmt.Sprintf("%d", i)
}
