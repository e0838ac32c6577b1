package orders

import "github.com/isowatch/isowatch/internal/infer/ledger"

// otherRow says whether q, which is behind v in the order of the key, may be of another row. If that is
// not known, the pair is counted.
func (s *Orders) otherRow(v, q uint32) bool {
	if !s.Opt.Rows || s.Versions[q].Flags&ledger.Tombstone != 0 {
		return false
	}
	if s.Versions[v].Flags&ledger.Tombstone != 0 {
		return true
	}
	if s.Keys[s.Versions[v].Key].Flags&ledger.RowsApart == 0 {
		return false
	}
	if s.Versions[q].Writer != 0 && s.Versions[v].Writer != 0 {
		s.Out.OtherRows++
	}
	return true
}
