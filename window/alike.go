package window

import (
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
)

// A transaction that missed one write of another transaction has often missed several of them. Each
// gives an anti-dependency between the two, and one way back closes all their cycles. These are equal
// faults: they differ in the key that was missed. So with many transactions the first is searched for,
// told and verified, and its finding takes in the others. If it is withdrawn, these edges are offered
// again, as are all edges that a finding has set aside.

// alike is an anti-dependency that was refused, and told.
type alike struct {
	id      incremental.EdgeID
	refused incremental.Views
	told    telling
}

// insertAlike tells an edge that these views refused, of a transaction that is being inserted.
func (h *finder) insertAlike(id incremental.EdgeID, refused incremental.Views) {
	if !h.manyCame() || infer.Label(h.graph.Edge(id).Labels) != infer.RW || h.saturated.on || h.asking.counts() || h.limiting != 0 {
		h.cycle(id, refused)
		return
	}
	for i := range h.alike {
		if a := &h.alike[i]; a.refused == refused && h.takesIn(a, id) {
			for _, f := range a.told.by {
				f.setAside = append(f.setAside, setAsideOf(h.graph, id))
			}
			return
		}
	}
	if t := h.cycle(id, refused); t.views == refused {
		h.alike = append(h.alike, alike{id, refused, t})
	}
}

// takesIn says whether the findings that tell a tell the cycle of the edge id as well.
func (h *finder) takesIn(a *alike, id incremental.EdgeID) bool {
	for _, f := range a.told.by {
		if f.closed || f.upgraded || !f.Finding.Certain || len(f.lacked) > 0 || !h.sameBut(a.id, id, f.edges) {
			return false
		}
	}
	return true
}

// sameBut says whether two edges make the same cycles, with two keys. Both are anti-dependencies
// between the same transactions. No edge of the way back is on one of the two keys, and the reader
// wrote neither of them. Otherwise the cycle may have another name.
func (h *finder) sameBut(a, b incremental.EdgeID, way []incremental.EdgeID) bool {
	x, y := h.graph.Edge(a), h.graph.Edge(b)
	if x.From != y.From || x.To != y.To || infer.Label(x.Labels) != infer.RW || infer.Label(y.Labels) != infer.RW {
		return false
	}
	for _, e := range []*incremental.Edge{x, y} {
		key := h.infer.KeyOfVersion(e.Note[0])
		if h.infer.Left(uint32(e.From), key) != 0 || slices.ContainsFunc(way, func(id incremental.EdgeID) bool {
			v := h.graph.Edge(id).Note[0]
			return id != a && id != b && v != 0 && h.infer.KeyOfVersion(v) == key
		}) {
			return false
		}
	}
	return true
}

// heard says whether a search for a worse cycle through b was one for a as well. Both are set aside by f.
func (h *finder) heard(f *openFinding, b, a setAsideEdge) bool {
	return h.manyCame() && b.there(h.graph) && !h.asking.counts() && h.sameBut(b.ID, a.ID, f.edges)
}
