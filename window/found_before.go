package window

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
)

// deletedSince takes back conclusions from empty reads of a key where the deleter may have come before.
// If all readers had ended before the deleter began, the conclusions stay.
func (m *Machine) deletedSince(d *infer.Deletion) {
	for i := range m.reports.open.recent {
		r := &m.reports.open.recent[i]
		if r.Finding.State != finding.Withdrawn && slices.Contains(r.Values, d.Value) && r.Ended >= d.Began {
			m.countVoid()
			m.reports.withdrawFinal(r)
		}
	}
	for _, f := range m.reports.open.list {
		rests := slices.Contains(f.rests, d.Value) || slices.Contains(f.versions, d.Version)
		if !f.closed && rests && m.endedAt(f) >= d.Began && !slices.Contains(m.finder.doomed, f) {
			m.finder.doomed = append(m.finder.doomed, f)
		}
	}
}

// endedAt is when the last of f's members was over, by their clocks.
func (o *core) endedAt(f *openFinding) int64 {
	last := int64(math.MinInt64)
	for _, n := range slices.Concat(f.members, f.shown) {
		if !event.RecordTimed(o.infer.Record(n)) {
			return math.MaxInt64
		}
		last = max(last, o.infer.Info(n).End)
	}
	return last
}
