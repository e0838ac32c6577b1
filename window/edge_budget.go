package window

// Some histories make pairs of all their transactions: n that found nothing under a key and
// m that wrote it blindly, n that appended to what they had read, n ranges and m inserts
// that these do not show. What the orders take is bounded all the same: beyond
// edgeBudget edges, and edgeBudgetPerOp for each operation so far, a transaction brings
// edgeBudgetPerTxn of its edges at most. Those left out are counted, and no level is said to
// hold from there on; what is left is true, and so is what is found with it.
const (
	edgeBudget       = 8 << 20 // about 1.4 GB
	edgeBudgetPerOp  = 16      // histories without such pairs have 2 to 4
	edgeBudgetPerTxn = 256
)

// keepToEdgeBudget shortens the edges of a transaction where there is no more room for them. O(1).
func (m *Machine) keepToEdgeBudget() {
	o := &m.out
	if int64(m.graph.NumEdges()) < m.room+edgeBudgetPerOp*m.Counters.Operations {
		return
	}
	m.Counters.LeftOutEdges += int64(len(o.Edges) - edgeBudgetPerTxn)
	o.Edges = o.Edges[:edgeBudgetPerTxn]
}
