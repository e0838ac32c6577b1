// Package solve decides whether writers whose order nobody saw can be ordered
// such that a graph stays acyclic. It knows nothing of transactions.
//
// A [Problem] is a graph of known edges and, for each key, units in an order that is to be
// found. A unit is a version with its readers, or a chain of read-modify-writes (Viper's
// combined writes). Ordering unit a before unit b adds edges to b's first writer, from a's last
// writer and from its readers. That is one side of a generalized constraint (PolySI, definition
// 9), with all readers in it (Viper's coalesced constraints).
//
// The order is found in four stages. Each leaves little to the next:
//
//  1. Saturation. A clock a node, with an entry for each track, answers whether one
//     node reaches another in O(1). (A track is a path of known edges: a session,
//     mostly.) Suppose that the first writer of b reaches the last writer or a reader of
//     a. Then a before b would close a cycle. So b comes first, and its edges are added.
//     To a fixpoint. This is PolySI's pruning (section 4.3), without n^2 reachability and
//     without looking at pairs. A unit asks its neighbours in the order of the nodes,
//     until all that lies behind is known to precede it (walk.go). Where that is far, it
//     asks each track for the last unit of the key that precedes it.
//  2. Peeling. Take a side of an open pair. It cannot take part in a cycle if no edge
//     of it lies within a strongly connected component of known and candidate edges.
//     Then it is taken. To a fixpoint.
//  3. Search, in each component that is left by itself. It is conflict-driven clause
//     learning. Its theory is an incrementally kept topological order (Pearce and
//     Kelly). A variable is a pair of units, its first polarity is the order of the
//     present ranks. A conflict is the pairs on one cycle. A budget of steps. A search
//     that is stuck keeps which node reaches which, a bit a pair. From then on a pair has a
//     side as soon as the other one would close a cycle (foresee.go). Pairs that the
//     present ranks order stay open (misfit.go).
//  4. The witness. The order found is checked against the problem, linearly.
//
// A [Read] of a value that several units end with is of one of them: a further choice,
// decided by the same stages (read.go).
//
// When there is no order the answer is a [Core]. It is known edges, pairs and reads that cannot
// be ordered, whatever is done about the others. It is shrunk by leaving out one after the
// other while the rest still cannot be ordered.
package solve
