// Package event is the vocabulary of Isowatch. A record is a finished transaction, with its
// operations as a client saw them (docs/format.md) and the position it was read from. The
// codecs turn bytes into records.
//
// Records are decoded into a [Batch], a structure of arrays that is reused from batch to batch.
// A transaction names its operations by index, and every text is a [Span] of Batch.Data.
// Decoding a record without escapes in its texts allocates nothing once the arrays have grown.
// Keep no part of a Batch after it was handed back; keep the compact record of [AppendRecord].
package event

import "unsafe"

// Span names bytes of [Batch.Data]. The zero Span is the absent text.
type Span struct{ Off, Len uint32 }

// Hash is the 128-bit xxh3 of a key's text or of a value's canonical text. Two
// equal hashes are taken as the same text: at 10^9 distinct values the chance
// of one collision is below 10^-20. It does not defend against a client that
// searches for collisions.
type Hash struct{ Lo, Hi uint64 }

// Op is one operation, in program order within its transaction.
type Op struct {
	Kind  OpKind
	Data  DataKind
	Flags OpFlags
	Extra uint32 // index into Batch.Extras, when HasExtra is set

	Key   Span
	Value Span // canonical JSON text; absent for NotFound reads and deletes

	KeyHash   Hash
	ValueHash Hash // of Value; the zero Hash when Value is absent

	// FirstElem and NumElems name the elements of an array value in Batch.Elems.
	FirstElem, NumElems uint32
}

// Nothing says whether a read found nothing: no value, or a list without elements.
func (o *Op) Nothing() bool {
	return o.Flags&NotFound != 0 || o.Flags&IsArray != 0 && o.NumElems == 0
}

// Elem is one element of an array value.
type Elem struct {
	Value Span
	Hash  Hash
}

// Extra holds the fields that few operations carry. All texts are canonical
// JSON; an absent one is the zero Span.
type Extra struct {
	Version, PrevVersion Span
	Expected, Seen       Span // cas
	ExpectedHash         Hash
	SeenHash             Hash
	From, To             Span // range, raw key texts
	Limit                int64
	Desc                 bool
	HasFrom, HasTo       bool
	// FirstRow and NumRows name the result of a range in Batch.Rows.
	FirstRow, NumRows uint32
}

// Row is one row of a range result.
type Row struct {
	Key, Value Span
	Version    Span // canonical JSON text; absent where the row tells none
	KeyHash    Hash
	ValueHash  Hash
}

// Txn is one finished transaction.
type Txn struct {
	Pos Position

	ID, Source, Epoch, Session Span // raw texts, unescaped
	Name, Isolation, TraceID   Span
	Labels                     Span // read by Batch.Label

	IDHash      Hash // of ID
	SessionHash Hash // of Session; zero when absent

	Start, End        int64 // ns since the Unix epoch, when HasTimes
	StartTS, CommitTS int64
	Seq               int64

	FirstOp, NumOps uint32 // in Batch.Ops

	Status Status
	Flags  TxnFlags

	// Packed names the compact record in Batch.Records, and Content is its
	// ContentHash; absent until [Batch.Pack].
	Packed  Span
	Content uint64
}

// Position is where a record was read.
type Position struct {
	Partition uint32 // index into Batch.Partitions
	Sub       uint32 // index of the record within its message, from 0
	Offset    int64  // Kafka offset, NATS sequence, byte or line of a file
}

// BadRecord is a record that could not be decoded: a dead letter.
type BadRecord struct {
	Pos    Position
	Raw    Span   // the record, cut to 64 KiB
	Reason string // what is wrong, and where in the record
}

// Batch is decoded records in input order. The zero Batch is empty and ready.
type Batch struct {
	Data       []byte
	Partitions []string // "kafka:TOPIC/PARTITION", "nats:STREAM", "file:PATH"
	Txns       []Txn
	Ops        []Op
	Elems      []Elem
	Extras     []Extra
	Rows       []Row
	Parts      []Part // operation-level records, which an [Assembler] turns into Txns
	Marks      []Mark // in input order
	Bad        []BadRecord
	Records    []byte // compact records, which [Batch.Pack] makes
}

// Reset empties b and keeps its memory.
func (b *Batch) Reset() {
	b.Data, b.Partitions = b.Data[:0], b.Partitions[:0]
	b.Txns, b.Ops, b.Elems = b.Txns[:0], b.Ops[:0], b.Elems[:0]
	b.Extras, b.Rows, b.Bad = b.Extras[:0], b.Rows[:0], b.Bad[:0]
	b.Parts, b.Records, b.Marks = b.Parts[:0], b.Records[:0], b.Marks[:0]
}

// Pack makes the compact records of the transactions that have none yet. It is
// done once, where there is a processor to spare: all that comes behind copies
// bytes.
func (b *Batch) Pack() {
	for i := range b.Txns {
		t := &b.Txns[i]
		if t.Packed.Len != 0 {
			continue
		}
		from := len(b.Records)
		b.Records = AppendRecord(b.Records, b, t)
		t.Packed = Span{uint32(from), uint32(len(b.Records) - from)}
		t.Content = ContentHash(b, t)
	}
}

// PackedRecord is the compact record of t, nil when [Batch.Pack] did not make it.
func (b *Batch) PackedRecord(t *Txn) []byte {
	return b.Records[t.Packed.Off : t.Packed.Off+t.Packed.Len : t.Packed.Off+t.Packed.Len]
}

// Bytes is the text that s names. It is valid until b is reset.
func (b *Batch) Bytes(s Span) []byte { return b.Data[s.Off : s.Off+s.Len : s.Off+s.Len] }

// Text is the text that s names, as a copy.
func (b *Batch) Text(s Span) string { return string(b.Bytes(s)) }

// OpsOf are the operations of t in program order.
func (b *Batch) OpsOf(t *Txn) []Op { return b.Ops[t.FirstOp : t.FirstOp+t.NumOps] }

// ElemsOf are the elements of o's array value.
func (b *Batch) ElemsOf(o *Op) []Elem { return b.Elems[o.FirstElem : o.FirstElem+o.NumElems] }

// Memory is about what the arrays of b take, bytes, with the room that they have to grow.
func (b *Batch) Memory() int {
	return cap(b.Data) + cap(b.Records) + cap(b.Txns)*int(unsafe.Sizeof(Txn{})) + cap(b.Ops)*int(unsafe.Sizeof(Op{})) + cap(b.Elems)*int(unsafe.Sizeof(Elem{})) +
		cap(b.Extras)*int(unsafe.Sizeof(Extra{})) + cap(b.Rows)*int(unsafe.Sizeof(Row{})) + cap(b.Parts)*int(unsafe.Sizeof(Part{})) + cap(b.Bad)*int(unsafe.Sizeof(BadRecord{}))
}

// Shrink empties b, and gives its memory back if it takes more than most.
func (b *Batch) Shrink(most int) {
	if b.Reset(); b.Memory() > most {
		*b = Batch{}
	}
}
