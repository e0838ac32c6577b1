package infer

import "unsafe"

// Sizes says how much is in memory.
type Sizes struct {
	Txns     int   `json:"txns"`
	Keys     int   `json:"keys"`
	Versions int   `json:"versions"`
	Readers  int   `json:"readers"`
	Edges    int   `json:"edges"`
	Bytes    int64 `json:"bytes"` // of slabs, tables and arenas, as allocated
	// FilterBytes are the bytes that the filters take. The filters grow up to their budgets.
	FilterBytes int64 `json:"filter_bytes"`
}

// Sizes of the state. O(1).
func (s *memory) Sizes() Sizes {
	rows, filters := s.rowBytes()
	return Sizes{
		Txns: len(s.txns), Keys: s.KeysInMemory(), Versions: len(s.versions), Readers: len(s.readers),
		Bytes: rows + filters + s.signBytes() + s.linear.allocated() + s.counters.allocated(), FilterBytes: filters,
	}
}

// rowBytes is the memory of the rows with their tables and records, as allocated, and of the filters.
func (s *ledger) rowBytes() (rows, filters int64) {
	tables := len(s.byID.slots) + len(s.byKey.slots) + len(s.byVersion.slots) + len(s.bySession.slots)
	filters = s.values.bytes() + s.twice.bytes() + s.aborts.bytes() + s.ids.bytes() + s.spill.out.bytes()
	sessions := int64(cap(s.sessions))*int64(unsafe.Sizeof(session{})) + int64(cap(s.seqs))*int64(unsafe.Sizeof(seqSet{}))
	return int64(cap(s.txns))*int64(unsafe.Sizeof(txn{})) + int64(cap(s.keys))*int64(unsafe.Sizeof(key{})) +
		int64(cap(s.versions))*int64(unsafe.Sizeof(version{})) + int64(cap(s.readers))*int64(unsafe.Sizeof(reader{})) +
		int64(cap(s.writes))*int64(unsafe.Sizeof(write{})) + int64(tables)*8 + s.records.bytes + s.names.bytes + sessions, filters
}

// signBytes is the memory of what is known of the past of keys, as allocated.
func (s *absences) signBytes() int64 {
	return int64(cap(s.signs.stood))*int64(unsafe.Sizeof(stand{})) + int64(cap(s.signs.glimpses.all))*int64(unsafe.Sizeof(glimpse{}))
}

// Check audits the state and names the first broken invariant. O(everything).
func (s *memory) Check() error {
	if err := s.checkRows(); err != nil {
		return err
	}
	if err := s.lists.check(); err != nil {
		return err
	}
	return s.sets.check()
}
