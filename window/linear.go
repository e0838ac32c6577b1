package window

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/linear"
)

// Linearizability is about keys one by one: what a transaction did to the key is one
// operation, between its start and its end. It costs nothing unless the level is asked
// for.
//
// Where writers say what they replaced, a contradiction is found when the records come
// (internal/infer/linear/linear.go; MTC, algorithm 2). At the end of a whole history every key is
// decided, those with other operations by a search (package linear).

var linearizable = isolation.Level{Special: isolation.Linearizable}

// linearizes says whether the level is asked for.
func (o *core) linearizes() bool { return slices.Contains(o.cfg.Levels, linearizable) }

// linearBudget is how many steps the search for an order of one key may take.
const linearBudget = 5_000_000

// linearBytes bounds what it remembers: a bit an operation a step, and 256 bytes.
const linearBytes = 1 << 30

// linearized is the outcome.
type linearized struct {
	done bool
	Why  string // why it is not known, "" if it is
}

// linearKey is the operations on one key.
type linearKey struct {
	epoch, name string
	ops         []linear.Op
	txns        []uint32
}

// linearize decides all keys.
func (l *linearizing) linearize() {
	l.linear = linearized{}
	if !l.cfg.Unbounded || !l.linearizes() {
		return
	}
	l.linear.done = true
	c := l.infer.Counters
	if t := l.cfg.Contract; !t.Complete || t.Existing || t.UnmonitoredWriters || c.Missing() > 0 {
		l.linear.Why = "operations on the keys may be missing"
		return // what is missing may have written what was read
	}
	for _, k := range l.linearKeys() {
		if !l.linearOne(&k) {
			return
		}
	}
}

// linearOne decides one key; false when no other needs to be.
func (l *linearizing) linearOne(k *linearKey) bool {
	v := linear.Chain(k.ops)
	if v == linear.Holds || v == linear.Fails && l.reports.toldNonlinearizable(k) {
		return true
	}
	budget := min(linearBudget, linearBytes/(len(k.ops)/8+256))
	r := linear.Check(k.ops, budget)
	switch r.Verdict {
	case linear.Holds:
		return true
	case linear.Unknown:
		l.linear.Why = fmt.Sprintf("no order of the operations on %s was found within the budget", k.name)
		return true
	}
	at, refuted := linear.Refute(k.ops, budget)
	if !refuted {
		l.linear.Why = fmt.Sprintf("a search found no order of the operations on %s, and a second search did not confirm this within the budget", k.name)
		return true
	}
	if l.reports.toldNonlinearizable(k) {
		return true
	}
	l.reportLinear(k, at, r.Order)
	return true
}

// toldNonlinearizable says whether a contradiction on the key was found when its records
// came.
func (s *reports) toldNonlinearizable(k *linearKey) bool {
	about := func(f *finding.Finding) bool {
		return f.State != finding.Withdrawn && len(f.Edges) > 0 && f.Edges[0].Key == k.name && f.Epoch == k.epoch &&
			slices.Contains(f.Refutes, linearizable.String())
	}
	return slices.ContainsFunc(s.open.list, func(f *openFinding) bool { return !f.closed && about(&f.Finding) }) ||
		slices.ContainsFunc(s.open.recent, func(r recentFinding) bool { return about(&r.Finding) })
}

// linearKeys are the keys in the order of their names.
func (l *linearizing) linearKeys() []linearKey {
	at := map[string]int{}
	var keys []linearKey
	changed := map[string]bool{} // by epoch and key: a write is left out, so that nothing follows from the others
	l.infer.EachTaken(func(n uint32) {
		r := l.record(n)
		if r.Flags&event.Stale != 0 {
			return
		}
		if r.Flags&event.HasTimes == 0 {
			l.linear.Why = "transactions without start and end"
			return
		}
		steps := map[string][]linear.Step{}
		var order []string
		for i := range r.Ops {
			o := &r.Ops[i]
			s, ok := linearStep(o, r.Status == event.Unknown)
			if !ok {
				l.linear.Why = fmt.Sprintf("operations of the kind %s", o.Kind)
				changed[r.Epoch+"\x00"+o.Key] = changed[r.Epoch+"\x00"+o.Key] || o.Writes() || o.Kind == event.Inc
				continue
			}
			if s == nil {
				continue
			}
			if steps[o.Key] == nil {
				order = append(order, o.Key)
			}
			steps[o.Key] = append(steps[o.Key], *s)
		}
		for _, key := range order {
			name := r.Epoch + "\x00" + key
			i, known := at[name]
			if !known {
				i = len(keys)
				at[name] = i
				keys = append(keys, linearKey{epoch: r.Epoch, name: key})
			}
			op := linear.Op{Call: r.Start, Return: r.End + int64(l.cfg.Contract.ClockDrift), Steps: steps[key]}
			if r.Status == event.Unknown {
				op.Return, op.Open = math.MaxInt64, !l.infer.Info(n).Counted // if somebody saw it, it took effect at some time
			}
			keys[i].ops = append(keys[i].ops, op)
			keys[i].txns = append(keys[i].txns, n)
		}
	})
	keys = slices.DeleteFunc(keys, func(k linearKey) bool { return changed[k.epoch+"\x00"+k.name] })
	slices.SortStableFunc(keys, func(a, b linearKey) int { return strings.Compare(a.name, b.name) })
	return keys
}

