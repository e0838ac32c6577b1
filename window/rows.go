package window

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/infer"
)

// Where a row is not its key (isolation.Rules), two transactions that replaced what they had read
// of a key need not have written one row: when the first had been deleted, the later one
// inserted another. Of a deletion and a write that is known from the two. Of two writes it is
// so if anybody deleted the key between them.

// hidesLoss says whether the two that diverged are no lost update as far as is known.
func (m *Machine) hidesLoss(a *infer.Anomaly, w *finding.Witness) bool {
	if !m.cfg.Rules.Rows || a.Kind != infer.Divergence || hasAppend(w) || !m.infer.MayBeOtherRows(a.Version) {
		return false
	}
	deletes := deletesRow(&w.Txns[0], w.Key)
	if deletes && deletesRow(&w.Txns[len(w.Txns)-1], w.Key) {
		return false // only one can have deleted it
	}
	m.Counters.Diverged++
	m.Counters.OtherRows++
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

// rowsDeleted takes back the lost updates at the keys that t, which is n, deletes, unless it
// began when they were over.
func (m *Machine) rowsDeleted(b *event.Batch, t *event.Txn, n uint32, start int64) {
	if t.Status == event.Aborted || len(m.open.by)+len(m.open.recent) == 0 {
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
			m.takeBackFinal(n, b.Text(t.Epoch), key, start)
		}
		for _, f := range slices.Clone(m.open.list) {
			if !f.closed && f.Finding.Anomaly == lostUpdate && m.mayBeBetween(f, start) {
				m.takeBackLoss(f, key)
			}
		}
	}
	m.retryAsides()
}

// lostUpdate is the name of two that replaced one version.
const lostUpdate = "lost-update"

// mayBeBetween says whether what began then may have ended before the last of f's members.
func (m *Machine) mayBeBetween(f *openFinding, start int64) bool {
	return m.untimed || slices.ContainsFunc(f.members, func(n uint32) bool {
		return start <= m.infer.Info(n).End+int64(m.cfg.Contract.ClockDrift)
	})
}

// takeBackFinal does that for final findings, but for those of a version that n had read: who
// replaced it too is not behind n.
func (m *Machine) takeBackFinal(n uint32, epoch, key string, start int64) {
	for i := range m.open.recent {
		r := &m.open.recent[i]
		if r.Finding.State == finding.Withdrawn || r.Finding.Epoch != epoch || !slices.Contains(r.Rows, key) || !m.untimed && start > r.End {
			continue
		}
		if v := m.infer.ReplacedBy(n, key); v == 0 || !slices.Contains(r.Values, v) {
			m.Counters.OtherRows++
			m.Counters.SettledRows++
			m.withdrawFinal(r)
		}
	}
}

// rowsOf are the keys at which a deletion takes f back, and when its last member ended, by the
// clock that is the furthest behind.
func (m *Machine) rowsOf(f *openFinding) (keys []string, end int64) {
	if !m.cfg.Rules.Rows || f.Finding.Anomaly != lostUpdate {
		return nil, 0
	}
	end = math.MinInt64
	for _, n := range f.members {
		end = max(end, m.infer.Info(n).End+int64(m.cfg.Contract.ClockDrift))
	}
	for _, v := range f.versions {
		if key := m.infer.Key(v); !slices.Contains(keys, key) && m.deletionsBy(f, key) < 2 {
			keys = append(keys, key)
		}
	}
	return keys, end
}

// deletionsBy counts f's members that left no row at the key.
func (m *Machine) deletionsBy(f *openFinding, key string) (count int) {
	for _, n := range f.members {
		if r := m.record(n); deletesRow(&r, key) {
			count++
		}
	}
	return count
}

// takeBackLoss withdraws f if it is about writes of the key.
func (m *Machine) takeBackLoss(f *openFinding, key string) {
	about := func(v uint32) bool { return m.infer.Key(v) == key && m.infer.MayBeOtherRows(v) }
	if !slices.ContainsFunc(f.versions, about) {
		return
	}
	if m.deletionsBy(f, key) > 1 {
		return
	}
	f.versions = slices.DeleteFunc(f.versions, about) // the rest may still hold
	m.Counters.OtherRows++
	m.withdraw(f)
}

// anotherRow says whether who wrote v to k began another row than those did who wrote k since
// its begin: the last of them deleted the row.
func (m *Machine) anotherRow(x lastFrozen, k, v uint32) bool {
	return m.cfg.Rules.Rows && x.value == m.infer.NothingKey(k) && !m.infer.IsNothing(v)
}
