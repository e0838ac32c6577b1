package window

import (
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Searches for the clearest cycle share a credit. One search is bounded. But thousands of cycles
// cost far more than the history itself. 3,000 transactions of 250 operations took 40 s of
// searches, and 8 s of everything else. So each edge of the history gives searches a few looks at
// edges. When the credit is used up, a search looks at few edges. It still finds small cycles. A
// finding then says that a worse cycle was not excluded (AtLeast). Verdicts on the watched levels
// do not depend on it, since each level's own order refuses the edge.
const (
	// searchStart is the credit at the beginning: some 0.1 s.
	searchStart = 1 << 22
	// looksPerEdge is the credit of one edge. That many looks take about as long as inserting the edge.
	looksPerEdge = 8
	// maxSearchCredit bounds the credit of a long valid time: some 5 s.
	maxSearchCredit = 1 << 28
	// briefBudget is the budget of a search beyond the credit.
	briefBudget = 256
)

// earnSearch is for an edge that was inserted.
func (h *finder) earnSearch() { h.owed = max(h.owed-looksPerEdge, searchStart-maxSearchCredit) }

// worst is [isolation.Searcher.Worst] on credit. brief says that the search was cut short.
func (h *finder) worst(id incremental.EdgeID, level isolation.Level, fallback []incremental.EdgeID) (c isolation.Cycle, brief bool) {
	return h.onCredit(func(b isolation.Bounds) isolation.Cycle {
		return h.searcher.Worst(h.graph, id, level, fallback, b)
	})
}

// worse is a search for a cycle that says more than f, with the edge id.
func (h *finder) worse(f *openFinding, id incremental.EdgeID, level isolation.Level) (c isolation.Cycle, brief bool) {
	if h.saturated.on || h.reports.linearizes() || h.asking.counts() {
		return h.worst(id, level, nil)
	}
	return h.onCredit(func(b isolation.Bounds) isolation.Cycle {
		return h.searcher.Worse(h.graph, id, level, f.severity, f.weakest, b)
	})
}

// onCredit runs the search with a budget: the configured one, or a brief one where the credit is used up.
// brief says that the search was cut short.
func (h *finder) onCredit(search func(isolation.Bounds) isolation.Cycle) (c isolation.Cycle, brief bool) {
	budget, looked, beyond := h.cfg.SearchBudget, h.searcher.Looked, h.owed >= searchStart
	if beyond && (budget == 0 || budget > briefBudget) {
		budget = briefBudget
	}
	c = search(isolation.Bounds{Budget: budget})
	h.owed += h.searcher.Looked - looked
	return c, beyond && c.AtLeast
}
