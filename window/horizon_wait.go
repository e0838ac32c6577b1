package window

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
)

// An edge that has no place rests on reads, as a violation does. A delete that is on its way, or the
// retry of a transaction of unknown outcome, can take the edge back. So the edge is counted at once. It
// is told when the watermark has passed its transactions by the patience. A transaction that began
// before they ended has come by then. If the edge falls before, nothing is told of it.

// maxWaitingEdges bounds the edges that wait. Those beyond are counted, and not told: one
// finding stands for many.
const maxWaitingEdges = 4096

// waitingEdge is an edge without a place that is not due.
type waitingEdge struct {
	Class, What string
	Txns        []noted
	Due         int64 // it is told when the watermark has passed this
	Ended       int64 // when the last of its transactions was over
	// The key (infer.KeyHash) and the value (infer.ValueKey) of the version that it rests on.
	Key, Value uint64      `json:",omitempty"`
	Found      uint64      `json:",omitempty"` // of an anti-dependency: infer.FoundBy
	Label      infer.Label `json:",omitempty"`
	Unshown    *unshown    `json:",omitempty"`
}

// unshown is the condition of an edge over a list that somebody may have deleted unseen. A transaction
// did not find an element. It has to be shown that the append came later (infer.MissedUnseen).
type unshown struct {
	ID, Epoch string
	Version   uint32 // of the element
	Cleared   bool   `json:",omitempty"` // see infer.Outlived
}

// edgeBasis is the evidence of an edge.
type edgeBasis struct {
	version uint32
	label   infer.Label
	found   uint64 // infer.FoundBy
}

// tellWhenDue tells of the edge now, or lets it wait.
func (s *reports) tellWhenDue(b edgeBasis, class, what string, txns []noted) {
	w := waitingEdge{Class: class, What: what, Txns: txns, Label: b.label, Ended: math.MinInt64}
	for i := range txns {
		w.Ended = max(w.Ended, txns[i].End)
	}
	w.Due = w.Ended + s.infer.Patience()
	if b.version == 0 || w.Due < s.clock.watermark || s.closed {
		s.noteGroup(class, what, txns...)
		return
	}
	if p := s.panes.at(txns[0].End); p.Horizon == 0 {
		p.Horizon++ // once, as for a group
	}
	if len(s.horizon.waiting) < maxWaitingEdges {
		w.Key, w.Value, w.Found = s.infer.KeyHash(s.infer.KeyOfVersion(b.version)), s.infer.ValueKey(b.version), b.found
		s.horizon.waiting = append(s.horizon.waiting, w)
	}
}

// noteUnshown is noteIn for an edge that, so far, a delete without a record may explain. The edge is
// counted at once. It is told when the records show that n, which missed the element, came before the
// append.
func (s *reports) noteUnshown(in incremental.Views, e *infer.Edge, n uint32, class, what string) {
	txns := []noted{s.clock.noted(e.From), s.clock.noted(e.To)}
	if s.countIn(in, txns) {
		class = classOfBegun + class
	}
	if p := s.panes.at(txns[0].End); p.Horizon == 0 {
		p.Horizon++ // once, as for a group
	}
	if s.closed || len(s.horizon.waiting) >= maxUnshown {
		return
	}
	x := s.clock.noted(n)
	w := waitingEdge{Class: class, What: what, Txns: txns, Label: e.Label, Unshown: &unshown{x.ID, x.Epoch, e.Version, false}}
	w.Ended = max(txns[0].End, txns[1].End, x.End)
	w.Due = w.Ended + s.infer.Patience()
	w.Key, w.Value = s.infer.KeyHash(s.infer.KeyOfVersion(e.Version)), s.infer.ValueKey(e.Version)
	s.infer.MissesUnseen(n, e.Version, w.Value, &w.Unshown.Cleared) // who shows that may leave memory soon
	s.horizon.waiting = append(s.horizon.waiting, w)
}

// tellDueEdges tells of the edges that are due. Each step does so before the groups of panes that
// are over are handed out.
func (s *reports) tellDueEdges() {
	list := s.horizon.waiting
	if len(list) == 0 {
		return
	}
	kept := list[:0]
	for i := range list {
		w := &list[i]
		if w.Due >= s.clock.watermark && !s.closed {
			kept = append(kept, *w)
			continue
		}
		if x := w.Unshown; x != nil {
			misses, gone := s.infer.MissesUnseen(s.infer.WithID(x.ID, x.Epoch), x.Version, w.Value, &x.Cleared)
			if misses && !gone && !s.closed { // looked at again, as findings are: see mustBeShown
				w.Due = s.clock.watermark + s.infer.Patience()/8
				kept = append(kept, *w)
			}
			if misses {
				continue
			}
		}
		s.noteGroupAt(w.Due, true, w.Class, w.What, w.Txns...)
	}
	clear(list[len(kept):])
	s.horizon.waiting = kept
}

// dropEdges drops those that wait and hold no more.
func (s *reports) dropEdges(fell func(w *waitingEdge) bool) {
	if len(s.horizon.waiting) > 0 {
		s.horizon.waiting = slices.DeleteFunc(s.horizon.waiting, func(w waitingEdge) bool { return fell(&w) })
	}
}

// takeBackEdges drops the edges that what inference took back rests on.
func (m *Machine) takeBackEdges(o *infer.Out) {
	if len(m.reports.horizon.waiting) == 0 {
		return
	}
	for i := range o.Kills {
		k := &o.Kills[i]
		v, from := m.infer.ValueKey(k.Version), m.infer.Info(k.From).ID
		key := m.infer.KeyHash(m.infer.KeyOfVersion(k.Version))
		m.reports.dropEdges(func(w *waitingEdge) bool {
			if k.Placed != 0 {
				return w.Key == key && k.Labels&w.Label != 0 && w.Txns[0].Hash == from
			}
			return w.Value == v && k.Labels&(w.Label|infer.WR) != 0 && (k.From == 0 || w.Txns[0].Hash == from)
		})
	}
	for i := range o.Deletions {
		d := &o.Deletions[i]
		key := m.infer.KeyHash(m.infer.KeyOfVersion(d.Version))
		m.reports.dropEdges(func(w *waitingEdge) bool { return w.Key == key && w.Ended >= d.Began })
	}
	for i := range o.PartedBy {
		d := &o.PartedBy[i]
		v := m.infer.ValueKey(d.Version)
		m.reports.dropEdges(func(w *waitingEdge) bool { return w.Value == v && w.Ended >= d.Began })
	}
	for _, v := range o.Ambiguous {
		m.reports.dropEdges(func(w *waitingEdge) bool { return w.Value == v || w.Found == v })
	}
	for _, k := range o.Emptied {
		key := m.infer.KeyHash(k)
		m.reports.dropEdges(func(w *waitingEdge) bool { return w.Key == key })
	}
	for _, id := range o.GoneIDs {
		m.reports.dropEdges(func(w *waitingEdge) bool {
			return slices.ContainsFunc(w.Txns, func(x noted) bool { return x.Hash == id })
		})
	}
}
