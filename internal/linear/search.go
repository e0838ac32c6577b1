package linear

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Verdict is the answer of [Check].
type Verdict uint8

const (
	Unknown Verdict = iota // the budget is used up
	Holds
	Fails
)

// Result is a verdict, and what it rests on.
type Result struct {
	Verdict Verdict
	// Order holds indexes of operations. If the verdict is Holds, it is an order that explains
	// the results. Otherwise it has the longest beginning that was found.
	Order []int
}

// Check decides ops within a budget of steps.
func Check(ops []Op, budget int) Result {
	s := newSearch(ops)
	return s.run(budget)
}

// event is a call or a return, in the list of events that have no place yet.
type event struct {
	at         int64
	op         int32
	returns    bool
	prev, next int32
	match      int32 // of a call: its return
}

type search struct {
	ops    []Op
	events []event // events[0] is the head of the list
	done   []uint64
	seen   map[string]struct{}
	key    []byte
	stack  []choice
	state  string
	best   []int
}

// choice is a call that was put next in the order, and the state before it.
type choice struct {
	event int32
	state string
}

func newSearch(ops []Op) *search {
	s := &search{ops: ops, events: make([]event, 1, 2*len(ops)+1), done: make([]uint64, (len(ops)+63)/64), seen: map[string]struct{}{}}
	for i := range ops {
		end := ops[i].Return
		if ops[i].Open {
			end = math.MaxInt64
		}
		s.events = append(s.events, event{at: ops[i].Call, op: int32(i)}, event{at: end, op: int32(i), returns: true})
	}
	slices.SortStableFunc(s.events[1:], func(a, b event) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		if a.returns != b.returns { // who returns when another calls is not before it
			if a.returns {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.op, b.op)
	})
	calls := make([]int32, len(ops))
	for i := range s.events {
		e := &s.events[i]
		e.prev, e.next = int32(i)-1, int32(i)+1
		switch {
		case i == 0:
		case e.returns:
			s.events[calls[e.op]].match = int32(i)
		default:
			calls[e.op] = int32(i)
		}
	}
	s.events[len(s.events)-1].next = 0
	return s
}

// lift takes the call at i and its return out of the list.
func (s *search) lift(i int32) {
	for _, j := range []int32{i, s.events[i].match} {
		e := &s.events[j]
		s.events[e.prev].next = e.next
		if e.next != 0 {
			s.events[e.next].prev = e.prev
		}
	}
}

// unlift puts them back.
func (s *search) unlift(i int32) {
	for _, j := range []int32{s.events[i].match, i} {
		e := &s.events[j]
		s.events[e.prev].next = j
		if e.next != 0 {
			s.events[e.next].prev = j
		}
	}
}

func (s *search) run(budget int) Result {
	at := s.events[0].next
	for {
		if s.events[0].next == 0 || !s.anyClosed() {
			return Result{Verdict: Holds, Order: s.order()}
		}
		if budget--; budget < 0 {
			return Result{Verdict: Unknown, Order: s.best}
		}
		if at != 0 && !s.events[at].returns {
			op := s.events[at].op
			if next, ok := apply(s.state, &s.ops[op]); ok && s.first(op, next) {
				s.stack = append(s.stack, choice{at, s.state})
				s.state = next
				s.lift(at)
				at = s.events[0].next
				continue
			}
			at = s.events[at].next
			continue
		}
		if at != 0 && len(s.stack) >= len(s.best) {
			s.best = s.order()
		}
		k := len(s.stack) - 1
		if k < 0 {
			return Result{Verdict: Fails, Order: s.best}
		}
		c := s.stack[k]
		s.stack = s.stack[:k]
		s.state = c.state
		op := s.events[c.event].op
		s.done[op/64] &^= 1 << (op % 64)
		s.unlift(c.event)
		at = s.events[c.event].next
	}
}

// anyClosed says whether an operation whose client heard of it is left. Each of the others may
// never have taken effect.
func (s *search) anyClosed() bool {
	for i := s.events[0].next; i != 0; i = s.events[i].next {
		if !s.ops[s.events[i].op].Open {
			return true
		}
	}
	return false
}

// first marks op as done, and says whether that set of operations leads to that
// state for the first time.
func (s *search) first(op int32, state string) bool {
	s.done[op/64] |= 1 << (op % 64)
	s.key = s.key[:0]
	for _, w := range s.done {
		for b := 0; b < 64; b += 8 {
			s.key = append(s.key, byte(w>>b))
		}
	}
	s.key = append(s.key, state...)
	if _, known := s.seen[string(s.key)]; known {
		s.done[op/64] &^= 1 << (op % 64)
		return false
	}
	s.seen[strings.Clone(string(s.key))] = struct{}{}
	return true
}

func (s *search) order() []int {
	order := make([]int, len(s.stack))
	for i, c := range s.stack {
		order[i] = int(s.events[c.event].op)
	}
	return order
}
