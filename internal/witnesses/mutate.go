package witnesses

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/workload"
)

// Change is a witness in which one thing is another.
type Change struct {
	Name    string
	Witness *Witness
	// Claims says that what the witness says of its transactions is another, not what these
	// did.
	Claims bool
}

// fresh is a value that no witness has.
const fresh = 7_777_777

// Changes are the witnesses that differ from w in one thing: in what a transaction did, or in
// what is said of it.
func (w *Witness) Changes() []Change {
	c := changes{of: w}
	for i := range w.Members {
		c.member(i)
		for j := range w.Members[i].Ops {
			c.op(i, j)
		}
	}
	for _, key := range w.keys() {
		c.key(key)
	}
	c.claims = true
	for i := range w.Rest.Edges {
		c.edge(i)
	}
	for i := range w.Rest.Choices {
		c.choice(i)
	}
	c.settings()
	return c.all
}

// changes collects the changes of a witness.
type changes struct {
	of     *Witness
	claims bool
	all    []Change
}

func (c *changes) add(name string, change func(w *Witness)) {
	w := c.of.Clone()
	change(w)
	if w.Text() != c.of.Text() {
		c.all = append(c.all, Change{name, w, c.claims})
	}
}

func (c *changes) member(i int) {
	id := c.of.Members[i].ID
	on := func(what string, change func(m *Member)) {
		c.add(id+" "+what, func(w *Witness) { change(&w.Members[i]) })
	}
	on("aborted", func(m *Member) { m.Status = event.Aborted })
	on("of unknown outcome", func(m *Member) { m.Status = event.Unknown })
	on("asked for old data", func(m *Member) { m.Stale = true })
	on("of another session", func(m *Member) { m.Session = "other" })
	on("of no session", func(m *Member) { m.Session, m.Seq = "", 0 })
	on("without a place in its session", func(m *Member) { m.Seq = 0 })
	on("last in its session", func(m *Member) {
		if m.Session != "" {
			m.Seq = 1000
		}
	})
	on("of another epoch", func(m *Member) { m.Epoch = "other" })
	on("of another source", func(m *Member) { m.Source = "other" })
	on("without times", func(m *Member) { m.Start, m.End = 0, 0 })
	if m := c.of.Members[i]; m.End != 0 {
		first, last := m.Start, m.End
		for _, x := range c.of.Members {
			first, last = min(first, x.Start), max(last, x.End)
		}
		on("beside all others", func(m *Member) { m.Start, m.End = first, last })
		on("behind all others", func(m *Member) { m.Start, m.End = last+1_000_000_000, last+1_000_000_001 })
	}
	if c.of.Members[i].Commit != 0 {
		on("without a commit timestamp", func(m *Member) { m.Commit = 0 })
		on("committed last", func(m *Member) { m.Commit = 1_000_000 })
	}
	for j := 1; j < len(c.of.Members[i].Ops); j++ {
		on(fmt.Sprintf("with operations %d and %d exchanged", j, j+1), func(m *Member) { m.Ops[j-1], m.Ops[j] = m.Ops[j], m.Ops[j-1] })
	}
}

