package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// Options say what random histories hold. Shares are chances per transaction or
// operation.
type Options struct {
	Min, Max  int  // transactions
	Keys      int  // of each kind
	Sessions  int  // 0: none
	Registers bool // keys x0, x1, ...
	Lists     bool // keys l0, l1, ...

	Aborted float64
	Unknown float64
	Blind   float64 // a register write without a read of the key before it
	Repeat  float64 // a write of a value that was written before
	Corrupt float64 // a history in which something is changed afterwards
}

// Small are options for histories that Possible can decide, of both kinds, with
// the order of every register known.
func Small() Options {
	return Options{Min: 3, Max: 6, Keys: 2, Sessions: 2, Registers: true, Lists: true,
		Aborted: 0.08, Unknown: 0.08, Corrupt: 0.4}
}

// Wide are options for histories of 3 to 12 transactions with everything in
// them: blind writes and repeated values as well.
func Wide() Options {
	return Options{Min: 3, Max: 12, Keys: 3, Sessions: 3, Registers: true, Lists: true,
		Aborted: 0.08, Unknown: 0.1, Blind: 0.1, Repeat: 0.03, Corrupt: 0.4}
}

// policy says what the simulated store does with concurrent transactions.
type policy uint8

const (
	serial     policy = iota // one after the other
	snapshot                 // snapshots; the first committer wins
	noConflict               // snapshots; the last committer wins
	live                     // every operation acts on the shared state at once
	policies
)

// simulation runs transactions one operation at a time in a random order.
type simulation struct {
	rng     *rand.Rand
	opt     Options
	policy  policy
	now     int64 // ticks; one for each operation
	state   state
	changed map[string]int64 // key -> tick of its last install
	value   int64            // the last value written
	used    map[string][]int64
}

// client is a transaction while it runs.
type client struct {
	txn      workload.Txn
	plan     []workload.Op // what is left to do, without results
	begun    int64         // tick of the first operation
	snapshot state
	own      map[string][]int64
	effect   bool
}

// tick is the length of a simulated tick in ns.
const tick = 1_000_000

// Random makes a small history on a store that is serial, snapshot isolated or
// plainly broken, and in some cases changes it afterwards. With Small about half
// of them are serializable. Transactions are in the order of their ends; their
// times are consistent with the sessions.
func Random(rng *rand.Rand, opt Options) History {
	s := simulation{rng: rng, opt: opt, policy: policy(rng.IntN(int(policies))), state: state{},
		changed: map[string]int64{}, used: map[string][]int64{}}
	n := opt.Min + rng.IntN(opt.Max-opt.Min+1)
	width := 1
	if s.policy != serial {
		width = 2 + rng.IntN(3)
	}
	var waiting []*client
	for range n {
		waiting = append(waiting, s.newClient())
	}
	var h History
	for len(waiting) > 0 {
		at := rng.IntN(min(width, len(waiting)))
		c := waiting[at]
		s.now++
		if s.advance(c) {
			h = append(h, c.txn)
			waiting = slices.Delete(waiting, at, at+1)
		}
	}
	s.finish(h)
	if rng.Float64() < opt.Corrupt {
		for range 1 + rng.IntN(2) {
			s.corrupt(h)
		}
	}
	return h
}

// newClient plans a transaction of one to four operations, one more for each
// register write that needs a read before it.
func (s *simulation) newClient() *client {
	c := &client{own: map[string][]int64{}, effect: true}
	c.txn.Status = event.Committed
	switch u := s.rng.Float64(); {
	case u < s.opt.Aborted:
		c.txn.Status, c.effect = event.Aborted, false
	case u < s.opt.Aborted+s.opt.Unknown:
		c.txn.Status, c.effect = event.Unknown, s.rng.IntN(2) == 0
	}
	read := map[string]bool{}
	for range 1 + s.rng.IntN(4) {
		list := s.opt.Lists && (!s.opt.Registers || s.rng.IntN(2) == 0)
		n, write := s.rng.IntN(s.opt.Keys), s.rng.IntN(2) == 0
		key := fmt.Sprintf("x%d", n)
		if list {
			key = fmt.Sprintf("l%d", n)
		}
		switch {
		case list && write:
			c.plan = append(c.plan, workload.Append(key, 0))
			continue
		case list:
			c.plan = append(c.plan, workload.ReadList(key))
			continue
		}
		if !write || !read[key] && s.rng.Float64() >= s.opt.Blind {
			c.plan = append(c.plan, workload.ReadAbsent(key))
			read[key] = true
		}
		if write {
			c.plan = append(c.plan, workload.Write(key, 0))
		}
	}
	return c
}

