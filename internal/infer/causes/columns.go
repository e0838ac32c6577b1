package causes

import (
	"bytes"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/pattern"
	"github.com/zeebo/xxh3"
)

// A client may record each column of a row under a key of its own, with the version of the row. Such
// keys are items/1/price and items/1/stock, and PostgreSQL's xmin is such a version. Then a write of
// one column gives all columns of the row a new version. A read of a column may show a version that no
// record wrote there and a record wrote at another column. The value of that version was written
// earlier. So a read that shows such a version names no version of its key. It does not show that a
// writer is missing, or that the key changed.
//
// The sign is such a read. From then on a version that no record wrote at a key of the pattern
// may be of a write of another column. The names of two columns of a row differ in their last
// segment, and not by digits alone: items/1 and items/2 are rows.

// ColumnOf are hashes of the row of k and of its column there; 0: k is of no row.
func (s *Absences) ColumnOf(k uint32) (row, column uint64) {
	name := s.NameOf(k)
	at := bytes.LastIndexAny(name, "/:.")
	if at <= 0 || at == len(name)-1 {
		return 0, 0
	}
	epoch := s.Keys[k].Hash.Hi - xxh3.Hash128(name).Hi
	s.Signs.column = pattern.AppendNormal(s.Signs.column[:0], name[at+1:])
	return xxh3.Hash(name[:at]) ^ epoch, xxh3.Hash(s.Signs.column) | 1
}

// versionInRow is the value of a version of a row among the sightings.
func versionInRow(row uint64, version event.Hash) uint64 {
	return row*0xd6e8feb86659fd93 ^ version.Lo ^ 0x636f6c756d6e
}

// WroteColumn notes that a record wrote this version of k.
func (s *Absences) WroteColumn(k uint32, version event.Hash) {
	if row, column := s.ColumnOf(k); column != 0 {
		s.Signs.twoVersions.see(versionInRow(row, version), column, s.Signs.Most)
	}
}

// UnwrittenHere says whether operations tell the versions of k, and no record wrote this version there.
func (s *Absences) UnwrittenHere(k uint32, version event.Hash) bool {
	if x := &s.Keys[k]; x.Flags&ledger.Versioned == 0 || x.Flags&(ledger.Element|ledger.Sums) != 0 || x.Kind > event.Register {
		return false
	}
	v := s.LookupVersion(k, version)
	return v == 0 || s.Versions[v].Writes == 0
}

// OfRow says whether this version of k may be of a write of another column.
func (s *Absences) OfRow(k uint32, version event.Hash) bool {
	if !s.UnwrittenHere(k, version) {
		return false
	}
	row, column := s.ColumnOf(k)
	if column == 0 {
		return false
	}
	p := s.Signs.Patterns.Get(s.Keys[k].Pattern)
	if !p.OfRows {
		where := s.Signs.twoVersions.at(versionInRow(row, version))
		p.OfRows = where != 0 && where != column
	}
	return p.OfRows
}

// ReadRow counts a read of n whose version is of a row.
func (s *Absences) ReadRow(n uint32) {
	s.Counters.OfRows++
	s.ReadOpen(n, ledger.OpenRow)
}
