package infer

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

// Sizes says how much of the state is in memory. O(1).
func (s *memory) Sizes() Sizes {
	rows, filters := s.RowBytes()
	return Sizes{
		Txns: len(s.Txns), Keys: s.KeysInMemory(), Versions: len(s.Versions), Readers: len(s.Readers),
		Bytes: rows + filters + s.SignBytes() + s.Linear.Allocated() + s.Totals.Allocated(), FilterBytes: filters,
	}
}

// Check audits the state and names the first broken invariant. O(everything).
func (s *memory) Check() error {
	if err := s.CheckRows(); err != nil {
		return err
	}
	if err := s.Lists.CheckSpines(); err != nil {
		return err
	}
	if err := s.Sets.CheckScans(); err != nil {
		return err
	}
	if err := s.Totals.CheckHoldings(); err != nil {
		return err
	}
	return s.Linear.CheckLines()
}