// advance runs c's next operation, or commits it when none is left, and says
// whether c has finished.
func (s *simulation) advance(c *client) bool {
	if c.begun == 0 {
		c.begun = s.now
		c.txn.Start = s.now
		c.snapshot = state{}
		for k, v := range s.state {
			c.snapshot[k] = v
		}
	}
	if len(c.plan) == 0 {
		s.commit(c)
		c.txn.End = s.now + 1
		return true
	}
	o := c.plan[0]
	c.plan = c.plan[1:]
	view := c.snapshot
	if s.policy == live {
		view = s.state
	}
	switch o.Kind {
	case event.Write:
		o.Value = s.nextValue(o.Key)
		view[o.Key] = []int64{o.Value}
		c.own[o.Key] = []int64{o.Value}
	case event.Append:
		o.Value = s.nextValue(o.Key)
		view[o.Key] = append(slices.Clone(view[o.Key]), o.Value)
		c.own[o.Key] = append(c.own[o.Key], o.Value)
	default:
		seen := view[o.Key]
		if o.IsList {
			o.List = slices.Clone(seen)
		} else if len(seen) > 0 {
			o.Absent, o.Value = false, seen[0]
		}
	}
	c.txn.Ops = append(c.txn.Ops, o)
	return false
}

// nextValue is a fresh value, or now and then one that the key has had.
func (s *simulation) nextValue(key string) int64 {
	if old := s.used[key]; len(old) > 0 && s.rng.Float64() < s.opt.Repeat {
		return old[s.rng.IntN(len(old))]
	}
	s.value++
	s.used[key] = append(s.used[key], s.value)
	return s.value
}

// commit installs c's writes as the policy has it.
func (s *simulation) commit(c *client) {
	if s.policy == live {
		return // done already, whatever the outcome
	}
	conflict := false
	for key := range c.own {
		conflict = conflict || s.changed[key] > c.begun
	}
	if conflict && s.policy == snapshot {
		c.effect = false
		if c.txn.Status == event.Committed {
			c.txn.Status = event.Aborted
		}
	}
	if !c.effect {
		return
	}
	for key, own := range c.own {
		if key[0] == 'l' {
			s.state[key] = append(slices.Clone(s.state[key]), own...)
		} else {
			s.state[key] = own
		}
		s.changed[key] = s.now
	}
}

// finish widens the intervals, numbers the transactions and puts most of them
// into sessions.
func (s *simulation) finish(h History) {
	order := make([]int, len(h))
	for i := range h {
		h[i].Start = 1000 + 4*h[i].Start - s.rng.Int64N(12)
		h[i].End = 1000 + 4*h[i].End + s.rng.Int64N(12)
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(h[a].Start - h[b].Start) })
	type last struct{ seq, end int64 }
	sessions := make([]last, s.opt.Sessions)
	for n, i := range order {
		h[i].ID = fmt.Sprintf("T%d", n+1)
		for _, k := range s.rng.Perm(len(sessions)) {
			if sessions[k].end <= h[i].Start && s.rng.IntN(10) < 8 {
				sessions[k] = last{sessions[k].seq + 1, h[i].End}
				h[i].Session, h[i].Seq = fmt.Sprintf("s%d", k), sessions[k].seq
				break
			}
		}
	}
	slices.SortStableFunc(h, func(a, b workload.Txn) int { return int(a.End - b.End) })
	for i := range h {
		h[i].Start, h[i].End = h[i].Start*tick, h[i].End*tick
	}
}
