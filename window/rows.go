package window

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
)

// Where a row is not its key (isolation.Rules), two transactions that replaced what they had
// read of a key need not have written one row. When the first row had been deleted, the later
// transaction inserted another. For a deletion and a write, the two show that themselves. For
// two writes it is so if anybody deleted the key between them.

// hidesLoss says whether the two that diverged are not a lost update, as far as is known.
func (h *finder) hidesLoss(a *infer.Anomaly, w *finding.Witness) bool {
	if !h.cfg.Rules.Rows || a.Kind != infer.Divergence || hasAppend(w) || !h.infer.MayBeOtherRows(a.Version) {
		return false
	}
	deletes := deletesRow(&w.Txns[0], w.Key)
	if deletes && deletesRow(&w.Txns[len(w.Txns)-1], w.Key) {
		return false // only one can have deleted it
	}
	h.Counters.Diverged++
	h.Counters.OtherRows++
	return true
}

// hidesOldRow says whether a read behind an own write may have met the row of the snapshot.
func (h *finder) hidesOldRow(a *infer.Anomaly, w *finding.Witness) bool {
	if !h.cfg.Rules.Rows || a.Kind != infer.Internal || a.B != 0 || !slices.Contains(oldRows(&w.Txns[0]), w.Key) || !h.infer.SomeRowDeleted(a.Version) {
		return false
	}
	h.Counters.OldRows++
	return true
}

// deletesRow says whether t left no row at the key.
func deletesRow(t *event.Record, key string) bool {
	last := event.Read
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Key == key && o.Writes() {
			last = o.Kind
		}
	}
	return last == event.Delete
}

// rowsDeleted takes back the lost updates and the reads of old rows at the keys that t, which is n,
// deletes. Those that were over when t began stay.
func (h *finder) rowsDeleted(b *event.Batch, t *event.Txn, n uint32, start int64) {
	if t.Status == event.Aborted || len(h.reports.open.by)+len(h.reports.open.recent) == 0 {
		return
	}
	if t.Flags&event.HasTimes == 0 {
		start = math.MinInt64 // when it began is not known
	}
	for _, o := range b.OpsOf(t) {
		if o.Kind != event.Delete {
			continue
		}
		key := b.Text(o.Key)
		if n != 0 { // else it is known
			h.reports.takeBackFinal(n, b.Text(t.Epoch), key, start)
		}
		for _, f := range slices.Clone(h.reports.open.list) {
			switch {
			case f.closed || !h.mayBeBetween(f, start):
			case f.Finding.Anomaly == lostUpdate:
				h.takeBackLoss(f, key)
			case slices.Contains(h.oldRowsOf(f), key) && !slices.Contains(f.members, n):
				h.Counters.OldRows++
				h.withdraw(f)
			}
		}
	}
	h.retrySetAside()
}

// countersTold takes back what rests on a range without a key that t tells to be a counter.
func (h *finder) countersTold(b *event.Batch, t *event.Txn) {
	if len(h.reports.open.list)+len(h.reports.open.recent) == 0 {
		return
	}
	ops := b.OpsOf(t)
	for i := range ops {
		if o := &ops[i]; (o.Kind == event.Inc || o.Data == event.Counter) && !h.infer.KnownCounter(b, t, o) { // else it was told before
			h.counterTold(b.Text(o.Key), b.Text(t.Epoch))
		}
	}
}

// counterTold does that for the key.
func (h *finder) counterTold(key, epoch string) {
	of := func(f *finding.Finding) bool {
		return f.Anomaly == misread && f.Epoch == epoch && f.About != nil && f.About.Key == key && f.State != finding.Withdrawn
	}
	for _, f := range slices.Clone(h.reports.open.list) {
		if !f.closed && of(&f.Finding) && h.unshown(f, key) {
			h.withdraw(f)
		}
	}
	for i := range h.reports.open.recent {
		if r := &h.reports.open.recent[i]; r.Unshown && of(&r.Finding) {
			h.reports.withdrawFinal(r)
		}
	}
	h.retrySetAside()
}

// lostUpdate is the name of two that replaced one version.
const lostUpdate = "lost-update"

// mayBeBetween says whether what began then may have ended before the last of f's members.
func (h *finder) mayBeBetween(f *openFinding, start int64) bool {
	return h.untimed || slices.ContainsFunc(f.members, func(n uint32) bool {
		return start <= h.infer.Info(n).End+int64(h.cfg.Contract.ClockDrift)
	})
}

// takeBackFinal does that for final findings, except for a version that n had read: another
// transaction that replaced it is not behind n.
func (s *reports) takeBackFinal(n uint32, epoch, key string, start int64) {
	for i := range s.open.recent {
		r := &s.open.recent[i]
		if r.Finding.State == finding.Withdrawn || r.Finding.Epoch != epoch || !slices.Contains(r.Rows, key) || !s.untimed && start > r.End {
			continue
		}
		if r.Finding.Anomaly == misread {
			s.Counters.OldRows++
			s.withdrawFinal(r)
		} else if v := s.infer.ReplacedBy(n, key); v == 0 || !slices.Contains(r.Values, v) {
			s.Counters.OtherRows++
			s.Counters.SettledRows++
			s.withdrawFinal(r)
		}
	}
}

// rowsOf are the keys at which a deletion takes f back, and when its last member ended, by the
// clock that is the furthest behind.
func (s *reports) rowsOf(f *openFinding) (keys []string, end int64) {
	keys = s.oldRowsOf(f)
	if !s.cfg.Rules.Rows || f.Finding.Anomaly != lostUpdate && keys == nil {
		return nil, 0
	}
	end = math.MinInt64
	for _, n := range f.members {
		end = max(end, s.infer.Info(n).End+int64(s.cfg.Contract.ClockDrift))
	}
	if keys != nil {
		return keys, end
	}
	for _, v := range f.versions {
		if key := s.infer.Key(v); !slices.Contains(keys, key) && s.deletionsBy(f, key) < 2 {
			keys = append(keys, key)
		}
	}
	return keys, end
}

// deletionsBy counts f's members that left no row at the key.
func (o *core) deletionsBy(f *openFinding, key string) (count int) {
	for _, n := range f.members {
		if r := o.record(n); deletesRow(&r, key) {
			count++
		}
	}
	return count
}

// takeBackLoss withdraws f if it is about writes of the key.
func (h *finder) takeBackLoss(f *openFinding, key string) {
	about := func(v uint32) bool { return h.infer.Key(v) == key && h.infer.MayBeOtherRows(v) }
	if !slices.ContainsFunc(f.versions, about) {
		return
	}
	if h.deletionsBy(f, key) > 1 {
		return
	}
	f.versions = slices.DeleteFunc(f.versions, about) // the rest may still hold
	h.Counters.OtherRows++
	h.withdraw(f)
}

// anotherRow says whether the writer of v to k began another row than the transactions that
// wrote k since its begin. Then the last of them deleted the row.
func (o *core) anotherRow(x lastFrozen, k, v uint32) bool {
	return o.cfg.Rules.Rows && x.value == o.infer.NothingKey(k) && !o.infer.IsNothing(v)
}
