package window

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer"
)

// refused reports a record whose id was seen before. It has other content, or comes too late: the
// record that was kept has left memory.
func (s *reports) refused(b *event.Batch, t *event.Txn, start, end int64) {
	if s.out.Refused == infer.Contradicting {
		s.contradicts(b, t, end)
		return
	}
	position := ""
	if int(t.Pos.Partition) < len(s.clock.partitions) {
		position = positionText(s.clock.partitions[t.Pos.Partition].Name, t.Pos.Offset)
	}
	id, epoch := b.Text(t.ID), b.Text(t.Epoch)
	x := noted{id, epoch, 0, start, end, end, position}
	asCounted := t.Status == event.Committed && len(s.out.Replaced) == 0 // only its end is new, which the orders lack
	if asCounted || t.Status == event.Aborted && !s.cfg.Contract.Complete {
		// If it aborted, a second attempt without a record may have written the values that others saw.
		s.countOnly(1<<len(s.views)-1, x)
	} else {
		s.note("outcome", "outcome of a transaction that was unknown: "+t.Status.String(), x)
	}
}
