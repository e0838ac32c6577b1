package causes

import (
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// A transaction of unknown outcome has made its reads, whatever became of it: its client got
// the answers. Until somebody observes its writes, it does not count as a reader of a version,
// and gives no edge. Its reads are signs all the same, and show that it did not read from a
// later writer. They are glimpses, and are kept by value while the transaction is in memory.
//
// The values that an aborted transaction read were there, too. So it did not read from a writer that
// began later. Nothing else follows. If the value had been replaced, that is not a sign that it came
// back. To read an old state, and be refused for it, is how many databases keep their promise.

// Glimpse is a read of a plain value by a transaction that does not count, 24 bytes.
type Glimpse struct {
	Value    uint64 // KeyOfValue
	Txn, Gen uint32
	older    uint32 // the one before of the same value: its place, from 1
	Replaced bool   // the transaction wrote the key behind it, and has not aborted
	_        [3]byte
}

// glimpses are the glimpses of all values, the oldest first.
type glimpses struct {
	All    []Glimpse
	Full   int64             // at this length the glimpses of transactions that are gone are dropped
	latest map[uint64]uint32 // by value: the place, from 1; made from all
}

// GlimpsesOf is the latest glimpse of v, 0 if there is none.
func (s *Absences) GlimpsesOf(v uint32) uint32 {
	if len(s.Signs.Glimpses.All) == 0 {
		return 0
	}
	return s.Signs.Glimpses.latest[s.KeyOfValue(v)]
}

// GlimpseAt is the glimpse at place i, and the place of the next older one of its value. open says
// that its transaction is in memory and does not count.
func (s *Absences) GlimpseAt(i uint32) (g *Glimpse, older uint32, open bool) {
	g = &s.Signs.Glimpses.All[i-1]
	t := &s.Txns[g.Txn]
	return g, g.older, t.Gen == g.Gen && (t.State == ledger.Tentative || t.State == ledger.Aborted) && t.Flags&ledger.Retired == 0
}

// Link makes the table again.
func (x *glimpses) Link() {
	x.latest = make(map[uint64]uint32, len(x.All))
	for place := range x.All {
		x.Enter(place + 1)
	}
}

// Enter makes the glimpse at this place the latest of its value.
func (x *glimpses) Enter(place int) {
	if x.latest == nil {
		x.latest = map[uint64]uint32{}
	}
	g := &x.All[place-1]
	g.older = x.latest[g.Value]
	x.latest[g.Value] = uint32(place)
}

// glimpsedBefore is ReadBefore of all glimpses of v.
func (s *Causes) glimpsedBefore(v, writer uint32) (before bool) {
	for i := s.GlimpsesOf(v); i != 0; {
		g, older, open := s.GlimpseAt(i)
		if open && s.ReadBefore(v, writer, g.Txn) {
			before = true
		}
		i = older
	}
	return before
}

// glimpsedBack is CameBack of all glimpses of v, when n had read and replaced it.
func (s *Causes) glimpsedBack(v, n uint32) (back bool) {
	for i := s.GlimpsesOf(v); i != 0; {
		g, older, open := s.GlimpseAt(i)
		if open && s.CameBack(v, n, g.Txn, g.Replaced) {
			back = true
		}
		i = older
	}
	return back
}

func (x *glimpses) appendState(dst *flat.Writer) *flat.Writer {
	return flat.AppendValue(flat.Append(dst, "glimpses", x.All), "full", &x.Full)
}

func (x *glimpses) readState(r *flat.Reader) {
	flat.Read(r, "glimpses", &x.All)
	flat.ReadValue(r, "full", &x.Full)
	x.Link()
}
