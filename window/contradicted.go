package window

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Two reads of a list that exclude each other refute read committed: one of them saw a state that was
// never committed there. Nobody knows which read that was. So the order of versions that the first read
// showed is not known either. Cycles of write dependencies over it refute read committed, and not read
// uncommitted. A read of an old state, which is not compared any more, may be such a one.

// maxContradicted bounds the keys that are remembered; beyond it all are taken as
// contradicted.
const maxContradicted = 1024

// contradict notes that reads of the key exclude each other, and takes back what
// was said of read uncommitted.
func (s *reports) contradict(key string) {
	i, known := slices.BinarySearch(s.contradicted, key)
	if known || len(s.contradicted) > maxContradicted {
		return
	}
	s.contradicted = slices.Insert(s.contradicted, i, key)
	for _, f := range slices.Clone(s.open.list) {
		if f.closed || !s.overContradicted(&f.Finding) || !weakens(f.weakest) {
			continue
		}
		s.tally(f, -1)
		f.weakest = weakened(f.weakest)
		s.tally(f, +1)
		isolation.SetRefuted(&f.Finding, f.weakest, s.cfg.Expect)
		f.Finding.Revision++
		s.emit(f)
	}
	for i := range s.open.recent {
		r := &s.open.recent[i]
		weakest, err := parseAll(r.Weakest)
		if err != nil || r.Finding.State == finding.Withdrawn || !s.overContradicted(&r.Finding) || !weakens(weakest) {
			continue
		}
		f := &openFinding{Finding: r.Finding, weakest: weakest}
		s.tally(f, -1)
		f.weakest = weakened(weakest)
		s.tally(f, +1)
		isolation.SetRefuted(&f.Finding, f.weakest, s.cfg.Expect)
		f.Finding.Revision++
		s.open.revisions[f.Finding.ID] = f.Finding.Revision
		r.Finding, r.Weakest = f.Finding, isolation.LevelNames(f.weakest)
		s.emit(f)
	}
}

// contradictOwn notes lists of a cycle of write dependencies. These reads show the appends of one
// transaction in another order than it made them. A reader of such a list saw a state that was never
// committed. The order of the elements between them is not known.
func (h *finder) contradictOwn(es []step) {
	for i := range es {
		if es[i].Label&(infer.WW|infer.Process|infer.Realtime) == 0 {
			return // it says nothing of read uncommitted
		}
	}
	for i := range es {
		if e := &es[i].Edge; e.Label&infer.WW != 0 && e.Version != 0 && !h.reports.isContradicted(h.infer.Key(e.Version)) && h.infer.MisorderedList(e.Version) {
			h.reports.contradict(h.infer.Key(e.Version))
		}
	}
}

// overContradicted says whether the finding's cycle leads over a key with reads that exclude
// each other.
func (s *reports) overContradicted(f *finding.Finding) bool {
	return slices.ContainsFunc(f.Edges, func(e finding.Edge) bool { return s.isContradicted(e.Key) })
}

func (s *reports) isContradicted(key string) bool {
	_, known := slices.BinarySearch(s.contradicted, key)
	return known || len(s.contradicted) > maxContradicted
}

// weigh is the name of a cycle, with what follows from contradicted keys.
func (s *reports) weigh(w *finding.Witness) isolation.Name {
	name := isolation.NameCycle(w)
	if s.linearizes() {
		name.RefuteLinear(0, w)
	}
	if len(s.contradicted) > 0 && slices.ContainsFunc(w.Edges, func(e finding.Dependency) bool {
		return e.Label&infer.WW != 0 && s.isContradicted(e.Key)
	}) {
		name.Weakest = weakened(name.Weakest)
	}
	if len(s.asking.asked) > 0 && slices.ContainsFunc(w.Edges, func(e finding.Dependency) bool { return e.Label&infer.RW != 0 && s.allowsSkew(&w.Txns[e.From]) }) {
		name.Weakest = slices.DeleteFunc(slices.Clone(name.Weakest), func(l isolation.Level) bool { return l.Special == isolation.GeneralizedSI })
	}
	name.Weakest = s.asking.promisedToAll(name.Weakest)
	return name
}

// allowsSkew says whether the transaction asked for less than snapshot isolation: in the
// encoding of the generalized one, too, it gives no anti-dependency then.
func (s *reports) allowsSkew(t *event.Record) bool {
	return s.asking.baseAsked([]byte(t.Isolation)).Lacks(isolation.SnapshotIsolation)
}

func weakens(weakest []isolation.Level) bool {
	return slices.ContainsFunc(weakest, func(l isolation.Level) bool { return l.Base == isolation.ReadUncommitted })
}

// weakened is weakest with read committed for read uncommitted.
func weakened(weakest []isolation.Level) []isolation.Level {
	out := slices.Clone(weakest)
	for i := range out {
		if out[i].Base == isolation.ReadUncommitted {
			out[i].Base = isolation.ReadCommitted
		}
	}
	return out
}