// op changes the j-th operation of the i-th transaction.
func (c *changes) op(i, j int) {
	o := &c.of.Members[i].Ops[j]
	was := c.of.Members[i].ID + ", " + o.Text()
	as := func(to workload.Op) {
		c.add(was+" is "+to.Text(), func(w *Witness) { w.Members[i].Ops[j] = to })
	}
	with := func(change func(o *workload.Op)) {
		to := *o
		to.List, to.Rows = slices.Clone(o.List), slices.Clone(o.Rows)
		change(&to)
		as(to)
	}
	c.add(was+" is not there", func(w *Witness) { w.Members[i].Ops = slices.Delete(w.Members[i].Ops, j, j+1) })
	with(func(o *workload.Op) { o.Key = "elsewhere" })
	with(func(o *workload.Op) { o.Version, o.PrevVersion = 0, 0 })
	if o.Version != 0 {
		with(func(o *workload.Op) { o.Version = fresh })
	}
	if o.PrevVersion != 0 {
		with(func(o *workload.Op) { o.PrevVersion = 0 })
		with(func(o *workload.Op) { o.PrevVersion = fresh })
	}
	switch {
	case o.Kind == event.Range:
		for r := range o.Rows {
			with(func(o *workload.Op) { o.Rows = slices.Delete(o.Rows, r, r+1) })
			with(func(o *workload.Op) { o.Rows[r].Value = fresh })
			if o.Rows[r].Version != 0 {
				with(func(o *workload.Op) { o.Rows[r].Version = 0 })
				with(func(o *workload.Op) { o.Rows[r].Version = fresh })
			}
		}
		with(func(o *workload.Op) { o.Limit = int64(max(1, len(o.Rows))) })
		with(func(o *workload.Op) { o.From = "zz" })
	case o.IsList || o.Data == event.Set:
		for e := range o.List {
			with(func(o *workload.Op) { o.List = slices.Delete(o.List, e, e+1) })
		}
		if n := len(o.List); n > 1 {
			with(func(o *workload.Op) { o.List[n-2], o.List[n-1] = o.List[n-1], o.List[n-2] })
		}
		for _, v := range c.of.values(o.Key) {
			if !slices.Contains(o.List, v) {
				with(func(o *workload.Op) { o.List = append(o.List, v) })
			}
		}
		with(func(o *workload.Op) { o.List = nil })
		with(func(o *workload.Op) { *o = workload.ReadAbsent(o.Key) })
	case o.Kind == event.Delete:
		as(workload.Write(o.Key, fresh))
	default:
		for _, v := range append(c.of.values(o.Key), fresh) {
			with(func(o *workload.Op) { o.Value, o.Absent = v, false })
		}
		if o.Kind == event.Read && o.Data == 0 {
			as(workload.ReadAbsent(o.Key))
		}
		if o.Kind == event.Write || o.Kind == event.Insert {
			as(workload.Op{Kind: event.Delete, Key: o.Key})
		}
	}
}

// key adds a transaction that changes the key: a delete between, and another writer of each
// value.
func (c *changes) key(key string) {
	add := func(name string, o workload.Op) {
		c.add("another one "+name, func(w *Witness) {
			w.Members = append(w.Members, Member{Txn: workload.Txn{ID: "another", Status: event.Committed, Ops: []workload.Op{o}}})
		})
	}
	add("deletes "+key, workload.Op{Kind: event.Delete, Key: key})
	for _, v := range c.of.values(key) {
		add(fmt.Sprintf("writes %s = %d", key, v), workload.Write(key, v))
	}
}

func (c *changes) edge(i int) {
	e := c.of.Rest.Edges[i]
	c.add(fmt.Sprintf("edge %d is not there", i+1), func(w *Witness) { w.Rest.Edges = slices.Delete(w.Rest.Edges, i, i+1) })
	c.ends(fmt.Sprintf("edge %d", i+1), &e, func(w *Witness) *finding.Dependency { return &w.Rest.Edges[i] })
	if len(e.Past) > 0 {
		c.add(fmt.Sprintf("edge %d without its past", i+1), func(w *Witness) { w.Rest.Edges[i].Past = nil })
	}
	for j := range e.Past {
		c.add(fmt.Sprintf("edge %d without step %d of its past", i+1, j+1), func(w *Witness) {
			w.Rest.Edges[i].Past = slices.Delete(w.Rest.Edges[i].Past, j, j+1)
		})
		c.ends(fmt.Sprintf("edge %d.%d", i+1, j+1), &e.Past[j], func(w *Witness) *finding.Dependency { return &w.Rest.Edges[i].Past[j] })
	}
}

// ends changes label, ends, key and value of an edge.
func (c *changes) ends(name string, e *finding.Dependency, in func(w *Witness) *finding.Dependency) {
	on := func(what string, change func(e *finding.Dependency)) {
		c.add(name+" "+what, func(w *Witness) { change(in(w)) })
	}
	on("the other way round", func(e *finding.Dependency) { e.From, e.To = e.To, e.From })
	for t := range c.of.Members {
		on("from "+c.of.Members[t].ID, func(e *finding.Dependency) { e.From = t })
		on("to "+c.of.Members[t].ID, func(e *finding.Dependency) { e.To = t })
		on("shown by "+c.of.Members[t].ID, func(e *finding.Dependency) { e.Shown = t })
	}
	on("shown by nobody", func(e *finding.Dependency) { e.Shown = -1 })
	on("about elsewhere", func(e *finding.Dependency) { e.Key = "elsewhere" })
	on("about a fresh value", func(e *finding.Dependency) { e.Value = fmt.Sprint(fresh) })
	for _, v := range c.of.values(e.Key) {
		on(fmt.Sprintf("about %d", v), func(e *finding.Dependency) { e.Value = fmt.Sprint(v) })
	}
	on("without a label", func(e *finding.Dependency) { e.Label = 0 })
	for _, l := range labels {
		on("is "+l.word, func(e *finding.Dependency) { e.Label = l.label })
		on("is "+l.word+" too", func(e *finding.Dependency) { e.Label |= l.label })
	}
}