// linearStep is the operation as package linear wants it. It is nil for one without evidence.
// ok is false for a kind that does not belong to registers or lists.
func linearStep(o *event.RecordOp, unknown bool) (s *linear.Step, ok bool) {
	missing := o.Flags&event.NotFound != 0
	if o.Data > event.Counter { // a kind that this function does not know
		return nil, false
	}
	switch o.Kind {
	case event.Read:
		switch {
		case o.Data.Parts() || o.Data == event.Counter:
			return nil, false
		case unknown && o.Nothing():
			return nil, true // without a note, something may still have been seen
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
		s = &linear.Step{Kind: linear.CAS, Expected: o.Expected, Value: o.Value, Success: o.Flags&event.Success != 0, Guess: unknown && o.Flags&event.Success == 0}
		if o.Seen != "" && !(unknown && o.Seen == "null") {
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

// reportLinear reports that the operations on k have no order. It names the operation whose return
// leaves no possible order, the operations that ran beside it, and the last operations that fit.
func (l *linearizing) reportLinear(k *linearKey, at int, order []int) {
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
	w := finding.Witness{Anomaly: infer.Nonlinearizable, Key: k.name, Drift: int64(l.cfg.Contract.ClockDrift)}
	for _, n := range members {
		w.Txns = append(w.Txns, l.record(n))
	}
	l.finder.publish(f, isolation.NameLinear(), &w)
}

// linearReason says why linearizability is not known, "" if it is. In a stream, the
// keys must be registers whose writers say what they replaced.
func (l *linearizing) linearReason() string {
	c := l.infer.Counters
	switch {
	case !l.cfg.Unbounded && c.Placeless > 0:
		return finding.Counted(c.Placeless, "operation whose order on its key is not known", "operations whose order on their keys is not known")
	case !l.cfg.Unbounded && c.Unordered > 0:
		return finding.Counted(c.Unordered, "key where two writes do not say what they replaced", "keys where two writes do not say what they replaced")
	case !l.cfg.Unbounded:
		return ""
	case !l.linear.done:
		return "the history has not ended"
	}
	return l.linear.Why
}

// maxLinearPath bounds the transactions of a finding from a stream: the two that
// contradict each other and those between them.
const maxLinearPath = 256

// reportLine reports a transaction that began after another had ended, and yet comes first on the key.
// The other one comes later there, or replaced a version that rests on the first one's. Each
// transaction between them replaced or read the version that the transaction before it left.
func (h *finder) reportLine(a *infer.Anomaly) {
	path := h.infer.Line(nil, a.Other, a.Version)
	if path == nil {
		return // taken back by what else the record said
	}
	key := h.infer.Key(a.Version)
	if len(path) > maxLinearPath {
		h.reports.note(keyClass(key), finding.Counted(int64(len(path)), "operation", "operations")+" on "+key+" between two that contradict each other", h.clock.noted(a.B))
		return
	}
	f := &openFinding{members: []uint32{a.A}, versions: path}
	f.Finding.Certain = a.Certain
	w := finding.Witness{Anomaly: infer.Nonlinearizable, Key: key, Drift: int64(h.cfg.Contract.ClockDrift)}
	h.given(&w)
	step := func(to uint32, label infer.Label, v uint32) {
		e := finding.Dependency{From: len(f.members) - 1, To: len(f.members), Label: label, Shown: -1}
		if v != 0 {
			e.Key, e.Value = key, h.infer.Value(v, &h.scratch)
		}
		w.Edges = append(w.Edges, e)
		f.members = append(f.members, to)
	}
	at := a.A
	for i := 1; i < len(path); i++ {
		to := h.infer.WriterOf(path[i])
		if h.infer.WriterOf(path[i-1]) == at {
			step(to, infer.WW|infer.WR, path[i-1])
		} else {
			step(to, infer.RW, path[i])
		}
		at = to
	}
	if at != a.B {
		step(a.B, infer.WR, a.Version)
	}
	if a.Count > 0 {
		step(a.A, infer.WW|infer.WR, a.Version)
	} else {
		step(a.A, infer.Realtime, 0)
	}
	f.members = f.members[:len(f.members)-1]
	w.Edges[len(w.Edges)-1].To = 0
	for _, n := range f.members {
		w.Txns = append(w.Txns, h.record(n))
	}
	if err := h.verify(&w); err != nil {
		h.Counters.Unverified++
		h.unverified = err
		return
	}
	h.publish(f, isolation.NameLinear(), &w)
}
