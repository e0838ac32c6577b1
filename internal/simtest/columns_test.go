package simtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// row is a row of two columns, with the number of the transaction that wrote it last.
type row struct {
	values  [2]int64 // 0: NULL
	version int64
}

// columnStore runs transactions that read and write columns, each under a key of its own, with the version
// of the row. It keeps snapshot isolation, or does not look who wrote a row meanwhile, or shows at any
// time what is there.
type columnStore struct {
	rng         *rand.Rand
	blind, live bool
	now, fresh  int64
	rows        map[string]row
	changed     map[string]int64
}

type columnClient struct {
	txn      workload.Txn
	left     int
	number   int64
	snapshot map[string]row
	own      map[string]row
}

func columnHistory(rng *rand.Rand) (h oracle.History) {
	s := columnStore{rng: rng, rows: map[string]row{}, changed: map[string]int64{}}
	switch rng.IntN(4) {
	case 0:
		s.blind = true
	case 1:
		s.live = true
	}
	var all []*columnClient
	for i := range 3 + rng.IntN(4) {
		all = append(all, &columnClient{left: 1 + rng.IntN(4), number: int64(1001 + i), own: map[string]row{}})
	}
	for len(all) > 0 {
		at := rng.IntN(min(3, len(all)))
		s.now++
		if c := all[at]; s.step(c) {
			all = slices.Delete(all, at, at+1)
			c.txn.ID = fmt.Sprintf("T%d", len(h))
			h = append(h, c.txn)
		}
	}
	seqs := map[string]int64{}
	for i := range h {
		t := &h[i]
		t.Session = fmt.Sprintf("s%d", i%2)
		if j := i - 2; j >= 0 && h[j].End > t.Start {
			t.Session = fmt.Sprintf("alone%d", i)
		}
		seqs[t.Session]++
		t.Seq = seqs[t.Session]
		t.Start, t.End = t.Start*1_000_000, t.End*1_000_000
	}
	return h
}

// step does what c does next, and says whether it has ended.
func (s *columnStore) step(c *columnClient) bool {
	if c.snapshot == nil {
		c.snapshot, c.txn.Start, c.txn.Status = maps.Clone(s.rows), s.now, event.Committed
	}
	if c.left == 0 {
		s.commit(c)
		c.txn.End = s.now
		return true
	}
	c.left--
	id, column := fmt.Sprintf("x%d", s.rng.IntN(2)), s.rng.IntN(2)
	key := id + "." + string(rune('a'+column))
	seen := c.snapshot[id]
	if s.live {
		seen = s.rows[id]
	}
	if own, ok := c.own[id]; ok {
		seen = own
	}
	if s.rng.IntN(2) == 0 {
		s.fresh++
		o := workload.Write(key, s.fresh)
		o.Version = c.number
		read := func(p workload.Op) bool { return p.Key == key && p.Version == seen.version }
		if seen.version != c.number && slices.ContainsFunc(c.txn.Ops, read) && s.rng.IntN(2) == 0 {
			o.PrevVersion = seen.version // trial knows the read
		}
		seen.values[column], seen.version = s.fresh, c.number
		c.own[id] = seen
		c.txn.Ops = append(c.txn.Ops, o)
		return false
	}
	o := workload.ReadAbsent(key)
	if v := seen.values[column]; v != 0 {
		o = workload.Read(key, v)
		o.Version = seen.version
	}
	c.txn.Ops = append(c.txn.Ops, o)
	return false
}

func (s *columnStore) commit(c *columnClient) {
	for id := range c.own {
		if !s.blind && s.changed[id] > c.txn.Start {
			c.txn.Status = event.Aborted
			return
		}
	}
	if s.rng.IntN(12) == 0 {
		c.txn.Status = event.Aborted
		return
	}
	for id, r := range c.own {
		s.rows[id], s.changed[id] = r, s.now
	}
}

// TestColumns: histories of stores whose clients record columns under keys of their own, with the version of
// the row. What is reported has no order, and what is said to hold has one: values are unique, and
// the trial of all orders looks at them.
func TestColumns(t *testing.T) {
	said, found := map[string]int{}, 0
	for i := range seeds(t, 2000) {
		rng := rand.New(rand.NewPCG(uint64(i), 67))
		h := columnHistory(rng)
		cfg := exact()
		if i%2 == 0 {
			cfg = windowed(rng)
		}
		cfg.Levels = exactAt(i / 2).Levels
		cfg.Contract.Observed = rng.IntN(2) == 0
		perm, restarts := arrival(rng, len(h)), rng.IntN(3) == 0
		fails := func(h oracle.History, perm []int) string {
			m, why := kindsRun(t, cfg, h, perm, restarts)
			if why != "" {
				return why
			}
			found += int(m.Totals().OfRows)
			return impossible(m, unversioned(h), i, said, oracle.Possible, byCause(&cfg))
		}
		if why := fails(h, perm); why != "" {
			t.Fatalf("history %d: %s\n%sarrived as %v", i, why, h.Text(), perm) // shrunk, keys would be of no rows
		}
	}
	if enough(t, 2000) && (said[window.OK] == 0 || said[window.Violated] == 0 || found == 0) {
		t.Errorf("verdicts %v, %d versions of rows", said, found)
	}
	t.Logf("verdicts %v, %d versions of rows", said, found)
}
