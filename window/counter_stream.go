package window

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// counting is the state of counters while records come. Sums of increments do not shrink when
// their transactions are forgotten, so no transaction is kept for them. A read may be too high
// or too low for its sums. It waits until every transaction that may have added more should
// have come, and is then reported. Two reads with different totals are reported too, for
// counters between which every transaction only moves amounts. If a later increment makes the
// read right, the finding is taken back. All of it is asked only under a capture that excludes
// missing records.
//
// In whole histories see [sums.checkCounters].
type counting struct {
	Keys    []streamCounter
	Waiting []waitingReads // by Due, then in the order of arrival
	Groups  []counterGroup

	Together bool       // a transaction read several counters
	Compared bool       // the transaction's total may be compared with others
	Off      *TotalsOff `json:",omitempty"` // why totals of some are not compared
	// Stored is the size of the records that are kept for others to be compared with, bytes.
	Stored int

	at    map[event.Hash]int32 // index into Keys
	uses  []streamUse          // scratch
	round uint64               // grows with each transaction
	void  bool                 // a counter was given up since the totals were checked: they may include it
}

// maxCounters and maxGroups bound what is followed. Others stay undecided, as the level's
// verdict is in any case.
const (
	maxCounters = 1 << 16
	maxGroups   = 1 << 8
	maxSum      = 1 << 61
	// maxStored bounds counting.Stored, bytes: what is beyond is not kept, so that less is
	// compared.
	maxStored = 16 << 20
)

// streamCounter is a counter.
type streamCounter struct {
	Hash     event.Hash // of the key, in its epoch
	Up, Down int64      // sums of increments that may have taken effect
	GivenUp  bool       // it is not a counter
	// Counters that a transaction added to together are one component. Above is the counter
	// above in its tree, itself for the root. Size and Unbalanced are the root's. Unbalanced:
	// the increments of some transaction did not sum to zero.
	Above      int32
	Size       int32
	Unbalanced bool
	By         *unbalanced `json:",omitempty"` // the root's: who was the first
	// The extreme reads, where the first value is not known.
	Lowest, Highest *storedRead
	Told            []toldRead

	round uint64 // of the transaction that used it last
	use   int32  // there, index into uses
}

// storedRead is a read of a transaction that need not be in memory any more.
type storedRead struct {
	Seen   int64
	Record []byte
}

// toldRead is a finding about a read, or two, where Two.
type toldRead struct {
	Finding  string
	Low, Top int64 // what was read; the same for one
	Two      bool
}

// waitingReads are the reads of one transaction, which is kept in memory for them.
type waitingReads struct {
	Due   int64 // they are looked at when the watermark has passed it
	Txn   uint32
	Reads []streamRead
}

type streamRead struct {
	Counter int32
	Op      uint32
	Seen    int64 // without the transaction's own increments before
}

// counterGroup are counters that were read together.
type counterGroup struct {
	Counters []int32 // ascending
	Total    int64
	Record   []byte // of the first reader
	Told     []string
	Void     bool // a transaction changed their total, so the total differs between reads
}

// streamUse is the effect of the transaction in work on one counter.
type streamUse struct {
	counter int32
	inc     int64
	read    bool
	seen    int64
	op      uint32
}

