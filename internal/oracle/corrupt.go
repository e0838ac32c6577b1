package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// garbage is a value that no simulation writes.
const garbage = 9999

// corrupt changes one thing in h: what a read returned, an outcome, or which of
// two transactions did what.
func (s *simulation) corrupt(h History) {
	t := &h[s.rng.IntN(len(h))]
	switch s.rng.IntN(9) {
	case 0:
		t.Status = event.Status(1 + s.rng.IntN(3))
	case 1, 2:
		o := s.peer(h, t)
		t.Ops, o.Ops = o.Ops, t.Ops
	default:
		var reads []*workload.Op
		for i := range t.Ops {
			if t.Ops[i].Kind == event.Read {
				reads = append(reads, &t.Ops[i])
			}
		}
		if len(reads) == 0 {
			return
		}
		if o := reads[s.rng.IntN(len(reads))]; o.IsList {
			s.corruptList(o)
		} else {
			s.corruptRegister(o)
		}
	}
}

// peer is another transaction of t's session if there is one, else any.
func (s *simulation) peer(h History, t *workload.Txn) *workload.Txn {
	for _, i := range s.rng.Perm(len(h)) {
		if &h[i] != t && t.Session != "" && h[i].Session == t.Session {
			return &h[i]
		}
	}
	return &h[s.rng.IntN(len(h))]
}

// corruptRegister makes a read return another version of its key, mostly one
// that exists.
func (s *simulation) corruptRegister(o *workload.Op) {
	old := s.used[o.Key]
	switch n := s.rng.IntN(len(old) + 2); {
	case n < len(old):
		o.Absent, o.Value = false, old[n]
	case n == len(old):
		o.Absent, o.Value = true, 0
	case s.rng.IntN(4) == 0:
		o.Absent, o.Value = false, garbage
	}
}

// corruptList makes a list read stale, early, reordered, repeating or wrong.
func (s *simulation) corruptList(o *workload.Op) {
	list := slices.Clone(o.List)
	n := len(list)
	switch k := s.rng.IntN(8); {
	case k < 4 && n > 0:
		list = list[:s.rng.IntN(n)]
	case k == 4 && n > 1:
		at := s.rng.IntN(n - 1)
		list[at], list[at+1] = list[at+1], list[at]
	case k == 5 && n > 0:
		list = append(list, list[s.rng.IntN(n)])
	case k == 6 && s.rng.IntN(4) == 0:
		list = append(list, garbage)
	default:
		if old := s.used[o.Key]; len(old) > 0 {
			list = append(list, old[s.rng.IntN(len(old))])
		}
	}
	o.List = list
}
