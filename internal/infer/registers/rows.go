package registers

import (
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/orders"
)

// Let a row not be its key (Options.Rows), and let the contract give an order of versions. A
// delete that has no place in the order may have come between any two versions of its key. Then
// the writer of the later one may have inserted another row. Neighbours in the order may be
// transactions that met the key one after the other (orders/partial.go). There no delete has a place:
// two may have met it around a third.

// DeletedRow is called when a transaction that counts deleted the row and left v in k. If v has
// no place in the order, it notes that. 0 stands for the version of an unknown outcome, or
// perhaps of another transaction.
func (s *Registers) DeletedRow(k, v uint32) {
	x := &s.Keys[k]
	if !s.Opt.Rows || !s.Opt.Ordered || x.Flags&(ledger.RowsApart|ledger.Element) != 0 || v != 0 && s.IsOrdered(v) && !s.Opt.Partly() {
		return
	}
	x.Flags |= ledger.RowsApart
	for q := s.Versions[x.Initial].Next; q != 0; q = s.Versions[q].Next {
		if p := s.KnownBefore(s.Versions[q].Prev); p != 0 {
			s.partRows(p, q)
		}
	}
	if s.Opt.Partly() {
		for id := *orders.At(&s.Partial.PrecOf, k); id != 0; id = s.Partial.Precedences[id].Behind {
			s.partRows(s.Partial.Precedences[id].From, s.Partial.Precedences[id].To)
		}
	}
}

// partRows takes back that the writers of the two versions did not overlap. The second version
// is behind the first one.
func (s *Registers) partRows(v, q uint32) {
	if w := s.Versions[q].Writer; w != 0 && s.Versions[q].Flags&ledger.Tombstone == 0 {
		s.KillEdges(q, w, ledger.WW)
		s.WritesFollow(v, q, nil)
	}
}
