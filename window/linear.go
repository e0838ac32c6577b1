package window

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/linear"
)

// Linearizability is decided at the end of a whole history, key by key: what a
// transaction did to the key is one operation, between its start and its end (package
// linear). It costs nothing unless the level is asked for.

// linearBudget is how many steps the search for an order of one key may take.
const linearBudget = 5_000_000

// linearized is the outcome.
type linearized struct {
	done   bool
	Why    string // why it is not known, "" if it is
	failed bool
}

// linearKey is the operations on one key.
type linearKey struct {
	name string
	ops  []linear.Op
	txns []uint32
}

// linearize decides all keys.
func (m *Machine) linearize() {
	l := isolation.Level{Special: isolation.Linearizable}
	m.linear = linearized{}
	if !m.cfg.Unbounded || !slices.Contains(m.cfg.Levels, l) {
		return
	}
	m.linear.done = true
	c := m.infer.Counters
	if t := m.cfg.Contract; !t.Complete || t.Existing || t.UnmonitoredWriters || c.Gaps+c.Contradictory+m.Counters.DeadLetters > 0 {
		m.linear.Why = "operations on the keys may be missing"
		return // what is missing may have written what was read
	}
	for _, k := range m.linearKeys() {
		if !m.linearOne(&k) {
			return
		}
	}
}

// linearOne decides one key; false when no other needs to be.
func (m *Machine) linearOne(k *linearKey) bool {
	r := linear.Check(k.ops, linearBudget)
	switch r.Verdict {
	case linear.Holds:
		return true
	case linear.Unknown:
		m.linear.Why = fmt.Sprintf("no order of the operations on %s was found within the budget", k.name)
		return true
	}
	at, refuted := linear.Refute(k.ops, linearBudget)
	if !refuted {
		m.linear.Why = fmt.Sprintf("that the operations on %s have no order was not confirmed within the budget", k.name)
		return true
	}
	m.linear.failed = true
	m.reportLinear(k, at, r.Order)
	return true
}

// linearKeys are the keys in the order of their names.
func (m *Machine) linearKeys() []linearKey {
	at := map[string]int{}
	var keys []linearKey
	m.infer.EachTaken(func(n uint32) {
		r := m.record(n)
		if r.Flags&event.Stale != 0 {
			return
		}
		if r.Flags&event.HasTimes == 0 {
			m.linear.Why = "transactions without start and end"
			return
		}
		steps := map[string][]linear.Step{}
		var order []string
		for i := range r.Ops {
			o := &r.Ops[i]
			s, ok := linearStep(o, r.Status == event.Unknown)
			if !ok {
				m.linear.Why = fmt.Sprintf("operations of the kind %s", o.Kind)
				continue
			}
			if steps[o.Key] == nil {
				order = append(order, o.Key)
			}
			if s != nil {
				steps[o.Key] = append(steps[o.Key], *s)
			}
		}
		for _, key := range order {
			if len(steps[key]) == 0 {
				continue
			}
			name := r.Epoch + "\x00" + key
			i, known := at[name]
			if !known {
				i = len(keys)
				at[name] = i
				keys = append(keys, linearKey{name: key})
			}
			keys[i].ops = append(keys[i].ops, linear.Op{Call: r.Start, Return: r.End, Open: r.Status == event.Unknown, Steps: steps[key]})
			keys[i].txns = append(keys[i].txns, n)
		}
	})
	slices.SortStableFunc(keys, func(a, b linearKey) int { return strings.Compare(a.name, b.name) })
	return keys
}

// linearStep is the operation as package linear wants it: nil for one that says
// nothing, ok false for a kind that is no register's or list's.
func linearStep(o *event.RecordOp, unknown bool) (s *linear.Step, ok bool) {
	missing := o.Flags&event.NotFound != 0
	switch o.Kind {
	case event.Read:
		switch {
		case o.Data == event.Set || o.Data == event.Counter:
			return nil, false
		case unknown:
			return nil, true // what it would have seen at its place is not known
		case o.Flags&event.IsArray != 0:
			return &linear.Step{Kind: linear.ReadList, List: o.Elems}, true
		}
		return &linear.Step{Kind: linear.Read, Value: o.Value, Nothing: missing}, true
	case event.Write, event.Insert:
		if elems, array := arrayOf(o); array {
			return &linear.Step{Kind: linear.WriteList, List: elems}, true
		}
		return &linear.Step{Kind: linear.Write, Value: o.Value}, true
	case event.Append:
		return &linear.Step{Kind: linear.Append, Value: o.Value}, true
	case event.CAS:
		s = &linear.Step{Kind: linear.CAS, Expected: o.Expected, Value: o.Value, Success: o.Flags&event.Success != 0, Guess: unknown}
		if o.Seen != "" {
			s.HasSeen, s.Seen = true, o.Seen
		}
		return s, true
	}
	return nil, false
}

// arrayOf are the elements of a value that is an array.
func arrayOf(o *event.RecordOp) (elems []string, ok bool) {
	if o.Flags&event.IsArray != 0 {
		return o.Elems, true
	}
	var raw []json.RawMessage
	if !strings.HasPrefix(o.Value, "[") || json.Unmarshal([]byte(o.Value), &raw) != nil {
		return nil, false
	}
	for _, r := range raw {
		elems = append(elems, string(r))
	}
	return elems, true
}

// maxLinearMembers bounds the transactions that such a finding names.
const maxLinearMembers = 12

// reportLinear reports that the operations on k have no order: the one whose return
// leaves nothing possible, those that ran beside it, and the last ones that do fit.
func (m *Machine) reportLinear(k *linearKey, at int, order []int) {
	stuck := k.ops[at]
	members := []uint32{k.txns[at]}
	take := func(i int) {
		if n := k.txns[i]; len(members) < maxLinearMembers && !slices.Contains(members, n) {
			members = append(members, n)
		}
	}
	for i := len(order) - 1; i >= max(0, len(order)-3); i-- {
		if !k.ops[order[i]].Open {
			take(order[i])
		}
	}
	for i := range k.ops {
		if o := &k.ops[i]; i != at && !o.Open && o.Call <= stuck.Return && o.Return >= stuck.Call {
			take(i)
		}
	}
	f := &openFinding{members: members}
	f.Finding.Certain = true
	w := isolation.Witness{Anomaly: infer.Nonlinearizable, Key: k.name}
	for _, n := range members {
		w.Txns = append(w.Txns, m.record(n))
	}
	m.publish(f, isolation.NameLinear(), &w)
}

// linearReason says why linearizability is not known, "" if it is.
func (m *Machine) linearReason() string {
	switch {
	case !m.cfg.Unbounded:
		return "linearizability is decided for whole histories"
	case !m.linear.done:
		return "the history has not ended"
	}
	return m.linear.Why
}
