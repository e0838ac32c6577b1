package window

// In some histories, each pair of transactions has an edge. Examples are n that found nothing under a
// key and m that wrote it blindly. Or n appended to the state that they had read. Or there are n ranges
// and m inserts that these do not show. The memory of the orders is bounded all the same. Beyond
// edgeBudget edges, and edgeBudgetPerOp for each operation so far, a transaction brings
// edgeBudgetPerTxn of its edges at most. The edges that are left out are counted, and no level is ok
// from there on. The remaining edges are true, and so are findings from them.
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
