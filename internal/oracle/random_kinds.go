package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// Kinds say which operations a history of [RandomKinds] holds, beside reads and
// writes of registers.
type Kinds struct {
	CAS, Deletes, Ranges, Sets, Removes, Counters bool
	Lists, ListDeletes                            bool    // the latter: lists that are deleted
	Totals                                        bool    // counters, between which is transferred
	Counted                                       bool    // counters tell their versions, and which one an increment replaced
	Untold                                        float64 // an operation on such a counter tells less
	Versions                                      bool    // registers have versions, numbered as they are installed
	Timestamps                                    bool    // as Versions, and all that a transaction wrote has one number, which reads do not show
	Repeated                                      bool    // registers hold few values, and sets few elements: many writes leave one
	Blind                                         float64 // a register write without a read of the key before it
	Aborted, Unknown                              float64
	Corrupt                                       float64
	Retried                                       float64 // one that did not commit: a later one writes, appends and adds the same
}

// RandomKinds makes a history of 3 to 6 transactions as [Random] does, with
// operations of the kinds that are asked for: registers x0 to x2, sets s0 and s1,
// counters c0 and c1, lists l0 and l1.
func RandomKinds(rng *rand.Rand, k Kinds) History {
	opt := Options{Min: 3, Max: 6, Keys: 3, Sessions: 2, Registers: true, Aborted: k.Aborted, Unknown: k.Unknown}
	s := kindSimulation{simulation{rng: rng, opt: opt, policy: policy(rng.IntN(int(policies))), state: state{},
		changed: map[string]int64{}, used: map[string][]int64{}}, k, nil, nil, 0}
	var waiting []*client
	for range opt.Min + rng.IntN(opt.Max-opt.Min+1) {
		waiting = append(waiting, s.client())
	}
	width := 3
	if s.policy == serial {
		width = 1
	}
	var h History
	for len(waiting) > 0 {
		at := rng.IntN(min(width, len(waiting)))
		c := waiting[at]
		s.now++
		if s.step(c) {
			h = append(h, c.txn)
			waiting = slices.Delete(waiting, at, at+1)
			if again := s.again(&c.txn); again != nil && len(h)+len(waiting) < maxBrute {
				waiting = append(waiting, again)
			}
		}
	}
	s.finish(h)
	if k.Versions {
		s.number(h)
	}
	if k.Timestamps {
		s.stamp(h)
	}
	if rng.Float64() < k.Corrupt {
		s.spoil(h)
	}
	if k.Repeated {
		repeat(h, int64(2+rng.IntN(2)))
	}
	return h
}

// repeat leaves so many values of registers, and elements of sets.
func repeat(h History, values int64) {
	few := func(v *int64) {
		if *v != garbage {
			*v = 1 + *v%values
		}
	}
	for i := range h {
		for j := range h[i].Ops {
			o := &h[i].Ops[j]
			for r := range o.Rows {
				few(&o.Rows[r].Value)
			}
			for _, m := range []*workload.Maybe{&o.Expected, &o.Seen} {
				if m.Known && !m.Nothing {
					few(&m.Value)
				}
			}
			switch {
			case o.Data == event.Set:
				o.List = slices.Clone(o.List)
				for e := range o.List {
					few(&o.List[e])
				}
				slices.Sort(o.List)
				o.List = slices.Compact(o.List)
			case o.Kind == event.Write, o.Kind == event.Insert, o.Kind == event.CAS, o.Kind == event.Add, o.Kind == event.Remove,
				o.Kind == event.Read && o.Data == event.AnyKind && !o.IsList && !o.Absent:
				few(&o.Value)
			}
		}
	}
}

type kindSimulation struct {
	simulation
	kinds     Kinds
	installed []int64 // values of registers, in order
	versions  map[int64]int64
	counts    int64 // versions of counters so far
}

