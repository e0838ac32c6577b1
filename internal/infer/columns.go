package infer

import (
	"bytes"

	"github.com/isowatch/isowatch/event"
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

// columnOf are hashes of the row of k and of its column there; 0: k is of no row.
func (s *absences) columnOf(k uint32) (row, column uint64) {
	name := s.nameOf(k)
	at := bytes.LastIndexAny(name, "/:.")
	if at <= 0 || at == len(name)-1 {
		return 0, 0
	}
	epoch := s.keys[k].hash.Hi - xxh3.Hash128(name).Hi
	s.signs.column = pattern.AppendNormal(s.signs.column[:0], name[at+1:])
	return xxh3.Hash(name[:at]) ^ epoch, xxh3.Hash(s.signs.column) | 1
}

// versionInRow is the value of a version of a row among the sightings.
func versionInRow(row uint64, version event.Hash) uint64 {
	return row*0xd6e8feb86659fd93 ^ version.Lo ^ 0x636f6c756d6e
}

// wroteColumn notes that a record wrote this version of k.
func (s *absences) wroteColumn(k uint32, version event.Hash) {
	if row, column := s.columnOf(k); column != 0 {
		s.signs.twoVersions.see(versionInRow(row, version), column, s.signs.most)
	}
}

// unwrittenHere says whether operations tell the versions of k, and no record wrote this version there.
func (s *absences) unwrittenHere(k uint32, version event.Hash) bool {
	if x := &s.keys[k]; x.flags&versioned == 0 || x.flags&(element|sums) != 0 || x.kind > event.Register {
		return false
	}
	v := s.lookupVersion(k, version)
	return v == 0 || s.versions[v].writes == 0
}

// ofRow says whether this version of k may be of a write of another column.
func (s *absences) ofRow(k uint32, version event.Hash) bool {
	if !s.unwrittenHere(k, version) {
		return false
	}
	row, column := s.columnOf(k)
	if column == 0 {
		return false
	}
	p := s.signs.patterns.Get(s.keys[k].pattern)
	if !p.OfRows {
		where := s.signs.twoVersions.at(versionInRow(row, version))
		p.OfRows = where != 0 && where != column
	}
	return p.OfRows
}

// readRow counts a read of n whose version is of a row.
func (s *absences) readRow(n uint32) {
	s.Counters.OfRows++
	s.readOpen(n, OpenRow)
}
