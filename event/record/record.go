// Package record holds one finished transaction with its texts as strings, and writes it as a
// line of the documented format (docs/format.md). It imports the standard library only, so that
// capturing transactions needs no more. Package event reads these lines, and has its names as
// aliases.
package record

// DefaultSource is the source of a record that names none.
const DefaultSource = "default"

// Limits of a record. Beyond them it is a dead letter; labels beyond theirs are left out
// when it is read.
const (
	MaxLabels    = 16  // of one record
	MaxLabelText = 256 // bytes of a label's name, and of its value

	MaxRecord = 16 << 20 // bytes of one record
	MaxOps    = 100_000  // operations of one transaction
	MaxDepth  = 32       // nested arrays and objects, the record itself included
)

// Record is one finished transaction as a client saw it.
type Record struct {
	ID, Source, Epoch, Session string
	Name, Isolation, TraceID   string
	Labels                     map[string]string // at most MaxLabels; nil without any

	Status            Status
	Flags             TxnFlags
	Seq, Start, End   int64 // Start and End in ns since the Unix epoch
	StartTS, CommitTS int64

	Ops []Op
}

// Op is one operation of a Record. Value and what is like it is
// canonical JSON text; an absent one is "".
type Op struct {
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
	Rows                 []Row
}

// Nothing says whether a read found nothing: no value, or a list without elements.
func (o *Op) Nothing() bool {
	return o.Flags&NotFound != 0 || o.Flags&IsArray != 0 && len(o.Elems) == 0
}

// OfParts says whether o shows that its key has parts: see [DataKind.Parts].
func (o *Op) OfParts() bool { return o.Data.Parts() || o.Kind == Add || o.Kind == Remove }

// Writes says whether o writes its key.
func (o *Op) Writes() bool {
	switch o.Kind {
	case Write, Append, Insert, Delete, Add, Remove:
		return true
	case CAS:
		return o.Flags&Success != 0
	}
	return false
}

// Row is one row of a range's result.
type Row struct {
	Key, Value string
	Version    string // canonical JSON text; "" where the row tells none
}