func (c *changes) choice(i int) {
	name := fmt.Sprintf("choice %d", i+1)
	on := func(what string, change func(x *finding.Choice)) {
		c.add(name+" "+what, func(w *Witness) {
			x := &w.Rest.Choices[i]
			x.Writers = slices.Clone(x.Writers)
			change(x)
		})
	}
	c.add(name+" is not there", func(w *Witness) { w.Rest.Choices = slices.Delete(w.Rest.Choices, i, i+1) })
	on("of elsewhere", func(x *finding.Choice) { x.Key = "elsewhere" })
	for t := range c.of.Members {
		on("of "+c.of.Members[t].ID, func(x *finding.Choice) { x.A = t })
		on("and "+c.of.Members[t].ID, func(x *finding.Choice) { x.B = t })
		on("with "+c.of.Members[t].ID+" for a writer", func(x *finding.Choice) { x.Writers = append(x.Writers, t) })
	}
	for t := range c.of.Rest.Choices[i].Writers {
		on(fmt.Sprintf("without writer %d", t+1), func(x *finding.Choice) { x.Writers = slices.Delete(x.Writers, t, t+1) })
	}
	for r := range c.of.Rest.Repeated {
		c.add(fmt.Sprintf("repeated %d is not there", r+1), func(w *Witness) { w.Rest.Repeated = slices.Delete(w.Rest.Repeated, r, r+1) })
	}
}

func (c *changes) settings() {
	for _, k := range append([]finding.AnomalyKind{0}, finding.AnomalyKinds()...) {
		c.add("told as "+k.String(), func(w *Witness) { w.Rest.Anomaly = k })
	}
	for _, base := range []string{"read-committed", "causal", "prefix", "snapshot-isolation", "serializable"} {
		for _, family := range []string{"", "strong-session-", "strong-"} {
			c.add("at "+family+base, func(w *Witness) {
				if w.Rest.Level != "" {
					w.Rest.Level = family + base
				}
			})
		}
	}
	c.add("at generalized-snapshot-isolation", func(w *Witness) {
		if w.Rest.Level != "" {
			w.Rest.Level = "generalized-snapshot-isolation"
		}
	})
	c.add("about elsewhere", func(w *Witness) { w.Rest.Key = "elsewhere" })
	c.add("about a fresh value", func(w *Witness) { w.Rest.Value = fmt.Sprint(fresh) })
	for _, v := range c.of.values(c.of.Rest.Key) {
		c.add(fmt.Sprintf("about %d", v), func(w *Witness) { w.Rest.Value = fmt.Sprint(v) })
	}
	for op := range 4 {
		c.add(fmt.Sprintf("about operation %d", op), func(w *Witness) { w.Rest.Op = op })
	}
	c.add("with clocks a day apart", func(w *Witness) { w.Rest.Drift = 86_400_000_000_000 })
	c.add("with rows", func(w *Witness) { w.Rest.Rows = !w.Rest.Rows })
	c.add("by version", func(w *Witness) { w.Rest.ByVersion = !w.Rest.ByVersion })
	c.add("with numbers", func(w *Witness) { w.Rest.Numeric = !w.Rest.Numeric })
	c.add("by commit timestamps", func(w *Witness) { w.Rest.ByCommit = !w.Rest.ByCommit })
}

// keys are those of the operations, in the order in which they come first.
func (w *Witness) keys() (keys []string) {
	for i := range w.Members {
		for _, o := range w.Members[i].Ops {
			if o.Kind != event.Range && !slices.Contains(keys, o.Key) {
				keys = append(keys, o.Key)
			}
		}
	}
	return keys
}

// values are those that operations read or wrote at the key, sorted.
func (w *Witness) values(key string) (values []int64) {
	for i := range w.Members {
		for _, o := range w.Members[i].Ops {
			if o.Key == key && !o.Absent && !o.IsList && o.Kind != event.Delete && o.Kind != event.Range && o.Data != event.Set {
				values = append(values, o.Value)
			}
			if o.Key == key {
				values = append(values, o.List...)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
