package ledger

import (
	"unsafe"

	"github.com/isowatch/isowatch/internal/flat"
)

// RowBytes is the memory of the rows with their tables and records, as allocated, and of the filters.
func (s *Ledger) RowBytes() (rows, filters int64) {
	tables := len(s.ByID.Slots) + len(s.ByKey.Slots) + len(s.ByVersion.Slots) + len(s.BySession.Slots)
	filters = s.Values.Bytes() + s.Twice.Bytes() + s.Aborts.Bytes() + s.Ids.Bytes() + s.Spill.Out.Bytes()
	sessions := int64(cap(s.Sessions))*int64(unsafe.Sizeof(Session{})) + int64(cap(s.Seqs))*int64(unsafe.Sizeof(SeqSet{}))
	return int64(cap(s.Txns))*int64(unsafe.Sizeof(Txn{})) + int64(cap(s.Keys))*int64(unsafe.Sizeof(Key{})) +
		int64(cap(s.Versions))*int64(unsafe.Sizeof(Version{})) + int64(cap(s.Readers))*int64(unsafe.Sizeof(Reader{})) +
		int64(cap(s.Writes))*int64(unsafe.Sizeof(Write{})) + int64(tables)*8 + s.Records.bytes + s.Names.bytes + sessions, filters
}

// SizeOf is a table whose free places are known.
func SizeOf[T any](s []T, free *flat.Slots) (used, taken int64) {
	var zero T
	size := int64(unsafe.Sizeof(zero))
	return int64(len(s)-free.Len()) * size, int64(len(s)) * size
}
