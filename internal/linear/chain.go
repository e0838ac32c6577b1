package linear

import "math"

// Chain decides the operations on one register by MTC's algorithm 2 (section IV-E). Every value
// must have one writer that says what it replaced. Then the operations have one order, by what
// they replaced and read, and it must not contradict real time. Expected O(n). The verdict is
// Unknown for operations that are not such a chain. [Check] can decide these: lists, and values
// that are written twice. It can also decide more than one write that does not say what it
// replaced, and failed cas that do not say what they saw.
func Chain(ops []Op) Verdict {
	c := chain{ops: ops, effects: make([]effect, len(ops)), writer: map[string]int{}, readers: map[string][]int{}, next: map[string]int{}}
	if !c.collect() {
		return Unknown
	}
	switch c.link() {
	case Unknown:
		return Unknown
	case Fails:
		return Fails
	}
	return c.order()
}

// effect is an operation's effect on the register: values as states of [apply], with nothing
// for the state before the first write.
type effect struct {
	reads, writes bool
	read, written string
	placed        bool // in the chain
}

type chain struct {
	ops     []Op
	effects []effect
	writer  map[string]int   // by value
	readers map[string][]int // by value: who read and did not write
	next    map[string]int   // by value: the step that replaced it
	root    int              // the first writer, -1 if there is none
}

// effectOf sums up the steps of op; ok is false where they do not belong to a chain, or
// contradict each other.
func effectOf(op *Op) (e effect, ok bool) {
	state, known := "", false
	saw := func(v string) bool {
		if known {
			return v == state
		}
		e.reads, e.read, state, known = true, v, v, true
		return true
	}
	for i := range op.Steps {
		s := &op.Steps[i]
		expected := valueOrNothing(s.Expected)
		switch {
		case s.Guess && len(op.Steps) > 1:
			return e, false
		case s.Kind == Read && s.Nothing:
			ok = saw(nothing)
		case s.Kind == Read:
			ok = saw(register + s.Value)
		case s.Kind == Write:
			ok = true
			state, known = register+s.Value, true
			e.writes, e.written = true, state
		case s.Kind == CAS && (s.Success || s.Guess):
			ok = saw(expected)
			state = register + s.Value
			e.writes, e.written = true, state
		case s.Kind == CAS && s.HasSeen:
			v := valueOrNothing(s.Seen)
			ok = v != expected && saw(v)
		default:
			ok = s.Kind == CAS && known && state != expected
		}
		if !ok {
			return e, false
		}
	}
	return e, !e.writes || !e.reads || e.read != e.written
}

// valueOrNothing is the state that the text of a cas names.
func valueOrNothing(text string) string {
	if text == null {
		return nothing
	}
	return register + text
}

// collect finds the writer of every value; false if one has two.
func (c *chain) collect() bool {
	for i := range c.ops {
		e, ok := effectOf(&c.ops[i])
		if !ok {
			return false
		}
		if c.effects[i] = e; !e.writes {
			continue
		}
		if _, twice := c.writer[e.written]; twice || e.written == register+null {
			return false
		}
		c.writer[e.written] = i
	}
	return true
}

// link places the operations that took effect. Their client heard of it, or such operations
// rest on their values.
func (c *chain) link() Verdict {
	var todo []int
	for i := range c.ops {
		if !c.ops[i].Open {
			c.effects[i].placed = true
			todo = append(todo, i)
		}
	}
	c.root = -1
	blind, roots, failed := 0, 0, false
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		e := &c.effects[i]
		if e.writes && (!e.reads || e.read == nothing) {
			c.root = i
			if roots++; !e.reads {
				blind++
			}
			continue
		}
		if !e.reads && !e.writes {
			continue
		}
		if !e.writes {
			c.readers[e.read] = append(c.readers[e.read], i)
		} else if _, twice := c.next[e.read]; twice {
			failed = true // two replaced one value
		} else {
			c.next[e.read] = i
		}
		if !e.reads || e.read == nothing {
			continue
		}
		w, ok := c.writer[e.read]
		if !ok {
			failed = true // nobody wrote it
		} else if !c.effects[w].placed {
			c.effects[w].placed = true
			todo = append(todo, w)
		}
	}
	switch {
	case failed:
		return Fails
	case roots > 1 && blind > 0:
		return Unknown
	case roots > 1:
		return Fails // two found nothing and wrote
	}
	return Holds
}

// order walks down the chain, and then up against real time: nothing may begin after
// something behind it has ended.
func (c *chain) order() Verdict {
	groups := [][]int{c.readers[nothing]}
	placed := len(groups[0])
	for at := c.root; at >= 0; {
		v := c.effects[at].written
		groups = append(groups, []int{at}, c.readers[v])
		placed += 1 + len(c.readers[v])
		next, ok := c.next[v]
		if !ok {
			break
		}
		at = next
	}
	for i := range c.effects {
		if e := &c.effects[i]; e.placed && (e.reads || e.writes) {
			placed--
		}
	}
	if placed != 0 {
		return Fails // some hang together in a cycle, or by nothing
	}
	least := int64(math.MaxInt64)
	for g := len(groups) - 1; g >= 0; g-- {
		end := least
		for _, i := range groups[g] {
			if c.ops[i].Call > least {
				return Fails
			}
			if !c.ops[i].Open {
				end = min(end, c.ops[i].Return)
			}
		}
		least = end
	}
	return Holds
}