// number gives the values that were installed their versions, wherever they are
// written or read. Some are higher than that of the next one by mistake.
func (s *kindSimulation) number(h History) {
	versions := map[int64]int64{}
	s.versions = versions
	for i, v := range s.installed {
		versions[v] = int64(10 * (i + 1))
		if s.rng.Float64() < s.kinds.Corrupt/20 {
			versions[v] += 15
		}
	}
	for i := range h {
		for j := range h[i].Ops {
			if o := &h[i].Ops[j]; o.Kind == event.Write || o.Kind == event.Insert || o.Kind == event.Read && !o.Absent && o.Data == event.AnyKind {
				o.Version = versions[o.Value]
			}
			for r := range h[i].Ops[j].Rows { // most of them: a row may tell no version
				if row := &h[i].Ops[j].Rows[r]; s.rng.IntN(8) > 0 {
					row.Version = versions[row.Value]
				}
			}
		}
	}
}

// stamp gives each transaction that installed something the number of the last of it, as
// a commit timestamp, but for one in five.
func (s *kindSimulation) stamp(h History) {
	s.number(h)
	s.versions = nil
	for i := range h {
		at := int64(0)
		for j := range h[i].Ops {
			if o := &h[i].Ops[j]; o.Kind != event.Read {
				at = max(at, o.Version)
			}
		}
		if s.rng.IntN(5) == 0 {
			at = 0
		}
		for j := range h[i].Ops {
			if o := &h[i].Ops[j]; o.Kind != event.Read {
				o.Version = at
			} else {
				o.Version = 0
			}
		}
	}
}

// client plans a transaction of one to three operations.
func (s *kindSimulation) client() *client {
	c := &client{own: map[string][]int64{}, effect: true}
	c.txn.Status = event.Committed
	switch u := s.rng.Float64(); {
	case u < s.opt.Aborted:
		c.txn.Status, c.effect = event.Aborted, false
	case u < s.opt.Aborted+s.opt.Unknown:
		c.txn.Status, c.effect = event.Unknown, s.rng.IntN(2) == 0
	}
	for range 1 + s.rng.IntN(3) {
		c.plan = append(c.plan, s.operations()...)
	}
	return c
}

// again is who tries again what t did, if t did not commit and is retried: it writes, appends and adds
// the same values. nil if nobody does.
func (s *kindSimulation) again(t *workload.Txn) *client {
	if s.kinds.Retried == 0 || t.Status == event.Committed || s.rng.Float64() >= s.kinds.Retried {
		return nil
	}
	c := &client{own: map[string][]int64{}, effect: true}
	c.txn.Status = event.Committed
	for _, o := range t.Ops { // its results are new ones
		switch o.Kind {
		case event.Read, event.Range, event.CAS, event.Remove, event.Delete:
			o.Value = 0
		}
		o.List, o.Rows, o.Version, o.PrevVersion = nil, nil, 0, 0
		o.Success, o.Expected, o.Seen = false, workload.Maybe{}, workload.Maybe{}
		o.Absent = o.Kind == event.Read && !o.IsList && o.Data == event.AnyKind
		c.plan = append(c.plan, o)
	}
	return c
}

// newValue gives o a fresh value, if it has none of its own.
func (s *kindSimulation) newValue(o *workload.Op) {
	if o.Value == 0 {
		o.Value = s.nextValue(o.Key)
	}
}

