package window

import (
	"cmp"
	"math"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Counters are decided at the end of a whole history. A read is refuted when no set of
// increments sums up to it. Reads of several counters refute each other when every transaction
// only moves amounts between these counters, and yet the totals differ. An order shows that the
// reads agree with a level. A view has found it for everything else. In it each read must show
// the sum of the increments before it. Where it does not, the counters stay undecided.

// maxCounterFindings bounds the findings about one counter, or one set of counters.
const maxCounterFindings = 16

// maxGroup bounds the counters read together whose totals are compared.
const maxGroup = 64

// checkCounters looks at all counters, and notes which levels they agree with.
func (s *sums) checkCounters() {
	s.fitted = s.fitted[:0]
	if !s.cfg.Unbounded {
		return
	}
	txns := s.infer.CounterTxns()
	if len(txns) == 0 {
		return
	}
	s.counterBounds(txns)
	s.counterTotals(txns)
	if s.anyUnordered() {
		return // the order that fits is one that is searched: see orderView
	}
	for i := range s.views {
		s.fit(i, txns, func(a, b uint32) int { return s.graph.CompareCommits(i, incremental.Vertex(a), incremental.Vertex(b)) })
	}
}

// fit notes the level of the i-th view if the counters agree with this order of it.
func (s *sums) fit(i int, txns []infer.CounterTxn, compare func(a, b uint32) int) {
	level := s.views[i]
	if v, _ := level.View(); !v.Split && level.Base == isolation.Serializable && s.inOrder(txns, compare) {
		s.fitted = append(s.fitted, level)
	}
}

// fitFound is fit for the order that was found for the problem of the i-th view. If the problem
// has no pairs, it takes the graph's order.
func (s *sums) fitFound(i int, c *constraints, order []int32) {
	if s.infer.Counters.Loose == 0 {
		return
	}
	s.fit(i, s.infer.CounterTxns(), func(a, b uint32) int {
		x, y := c.nodeAt(a), c.nodeAt(b)
		if order == nil || x < 0 || y < 0 {
			return s.graph.CompareCommits(i, incremental.Vertex(a), incremental.Vertex(b))
		}
		return cmp.Compare(order[x], order[y])
	})
}

// fits says whether an order was found in which the counters agree with l, or with a
// level that implies it and is not violated.
func (s *sums) fits(l isolation.Level) bool {
	return slices.ContainsFunc(s.fitted, func(f isolation.Level) bool {
		return s.asking.stands(f, l) && !refuted(s.reports.verdicts.certain, f)
	})
}

// counterRead is a read of a counter.
type counterRead struct {
	txn, op uint32
	seen    int64
}

// counterBounds reports the reads that no increments sum up to. The sum of all positive amounts bounds
// them, and the sum of all negative ones. Where the counter's value in the beginning is not known, two
// reads bound it.
func (s *sums) counterBounds(txns []infer.CounterTxn) {
	type counter struct {
		up, down int64 // sums of increments that may have taken effect
		beyond   bool  // they exceed maxSum
		reads    []counterRead
	}
	counters := map[uint32]*counter{}
	var keys []uint32
	for i := range txns {
		for _, u := range txns[i].Uses {
			c := counters[u.Key]
			if c == nil {
				c = &counter{}
				counters[u.Key] = c
				keys = append(keys, u.Key)
			}
			if c.beyond = c.beyond || u.Beyond; c.beyond {
				continue
			}
			c.up, c.down = c.up+max(u.Inc, 0), c.down+min(u.Inc, 0)
			c.beyond = c.up > maxSum || c.down < -maxSum
			if u.Read && txns[i].Counts && s.bounds(txns[i].Txn) && !s.asking.askedLess(txns[i].Txn, isolation.NameOf(infer.OutOfBounds).Weakest) {
				c.reads = append(c.reads, counterRead{txns[i].Txn, u.Op, u.Seen})
			}
		}
	}
	for _, k := range keys {
		c := counters[k]
		if len(c.reads) == 0 || c.beyond {
			continue
		}
		lowest, highest := c.reads[0], c.reads[0]
		found := 0
		for _, r := range c.reads {
			if r.seen < lowest.seen {
				lowest = r
			}
			if r.seen > highest.seen {
				highest = r
			}
			if !s.cfg.Contract.Existing && (r.seen < c.down || r.seen > c.up) && found < maxCounterFindings {
				found++
				s.counterAnomaly(infer.Anomaly{Kind: infer.OutOfBounds, A: r.txn, OpA: r.op})
			}
		}
		if s.cfg.Contract.Existing && highest.seen-lowest.seen > c.up-c.down {
			s.counterAnomaly(infer.Anomaly{Kind: infer.OutOfBounds, A: highest.txn, B: lowest.txn, OpA: highest.op})
		}
	}
}

func (s *sums) counterAnomaly(a infer.Anomaly) {
	a.Certain = s.knowsSums()
	s.finder.anomaly(&a)
}

// knowsSums says whether all increments are on record, with their true amounts.
func (s *sums) knowsSums() bool {
	x := &s.cfg.Contract
	return x.Complete && !x.UnmonitoredWriters && s.infer.Counters.Missing() == 0
}

// bounds says whether transaction n's read of a counter bounds the reads of others. Suppose
// that the counter was there before the first record. Then it does not if n may have read the
// value before another transaction without a record. It does not either if somebody may have
// deleted the counter in between.
func (s *sums) bounds(n uint32) bool {
	x := &s.cfg.Contract
	return !x.Existing || !x.DeletesUnseen && (x.Settled || s.infer.SinceJoin(n, int64(x.ClockDrift)))
}

// totals says whether the total that transaction n read can be compared with others.
func (s *sums) totals(n uint32) bool { return !s.cfg.Contract.DeletesUnseen && s.bounds(n) }

// counterTotals reports reads of the same counters with different totals, when every
// transaction moves amounts between these counters only. Then every atomic view has one total.
// A read with another total than the first saw a part of a transaction, or a state that none
// left.
func (s *sums) counterTotals(txns []infer.CounterTxn) {
	type group struct {
		keys  []uint32
		first *infer.CounterTxn
		total int64
		found int
	}
	groups := map[uint64][]*group{}
	for i := range txns {
		t := &txns[i]
		var keys []uint32
		total, hash := int64(0), uint64(0)
		for _, u := range t.Uses {
			if u.Read {
				keys = append(keys, u.Key)
				total += u.Seen
				hash += uint64(u.Key) * 0x9e3779b97f4a7c15
			}
		}
		s.counting.Together = s.counting.Together || t.Counts && len(keys) > 1
		if len(keys) < 2 || len(keys) > maxGroup || !t.Counts || !s.totals(t.Txn) || s.asking.askedLess(t.Txn, isolation.NameOf(infer.WrongTotal).Weakest) {
			continue
		}
		slices.Sort(keys)
		at := slices.IndexFunc(groups[hash], func(g *group) bool { return slices.Equal(g.keys, keys) })
		if at < 0 {
			g := &group{keys: keys, first: t, total: total}
			s.counting.Compared = true
			if by := s.unbalances(txns, keys); by != nil {
				g.found = math.MaxInt
				if s.counting.Off == nil {
					s.counting.Off = by.off(len(keys), s.cfg.Contract.Existing)
				}
			}
			groups[hash] = append(groups[hash], g)
			continue
		}
		if g := groups[hash][at]; total != g.total && g.found < maxCounterFindings {
			g.found++
			s.counterAnomaly(infer.Anomaly{Kind: infer.WrongTotal, A: t.Txn, B: g.first.Txn})
		}
	}
}

// unbalances is the first transaction that adds to the counters, all in all, something else than
// nothing; nil if there is none.
func (s *sums) unbalances(txns []infer.CounterTxn, keys []uint32) *unbalanced {
	for i := range txns {
		sum, beyond := int64(0), false
		for _, u := range txns[i].Uses {
			if slices.Contains(keys, u.Key) && !beyond {
				sum += u.Inc
				beyond = u.Beyond || sum > maxSum || sum < -maxSum
			}
		}
		if sum != 0 || beyond {
			return &unbalanced{s.finder.record(txns[i].Txn).ID, sum}
		}
	}
	return nil
}

// inOrder says whether each counter read shows the sum of the increments before it in this
// order of the transactions. Where versions are told, it must show the version of the latest
// one.
func (s *sums) inOrder(txns []infer.CounterTxn, compare func(a, b uint32) int) bool {
	var order []*infer.CounterTxn
	for j := range txns {
		if t := &txns[j]; t.Counts {
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b *infer.CounterTxn) int {
		return cmp.Or(compare(a.Txn, b.Txn), cmp.Compare(a.Txn, b.Txn))
	})
	values := map[uint32]*counterValue{}
	for _, t := range order {
		for i := range t.Uses {
			u := &t.Uses[i]
			x := values[u.Key]
			if x == nil {
				x = &counterValue{}
				values[u.Key] = x
			}
			if u.Beyond || !x.fits(u, s.cfg.Contract.Existing) {
				return false
			}
		}
		for i := range t.Uses {
			values[t.Uses[i].Key].add(&t.Uses[i])
		}
	}
	return true
}

// counterValue is the value of a counter at a place of an order.
type counterValue struct {
	sum       int64
	version   uint64 // as in infer.Counted; 0 is the initial version
	unnamed   bool   // the counter has another version, which no operation tells
	seen, met bool   // the sum, and the version, are known of a counter that was there before
}

// fits says whether u finds what the counter holds, and replaces that. A counter from before the first
// record begins with the value that makes its first reads right.
func (x *counterValue) fits(u *infer.Counted, existing bool) bool {
	if u.Read && existing && !x.seen {
		x.sum, x.seen = u.Seen, true
	}
	for _, version := range [2]uint64{u.At, u.Over} {
		if version != 0 && existing && !x.met {
			x.version, x.met = version, true
		}
		if version != 0 && (x.unnamed || x.version != version) {
			return false
		}
	}
	return !u.Read || x.sum == u.Seen
}

func (x *counterValue) add(u *infer.Counted) {
	x.sum += u.Inc
	if u.Added {
		x.version, x.unnamed, x.met = u.Left, u.Left == 0, true
	}
}
