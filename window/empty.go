package window

import (
	"math"

	"github.com/isowatch/isowatch/incremental"
)

// beginEmpty begins the run of k, which somebody has deleted. In views where no writer of k has frozen,
// the run begins with nothing. In the other views, k holds a value: no recorded transaction that counts
// had deleted k before.
func (o *choices) beginEmpty(k uint32) {
	o.initFrozen()
	for i := range o.views {
		x := o.frozenLast(i, k)
		if x.key != 0 || !o.needsOrder(i) {
			continue
		}
		gone := func(n uint32) bool {
			return !o.graph.Known(incremental.Vertex(n)) || o.graph.Retired(i, incremental.Vertex(n))
		}
		if o.infer.NeverWritten(k, gone) {
			o.setFrozen(i, k, lastFrozen{key: o.infer.KeyHash(k), value: o.infer.NothingKey(k), at: math.MinInt64, met: x.met})
		}
	}
}
