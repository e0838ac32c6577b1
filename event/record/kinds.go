package record

import "fmt"

// Status is the outcome of a transaction as its client knows it.
type Status uint8

const (
	// Committed: the client was told that the commit succeeded.
	Committed Status = iota + 1
	// Aborted: the database proved that nothing took effect.
	Aborted
	// Unknown: anything else, a timeout on commit above all.
	Unknown
)

// OpKind is the kind of an operation.
type OpKind uint8

const (
	Read   OpKind = iota + 1 // "r"
	Write                    // "w"
	Append                   // "append"
	Add                      // "add"
	Remove                   // "remove"
	Inc                      // "inc"
	CAS                      // "cas"
	Insert                   // "insert"
	Delete                   // "delete"
	Range                    // "range"
)

// DataKind is the kind of object that a key names. A compact record has 4 bits for it.
//
// A new kind comes last, since inference compares kinds. Up to Register, a key may have plain values.
// Up to List, its operations are the ones of registers and lists. All kinds behind go by way of
// countOther in internal/infer.
type DataKind uint8

const (
	AnyKind DataKind = iota // not stated: decided by the key's writes
	Register
	List
	Set
	Counter
)

// dataKinds are their words, by number. Every form of a record is read and written by this table.
var dataKinds = [...]string{AnyKind: "any", Register: "register", List: "list", Set: "set", Counter: "counter"}

// DataKinds are all kinds that a record can state.
func DataKinds() []DataKind {
	var all []DataKind
	for k := range dataKinds[1:] {
		all = append(all, DataKind(k+1))
	}
	return all
}

// Parts says whether a value of this kind is an array of parts, as the elements of a set. Each is there or not, and is written by
// itself.
func (k DataKind) Parts() bool { return k == Set }

// OpFlags are facts of an operation that fit a bit.
type OpFlags uint8

const (
	// NotFound: a read that found no value for the key ("found": false, or a
	// null value without "found").
	NotFound OpFlags = 1 << iota
	// IsArray: the value is a JSON array; its elements are Op.Elems.
	IsArray
	// Success: a cas that took effect.
	Success
	// HasExtra is package event's own: an operation of a batch has more fields.
	HasExtra
)

// ShortValue and ShortKey: the text stands for a longer one, whose hash a batch has. They lie above two bits of the
// compact form.
const (
	ShortValue OpFlags = 1 << 6
	ShortKey   OpFlags = 1 << 7
)

// TxnFlags say which optional fields of a transaction are present.
type TxnFlags uint8

const (
	HasSeq TxnFlags = 1 << iota
	HasTimes
	HasStartTS
	HasCommitTS
	Stale // asked for old data: no session, no real-time edges
)

// String is the status as a record writes it.
func (s Status) String() string { return word(uint8(s), "", "committed", "aborted", "unknown") }

// String is the operation as a record writes it.
func (k OpKind) String() string {
	return word(uint8(k), "", "r", "w", "append", "add", "remove", "inc", "cas", "insert", "delete", "range")
}

// String is the kind of object as a record writes it.
func (k DataKind) String() string { return word(uint8(k), dataKinds[:]...) }

func word(i uint8, words ...string) string {
	if int(i) < len(words) && words[i] != "" {
		return words[i]
	}
	return fmt.Sprintf("%d", i)
}
