package event

// PartKind is the type of an operation-level record.
type PartKind uint8

const (
	Begin  PartKind = iota + 1 // {"type":"begin"}
	OpPart                     // {"type":"op"}
	Commit                     // {"type":"commit"}
	Abort                      // {"type":"abort"}
)

// Part is one operation-level record: a piece of a transaction that an
// [Assembler] puts together.
type Part struct {
	Pos  Position
	Kind PartKind
	Raw  Span // the record

	ID, Source, Epoch, Session Span // raw texts, unescaped
	Name, Isolation, TraceID   Span
	Labels                     Span

	SessionHash Hash // of Session; zero when absent

	Start, End        int64 // ns since the Unix epoch, when HasStart, HasEnd
	StartTS, CommitTS int64
	Seq               int64

	HasStart, HasEnd bool
	Flags            TxnFlags // without HasTimes

	// Index is the operation's place in its transaction, from 0, and Op its
	// index in Batch.Ops. Both belong to an OpPart.
	Index, Op uint32

	// Spread: the pieces of the transaction may come in any order, from several
	// partitions. Its last record then counts the operations.
	Spread bool
	Count  uint32 // of a Commit or Abort with Spread

	// Before is how many whole transactions of the batch came before the record.
	Before uint32
}