// operations are one of the kinds asked for, chosen at random.
func (s *kindSimulation) operations() []workload.Op {
	x, k := fmt.Sprintf("x%d", s.rng.IntN(3)), &s.kinds
	set, counter := fmt.Sprintf("s%d", s.rng.IntN(2)), fmt.Sprintf("c%d", s.rng.IntN(2))
	write := workload.Write(x, 0)
	choices := [][]workload.Op{{workload.ReadAbsent(x)}, {workload.ReadAbsent(x), write}}
	if s.rng.Float64() < k.Blind {
		write.Kind = []event.OpKind{event.Write, event.Insert}[s.rng.IntN(2)]
		choices = [][]workload.Op{{write}}
	}
	if k.CAS {
		choices = append(choices, []workload.Op{{Kind: event.CAS, Key: x}}, []workload.Op{{Kind: event.CAS, Key: x}})
	}
	if k.Deletes {
		choices = append(choices, []workload.Op{workload.ReadAbsent(x), {Kind: event.Delete, Key: x}})
	}
	if k.Ranges {
		r := workload.Op{Kind: event.Range}
		if s.rng.IntN(2) == 0 {
			r.From = fmt.Sprintf("x%d", s.rng.IntN(3))
		}
		if s.rng.IntN(2) == 0 {
			r.To = fmt.Sprintf("x%d", s.rng.IntN(4))
		}
		r.Desc, r.Limit = s.rng.IntN(2) == 0, int64(max(0, s.rng.IntN(4)-1))
		choices = append(choices, []workload.Op{r}, []workload.Op{r})
	}
	if k.Sets {
		read := workload.Op{Kind: event.Read, Key: set, Other: workload.Other{Data: event.Set}}
		choices = append(choices, []workload.Op{{Kind: event.Add, Key: set}}, []workload.Op{read}, []workload.Op{read, {Kind: event.Add, Key: set}})
		if k.Removes {
			choices = append(choices, []workload.Op{read, {Kind: event.Remove, Key: set}})
		}
	}
	if k.Counters {
		choices = append(choices, []workload.Op{{Kind: event.Inc, Key: counter}},
			[]workload.Op{{Kind: event.Read, Key: counter, Other: workload.Other{Data: event.Counter}}})
	}
	if k.Lists {
		list := fmt.Sprintf("l%d", s.rng.IntN(2))
		read := workload.Op{Kind: event.Read, Key: list, IsList: true}
		app := workload.Op{Kind: event.Append, Key: list}
		choices = append(choices, []workload.Op{app}, []workload.Op{read}, []workload.Op{read, app}, []workload.Op{app, read})
		if k.ListDeletes {
			choices = append(choices, []workload.Op{{Kind: event.Delete, Key: list}})
		}
	}
	if k.Totals {
		n, read := int64(1+s.rng.IntN(3)), workload.Other{Data: event.Counter}
		transfer := []workload.Op{{Kind: event.Inc, Key: "c0", Value: -n}, {Kind: event.Inc, Key: "c1", Value: n}}
		both := []workload.Op{{Kind: event.Read, Key: "c0", Other: read}, {Kind: event.Read, Key: "c1", Other: read}}
		choices = [][]workload.Op{choices[0], transfer, transfer, both, both}
	}
	return choices[s.rng.IntN(len(choices))]
}

// step runs c's next operation, or commits it when none is left, and says whether
// c has finished.
func (s *kindSimulation) step(c *client) bool {
	if c.begun == 0 {
		c.begun, c.txn.Start = s.now, s.now
		c.snapshot = state{}
		for k, v := range s.state {
			c.snapshot[k] = v
		}
	}
	if len(c.plan) == 0 {
		s.commitKinds(c)
		c.txn.End = s.now + 1
		return true
	}
	o := c.plan[0]
	c.plan = c.plan[1:]
	view := c.snapshot
	if s.policy == live {
		view = s.state
	}
	if s.perform(&o, view) {
		c.own[cellOf(&o)] = view[cellOf(&o)]
	}
	c.txn.Ops = append(c.txn.Ops, o)
	return false
}

