package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// sawOwnFuture is about what n read once more of a key before it wrote that value
// itself.
func (s *Registers) sawOwnFuture(c *causes.Touch, n uint32) {
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if v := s.Readers[id].Version; v != c.ReadVer && s.Versions[v].Key == c.Key && s.WroteNow(n, v) != 0 {
			s.MakeAmbiguous(v)
			s.SuspectFuture(v, n, s.Readers[id].Op)
		}
	}
}

// sawAnother takes in that n read a register once more and saw another version. Levels below
// read atomic allow it, and the writer of that version comes before n too.
func (s *Registers) sawAnother(c *causes.Touch, n, op uint32, h event.Hash, nothing bool) {
	var v uint32
	if nothing {
		s.FoundNothing(c.Key)
		s.mayHaveBeenDeleted(c.Key)
		if s.AbsentUnknown(c.Key) {
			s.CountAbsent()
			s.ReadOpen(n, ledger.OpenNothing)
			return
		}
		v = s.Absent(c.Key)
	} else {
		v = s.plannedVersion(op, c.Key, h)
		s.Nobody(v)
	}
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if s.Readers[id].Version == v {
			s.Readers[id].Again = true
			return
		}
	}
	s.Readers[s.AddReader(n, v, op)].Reread = true
	from := len(s.Out.Edges)
	s.SawVersion(v, n, op, false)
	kept := s.Out.Edges[:from]
	for _, e := range s.Out.Edges[from:] {
		if e.Label&ledger.WR != 0 {
			e.Label = ledger.Reread
			kept = append(kept, e)
		}
	}
	s.Out.Edges = kept
}
