package infer

import "github.com/isowatch/isowatch/internal/flat"

// Expected is how much is to come.
type Expected struct{ Txns, Versions, Writes, Readers int }

// Expect makes room for what is to come, so that arrays do not grow by copying.
func (s *ledger) Expect(x Expected) {
	s.txns = flat.Room(s.txns, len(s.txns)+x.Txns)
	s.versions = flat.Room(s.versions, len(s.versions)+x.Versions)
	s.writes = flat.Room(s.writes, len(s.writes)+x.Writes)
	s.readers = flat.Room(s.readers, len(s.readers)+x.Readers)
	s.byID.expect(x.Txns)
	s.byVersion.expect(x.Versions)
}

// expect makes room for n more.
func (x *index) expect(n int) {
	slots := max(16, len(x.slots))
	for 4*(x.used+n+1) > slots {
		slots *= 2
	}
	if slots > len(x.slots) {
		x.resize(slots)
	}
}