// perform does o on the view, fills in its result, and says whether it changed
// something.
func (s *kindSimulation) perform(o *workload.Op, view state) bool {
	now := view[o.Key]
	switch o.Kind {
	case event.Write, event.Insert:
		s.newValue(o)
		view[o.Key] = []int64{o.Value}
		if s.policy == live {
			s.installed = append(s.installed, o.Value)
		}
	case event.Append:
		s.newValue(o)
		view[o.Key] = append(slices.Clone(now), o.Value)
	case event.Delete:
		view[o.Key] = nil
	case event.Add:
		s.newValue(o)
		view[cellOf(o)] = []int64{o.Value}
	case event.Remove:
		elems := setOf(o.Key, view, nil)
		if len(elems) == 0 {
			o.Value = s.nextValue(o.Key) // not there
		} else {
			o.Value = elems[s.rng.IntN(len(elems))]
		}
		view[cellOf(o)] = nil
	case event.Inc:
		if o.Value == 0 {
			o.Value = int64(1 + s.rng.IntN(3))
		}
		view[o.Key] = []int64{counted(now) + o.Value}
		if s.kinds.Counted {
			s.counts++
			view[o.Key] = append(view[o.Key], s.counts)
			s.tell(o, s.counts, versionAt(now))
		}
	case event.CAS:
		s.compareAndSet(o, view)
	case event.Range:
		o.Rows = rangeOf(o, view, nil, false)
	default:
		switch {
		case o.IsList:
			o.List = slices.Clone(now)
		case o.Data == event.Set:
			o.List = setOf(o.Key, view, nil)
		case o.Data == event.Counter:
			o.Value, o.Absent = counted(now), s.kinds.Counted && len(now) == 0
			s.tell(o, versionAt(now), 0)
		case len(now) > 0:
			o.Absent, o.Value = false, now[0]
		}
	}
	return changes(o)
}

func (s *kindSimulation) compareAndSet(o *workload.Op, view state) {
	now := view[o.Key]
	o.Value = s.nextValue(o.Key)
	is := workload.Nothing()
	if len(now) > 0 {
		is = workload.Value(now[0])
	}
	if o.Success = s.rng.IntN(4) > 0; o.Success {
		o.Expected = is
		view[o.Key] = []int64{o.Value}
		return
	}
	o.Expected = workload.Value(garbage)
	if s.rng.IntN(4) > 0 {
		o.Seen = is
	}
}

// commitKinds installs what c wrote as the policy has it.
func (s *kindSimulation) commitKinds(c *client) {
	if s.policy == live {
		return
	}
	conflict := false
	for cell := range c.own {
		conflict = conflict || s.changed[cell] > c.begun
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
	for _, o := range c.txn.Ops {
		cell := cellOf(&o)
		if now, own := c.own[cell]; own && changes(&o) {
			s.state[cell], s.changed[cell] = now, s.now
			if len(now) > 0 && now[0] == o.Value {
				s.installed = append(s.installed, o.Value)
			}
		}
	}
}

// spoil changes one result.
func (s *kindSimulation) spoil(h History) {
	t := &h[s.rng.IntN(len(h))]
	o := &t.Ops[s.rng.IntN(len(t.Ops))]
	switch {
	case o.Kind == event.Range && len(o.Rows) > 0:
		o.Rows = slices.Delete(slices.Clone(o.Rows), 0, 1)
	case (o.Data == event.Set || o.IsList) && len(o.List) > 0:
		o.List = o.List[:len(o.List)-1]
	case o.Data == event.Counter && o.Absent:
		o.Absent, o.Value = false, 1
	case o.Data == event.Counter && o.Version > 0 && s.rng.IntN(2) == 0:
		o.Version = 1 + s.rng.Int64N(s.counts)
	case o.Data == event.Counter:
		o.Value += int64(s.rng.IntN(3)) - 1
	case o.Kind == event.Inc && o.PrevVersion > 0 && s.rng.IntN(2) == 0:
		if o.PrevVersion = 1 + s.rng.Int64N(s.counts); o.PrevVersion == o.Version {
			o.PrevVersion = 0 // as it is read: see format.md
		}
	case o.Kind == event.CAS && o.Seen.Known:
		o.Seen = workload.Nothing()
	case o.Kind == event.Read && o.Data == event.AnyKind && !o.IsList:
		s.corruptRegister(o)
		if o.Version = s.versions[o.Value]; o.Absent {
			o.Version = 0
		}
	default:
		t.Status = event.Status(1 + s.rng.IntN(3))
	}
}