// noteCounters takes in what the i-th transaction of the machine did to counters.
func (s *sums) noteCounters(b *event.Batch, t *event.Txn, n uint32, end int64) {
	c := &s.counting
	beyond := s.counterUses(b, t)
	changed := c.void
	c.void = false
	root, sum := int32(-1), int64(0)
	for _, u := range c.uses {
		if u.inc == 0 {
			continue
		}
		x := &c.Keys[u.counter]
		x.Up, x.Down = x.Up+max(u.inc, 0), x.Down+min(u.inc, 0)
		if x.Up > maxSum || x.Down < -maxSum {
			x.Up, x.Down = min(x.Up, maxSum), max(x.Down, -maxSum)
			s.giveUpCounter(u.counter)
		}
		s.recheckReads(x)
		if sum += u.inc; sum > maxSum || sum < -maxSum {
			sum, beyond = 0, true
		}
		if root < 0 {
			root = c.root(u.counter)
		} else {
			changed = c.join(root, u.counter) || changed
			root = c.root(root)
		}
	}
	if root >= 0 && (sum != 0 || beyond) && !c.Keys[root].Unbalanced {
		c.unbalance(b, t, root, sum)
		changed = true
	}
	if changed || c.void {
		c.void = false
		s.recheckGroups()
	}
	if t.Status != event.Committed {
		return
	}
	w := waitingReads{Due: end + int64(s.cfg.MaxTxn), Txn: n}
	if patience := s.infer.Untimed(); patience > 0 {
		w.Due = end + patience
	}
	for _, u := range c.uses {
		if u.read {
			w.Reads = append(w.Reads, streamRead{u.counter, u.op, u.seen})
		}
	}
	if len(w.Reads) == 0 {
		return
	}
	c.Together = c.Together || len(w.Reads) > 1
	s.infer.Keep(n)
	at := len(c.Waiting)
	for at > 0 && c.Waiting[at-1].Due > w.Due {
		at--
	}
	c.Waiting = slices.Insert(c.Waiting, at, w)
}

// counterUses fills c.uses. It says whether t adds to a counter that is not followed.
func (s *sums) counterUses(b *event.Batch, t *event.Txn) (beyond bool) {
	c := &s.counting
	c.uses = c.uses[:0]
	c.round++
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		if o.Kind == event.Range {
			continue
		}
		h, v, is := s.infer.CounterUse(b, t, o)
		at, known := c.at[h]
		other := o.Kind != event.Inc && o.Kind != event.Read // by an unknown outcome that inference has not decided
		switch {
		case known && (!is || other):
			s.giveUpCounter(at)
			continue
		case !is && o.Kind != event.Inc:
			continue
		case !known && len(c.Keys) >= maxCounters:
			beyond = beyond || o.Kind == event.Inc
			continue
		case !known:
			if c.at == nil {
				c.at = map[event.Hash]int32{}
			}
			at = int32(len(c.Keys))
			c.Keys = append(c.Keys, streamCounter{Hash: h, GivenUp: other || !is, Above: at, Size: 1})
			c.at[h] = at
		}
		x := &c.Keys[at]
		if x.round != c.round {
			x.round, x.use = c.round, int32(len(c.uses))
			c.uses = append(c.uses, streamUse{counter: at})
		}
		switch u := &c.uses[x.use]; {
		case other || !is:
		case o.Kind == event.Inc:
			if u.inc += v; u.inc > maxSum || u.inc < -maxSum {
				u.inc, beyond = 0, true
				s.giveUpCounter(at)
			}
		case !u.read:
			u.read, u.seen, u.op = true, v-u.inc, uint32(i)
		}
	}
	return beyond
}

func (c *counting) root(i int32) int32 {
	for c.Keys[i].Above != i {
		c.Keys[i].Above = c.Keys[c.Keys[i].Above].Above // halve the way
		i = c.Keys[i].Above
	}
	return i
}

// join makes one component of two, and says whether they were two.
func (c *counting) join(i, j int32) bool {
	i, j = c.root(i), c.root(j)
	if i == j {
		return false
	}
	if c.Keys[i].Size < c.Keys[j].Size {
		i, j = j, i
	}
	x, y := &c.Keys[i], &c.Keys[j]
	y.Above = i
	x.Size += y.Size
	x.Unbalanced = x.Unbalanced || y.Unbalanced
	if x.By == nil {
		x.By = y.By
	}
	return true
}

// moved says whether all that is known to be added to the counters, ascending, is moved
// between them.
func (c *counting) moved(counters []int32) bool {
	var roots []int32
	size := 0
	for _, i := range counters {
		r := c.root(i)
		if c.Keys[r].Unbalanced || c.Keys[i].GivenUp {
			return false
		}
		if !slices.Contains(roots, r) {
			roots = append(roots, r)
			size += int(c.Keys[r].Size)
		}
	}
	return size == len(counters)
}

