package window

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
)

// refused reports a record whose id was seen before, when the record that was
// kept has left memory.
func (s *reports) refused(b *event.Batch, t *event.Txn, start, end int64) {
	position := ""
	if int(t.Pos.Partition) < len(s.clock.partitions) {
		position = positionText(s.clock.partitions[t.Pos.Partition].Name, t.Pos.Offset)
	}
	id, epoch := b.Text(t.ID), b.Text(t.Epoch)
	if s.out.Refused == infer.TooLate {
		x := noted{id, epoch, 0, start, end, end, position}
		if t.Status == event.Committed && len(s.out.Replaced) == 0 { // as it was counted: only its end is new, which the orders lack
			s.countOnly(1<<len(s.views)-1, x)
		} else {
			s.note("outcome", "outcome of a transaction that was unknown: "+t.Status.String(), x)
		}
		return
	}
	n := isolation.NameOf(infer.Contradictory)
	f := finding.Finding{
		Source: s.cfg.Source, Epoch: epoch, Kind: n.Kind, State: finding.Final, Revision: 1, Certain: true,
		Anomaly: n.Anomaly, Title: n.Title, Txns: []string{id}, Refutes: []string{}, AlsoRefutes: []string{},
		Explanation:   fmt.Sprintf("a second record has the id of %s and other content; the first one, which has left memory, is kept", finding.OneLine(id)),
		FirstPosition: position, LastPosition: position, DetectedAt: s.clock.detectedAt(),
		Hidden: s.cfg.Hide != "",
	}
	f.ID = s.identity(&f, identified{members: f.Txns, anomaly: f.Anomaly})
	s.countFound(&f)
	s.hand(f)
}
