package window

import (
	"math"

	"github.com/isowatch/isowatch/incremental"
)

// beginEmpty begins the run of k, which somebody has deleted, with nothing in it, in the
// views in which nobody who wrote it has frozen. In the others something was left there: no
// recorded transaction that counts had deleted it before.
func (m *Machine) beginEmpty(k uint32) {
	m.initFrozen()
	for i := range m.views {
		x := m.frozenLast(i, k)
		if x.key != 0 || !m.needsOrder(i) {
			continue
		}
		gone := func(n uint32) bool {
			return !m.graph.Known(incremental.Vertex(n)) || m.graph.Retired(i, incremental.Vertex(n))
		}
		if m.infer.NeverWritten(k, gone) {
			m.setFrozen(i, k, lastFrozen{key: m.infer.KeyHash(k), value: m.infer.NothingKey(k), at: math.MinInt64, met: x.met})
		}
	}
}