// decideCounters looks at the reads that have waited long enough.
func (s *sums) decideCounters() {
	c := &s.counting
	for len(c.Waiting) > 0 && c.Waiting[0].Due < s.clock.watermark {
		w := c.Waiting[0]
		c.Waiting = c.Waiting[1:]
		if s.knowsSums() && s.bounds(w.Txn) {
			s.decideBounds(&w)
			s.decideTotal(&w)
		}
		s.infer.LetGo(w.Txn)
	}
}

func (s *sums) decideBounds(w *waitingReads) {
	if s.asking.askedLess(w.Txn, isolation.NameOf(infer.OutOfBounds).Weakest) {
		return
	}
	for _, r := range w.Reads {
		x := &s.counting.Keys[r.Counter]
		switch {
		case x.GivenUp || len(x.Told) >= maxCounterFindings:
		case !s.cfg.Contract.Existing:
			if r.Seen < x.Down || r.Seen > x.Up {
				s.tellRead(x, w.Txn, r.Op, nil, toldRead{Low: r.Seen, Top: r.Seen})
			}
		default:
			s.decideSpan(x, w.Txn, &r)
		}
	}
}

// decideSpan compares a read with the lowest and the highest one so far.
func (s *sums) decideSpan(x *streamCounter, n uint32, r *streamRead) {
	if x.Lowest != nil && r.Seen-x.Lowest.Seen > x.Up-x.Down {
		s.tellRead(x, n, r.Op, x.Lowest.Record, toldRead{Low: x.Lowest.Seen, Top: r.Seen, Two: true})
	} else if x.Highest != nil && x.Highest.Seen-r.Seen > x.Up-x.Down {
		s.tellRead(x, n, r.Op, x.Highest.Record, toldRead{Low: r.Seen, Top: x.Highest.Seen, Two: true})
	}
	if x.Lowest == nil || r.Seen < x.Lowest.Seen {
		s.storeRead(&x.Lowest, n, r.Seen)
	}
	if x.Highest == nil || r.Seen > x.Highest.Seen {
		s.storeRead(&x.Highest, n, r.Seen)
	}
}

// storeRead replaces a read by n's read, if there is room for its record.
func (s *sums) storeRead(at **storedRead, n uint32, seen int64) {
	c, size := &s.counting, 0
	if *at != nil {
		size = len((*at).Record)
	}
	record := s.infer.Record(n)
	if c.Stored-size+len(record) > maxStored {
		return
	}
	c.Stored += len(record) - size
	*at = &storedRead{seen, slices.Clone(record)}
}

// dropRead forgets a read.
func (c *counting) dropRead(at **storedRead) {
	if *at != nil {
		c.Stored -= len((*at).Record)
		*at = nil
	}
}

func (s *sums) tellRead(x *streamCounter, n, op uint32, other []byte, told toldRead) {
	if told.Finding = s.finder.tellCounter(infer.OutOfBounds, n, op, other); told.Finding != "" {
		x.Told = append(x.Told, told)
	}
}

// decideTotal compares the total of what was read together with what was read first.
func (s *sums) decideTotal(w *waitingReads) {
	c := &s.counting
	if len(w.Reads) < 2 || len(w.Reads) > maxGroup || !s.totals(w.Txn) || s.asking.askedLess(w.Txn, isolation.NameOf(infer.WrongTotal).Weakest) {
		return
	}
	c.Compared = true
	var counters []int32
	total := int64(0)
	for _, r := range w.Reads {
		counters = append(counters, r.Counter)
		total += r.Seen
	}
	slices.Sort(counters)
	at := slices.IndexFunc(c.Groups, func(g counterGroup) bool { return slices.Equal(g.Counters, counters) })
	if at < 0 {
		if !c.moved(counters) {
			c.off(counters, s.cfg.Contract.Existing)
			return
		}
		record := s.infer.Record(w.Txn)
		if len(c.Groups) < maxGroups && c.Stored+len(record) <= maxStored {
			c.Stored += len(record)
			c.Groups = append(c.Groups, counterGroup{Counters: counters, Total: total, Record: slices.Clone(record)})
		}
		return
	}
	if g := &c.Groups[at]; !g.Void && total != g.Total && len(g.Told) < maxCounterFindings {
		if id := s.finder.tellCounter(infer.WrongTotal, w.Txn, 0, g.Record); id != "" {
			g.Told = append(g.Told, id)
		}
	}
}

