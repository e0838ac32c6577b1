package window

import (
	"math"

	"github.com/isowatch/isowatch/incremental"
)

// beginEmpty begins the run of k, which somebody has deleted, with nothing in it, in the
// views in which nobody who wrote it has frozen. In the others something was left there: no
// recorded transaction that counts had deleted it before.
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
