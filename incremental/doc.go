// Package incremental keeps topological orders of a growing and shrinking directed graph. An
// added edge either keeps the order valid, or is refused because it closes a cycle. It knows
// nothing of transactions.
//
// One adjacency, several orders. Vertices and edges are stored once. Each [View] is an order
// over them with rules of its own. It follows some labels. A vertex is one node in it, or two.
// Two nodes are a begin B and a commit C with the arc B->C (the BC graph of Viper, definition
// 2). An edge refused in one view can stand in another.
//
// Order maintenance follows Pearce and Kelly (A Dynamic Topological Sort Algorithm for Directed
// Acyclic Graphs, JEA 11, 2006). An edge x->y with rank(x) < rank(y) costs O(1). Otherwise two
// groups of nodes within the ranks between y and x exchange their ranks: those that reach x,
// and those that y reaches. The cost is the size of that region, times its logarithm. Ranks are
// never created by a reordering, only permuted, so the gaps between them are harmless.
//
// Ranks are 128-bit: a place (in practice the time at which the event stood in the database's
// order) and a sequence number that breaks ties. A vertex is ranked near its place, and between
// its known neighbours where there is a gap. That keeps the number of inverted edges small when
// vertices arrive out of order. The cost is the error of the prediction (McCauley et al.,
// Incremental Topological Ordering and Cycle Detection with Predictions, ICML 2024).
//
// The frozen order. Nodes retire only from the low end of a view's order; a
// retired node's rank is final, and the highest of them is the frontier. No
// node is ranked below it afterwards. An edge u->v is then handled by one of
// four rules (docs/proofs.md proves what follows from them):
//
//	(a) both live: inserted, or refused because it closes a cycle
//	(b) u retired, v live: nothing to do
//	(c) both retired, rank u < rank v: nothing to do
//	(d) v retired and (u live or rank u > rank v): refused as behind the frontier
//
// The package is a part of the monitor. It promises nothing to importers: names and behaviour change
// without notice.
package incremental