// tellCounter reports a read of n, and the operations of another transaction if the finding needs them.
// It returns the finding, "" if there is none.
func (h *finder) tellCounter(kind infer.AnomalyKind, n, op uint32, other []byte) string {
	f := &openFinding{members: []uint32{n}}
	f.Finding.Certain = true
	w := finding.Witness{Anomaly: kind, Op: int(op), Txns: []event.Record{h.record(n)}}
	h.given(&w)
	if w.Op < len(w.Txns[0].Ops) {
		w.Key, w.Value = w.Txns[0].Ops[w.Op].Key, w.Txns[0].Ops[w.Op].Value
	}
	if other != nil {
		r, err := event.ReadRecord(other)
		if err != nil {
			return "" // it was written by AppendRecord
		}
		w.Txns = append(w.Txns, r)
	}
	name := isolation.NameOf(kind)
	if h.linearizes() {
		name.RefuteLinear(kind, &w)
	}
	if err := h.verify(&w); err != nil {
		h.Counters.Unverified++
		h.unverified = err
		return ""
	}
	h.publish(f, name, &w)
	return f.Finding.ID
}

// recheckReads takes back what was said of reads of x that its increments now explain.
func (s *sums) recheckReads(x *streamCounter) {
	if len(x.Told) == 0 {
		return
	}
	var void []string
	x.Told = slices.DeleteFunc(x.Told, func(r toldRead) bool {
		right := r.Low >= x.Down && r.Top <= x.Up
		if r.Two {
			right = r.Top-r.Low <= x.Up-x.Down
		}
		if right || x.GivenUp {
			void = append(void, r.Finding)
		}
		return right || x.GivenUp
	})
	void = slices.DeleteFunc(void, func(id string) bool {
		return slices.ContainsFunc(x.Told, func(r toldRead) bool { return r.Finding == id })
	})
	s.takeBackCounters(void)
}

func (s *sums) giveUpCounter(i int32) {
	x := &s.counting.Keys[i]
	if x.GivenUp {
		return
	}
	x.GivenUp, s.counting.void = true, true
	s.counting.dropRead(&x.Lowest)
	s.counting.dropRead(&x.Highest)
	s.recheckReads(x)
}

// recheckGroups takes back what was said of totals that need not be the same.
func (s *sums) recheckGroups() {
	c := &s.counting
	for i := range c.Groups {
		if g := &c.Groups[i]; !g.Void && !c.moved(g.Counters) {
			c.off(g.Counters, s.cfg.Contract.Existing)
			void := g.Told
			c.Stored -= len(g.Record)
			g.Void, g.Told, g.Record = true, nil, nil
			s.takeBackCounters(void)
		}
	}
}

// takeBackCounters withdraws these findings about counters.
func (s *sums) takeBackCounters(ids []string) {
	for _, id := range ids {
		if f := s.reports.open.ids[id]; f != nil {
			s.finder.withdraw(f)
			continue
		}
		for i := range s.reports.open.recent {
			if r := &s.reports.open.recent[i]; r.Finding.ID == id && r.Finding.State != finding.Withdrawn {
				s.reports.withdrawFinal(r)
			}
		}
	}
}

// restored holds the counters of a snapshot.
func (c *counting) restored() {
	c.at = map[event.Hash]int32{}
	for i := range c.Keys {
		c.at[c.Keys[i].Hash] = int32(i)
	}
}
