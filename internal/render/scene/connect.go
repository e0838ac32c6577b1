package scene

import (
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// connect adds the arrows, and marks the operations at their ends.
func (s *Scene) connect() {
	edges := s.Finding.Edges
	if c := s.Finding.Core; c != nil {
		edges = slices.Concat(edges, c.Edges)
		for _, o := range c.Ops {
			if i := s.IndexOf(o.Txn); i >= 0 && o.Op < len(s.Members[i].ops()) {
				s.Members[i].mark(o.Op)
			}
		}
	}
	for i, e := range edges {
		a := Arrow{Edge: e, From: s.IndexOf(e.From), To: s.IndexOf(e.To), FromOp: -1, ToOp: -1, Step: i + 1}
		from, to := &s.Members[a.From], &s.Members[a.To]
		switch e.Type {
		case "wr":
			a.FromOp = from.orSaid(from.writing(e.Key, e.Value), event.Write, e.Key, e.Value)
			a.ToOp = to.orSaid(to.reading(e.Key, e.Value), event.Read, e.Key, e.Value)
		case "ww":
			a.FromOp = from.orSaid(from.writing(e.Key, ""), event.Write, e.Key, "")
			a.ToOp = to.orSaid(to.writing(e.Key, e.Value), event.Write, e.Key, e.Value)
		case "rw":
			a.FromOp = from.orSaid(from.missing(e.Key, e.Value), event.Read, e.Key, "")
			a.ToOp = to.orSaid(to.writing(e.Key, e.Value), event.Write, e.Key, e.Value)
			s.markRead(a.From, a.FromOp)
		}
		s.add(a)
	}
	if len(s.Finding.Edges) > 0 {
		s.linkSeen()
		s.linkShown()
		return
	}
	if a := s.Finding.About; a != nil {
		s.connectRead(a)
	} else if s.Finding.Anomaly == "session-not-sequential" {
		s.connectSessions()
	}
}

// linkSeen links the reads that missed a write with the write that they saw. One other transaction of the dependencies must have done
// it, and no dependency between the two may be there. So a stale read is linked, whose proof has both writes.
func (s *Scene) linkSeen() {
	drawn := len(s.Arrows)
	for i := range drawn {
		missed := &s.Arrows[i]
		if missed.Type != "rw" || missed.FromOp < 0 || s.Members[missed.From].Record == nil {
			continue
		}
		reader := &s.Members[missed.From]
		o := &reader.Record.Ops[missed.FromOp]
		if o.Kind != event.Read || o.Value == "" || len(o.Elems) > 0 {
			continue
		}
		writer, writers := -1, 0
		for j := range s.Members {
			if s.Members[j].wrote(o.Key, o.Value) >= 0 {
				writer, writers = j, writers+1
			}
		}
		meets := func(a Arrow) bool { return a.From == writer || a.To == writer }
		linked := func(a Arrow) bool { return a.Type == "wr" && a.From == writer && a.To == missed.From && a.Key == o.Key }
		if writers != 1 || writer == missed.From || !slices.ContainsFunc(s.Arrows[:drawn], meets) || slices.ContainsFunc(s.Arrows, linked) {
			continue
		}
		m := &s.Members[writer]
		edge := finding.Edge{From: m.ID, To: reader.ID, Type: "wr", Key: o.Key, Value: o.Value, Evidence: reader.Short + " read what " + m.Short + " wrote"}
		s.add(Arrow{Edge: edge, From: writer, To: missed.From, FromOp: m.wrote(o.Key, o.Value), ToOp: missed.FromOp})
	}
}

// linkShown links two appends with the read of a third transaction that shows their order.
func (s *Scene) linkShown() {
	for _, e := range s.Finding.Edges {
		if e.ShownBy == "" {
			continue
		}
		if i := slices.IndexFunc(s.Beside, func(m Member) bool { return m.ID == e.ShownBy }); i >= 0 && s.IndexOf(e.ShownBy) < 0 {
			s.Members = append(s.Members, s.Beside[i])
			s.Beside = slices.Delete(s.Beside, i, i+1)
		}
		at, op := s.ShowsOrder(&e)
		if op < 0 {
			continue
		}
		list := s.Members[at].Record.Ops[op].Elems
		for _, id := range []string{e.From, e.To} {
			from := s.IndexOf(id)
			appended := last(s.Members[from].ops(), func(o *event.RecordOp) bool {
				return o.Key == e.Key && o.Kind == event.Append && slices.Contains(list, o.Value)
			})
			linked := func(a Arrow) bool { return a.Type == "wr" && a.From == from && a.To == at && a.Key == e.Key }
			if appended < 0 || slices.ContainsFunc(s.Arrows, linked) {
				continue
			}
			link := finding.Edge{From: id, To: e.ShownBy, Type: "wr", Key: e.Key, Value: s.Members[from].Record.Ops[appended].Value}
			s.add(Arrow{Edge: link, From: from, To: at, FromOp: appended, ToOp: op})
		}
	}
}

// ShowsOrder is the member whose read shows the order of e's appends, with the read; -1 where it is not known.
func (s *Scene) ShowsOrder(e *finding.Edge) (member, op int) {
	member = s.IndexOf(e.ShownBy)
	if e.ShownBy == "" || member < 0 {
		return member, -1
	}
	return member, slices.IndexFunc(s.Members[member].ops(), func(o event.RecordOp) bool {
		return o.Key == e.Key && o.Kind == event.Read && slices.Contains(o.Elems, e.Value)
	})
}

// markRead marks the write that a read of a member saw, where another member did it: what the read missed came behind it.
func (s *Scene) markRead(member, op int) {
	m := &s.Members[member]
	if m.Record == nil || op < 0 {
		return
	}
	o := &m.Record.Ops[op]
	if o.Kind != event.Read || o.Value == "" || len(o.Elems) > 0 {
		return
	}
	for i := range s.Members {
		if i != member {
			s.Members[i].mark(s.Members[i].wrote(o.Key, o.Value))
		}
	}
}

func (s *Scene) add(a Arrow) {
	s.Members[a.From].mark(a.FromOp)
	s.Members[a.To].mark(a.ToOp)
	s.Arrows = append(s.Arrows, a)
}

// orSaid is op where it is known. For a member without a record it is an operation that the dependency
// speaks of.
func (m *Member) orSaid(op int, kind event.OpKind, key, value string) int {
	if op >= 0 || m.Record != nil {
		return op
	}
	said := Op{Text: strings.TrimRight(kind.String()+" "+key+" "+value, " "), Key: key}
	if i := slices.IndexFunc(m.Ops, func(o Op) bool { return o.Text == said.Text }); i >= 0 {
		return i
	}
	m.Ops = append(m.Ops, said)
	return len(m.Ops) - 1
}

func (m *Member) mark(op int) {
	if op >= 0 {
		m.Ops[op].Matters = true
	}
}

// connectRead links the read that an anomaly without a cycle is about with the writes of what it read. The
// writer may be a record beside. Where no write is known, nothing is linked.
func (s *Scene) connectRead(about *finding.About) {
	at := s.IndexOf(about.Txn)
	if at < 0 {
		return
	}
	op := s.Members[at].readOf(about)
	s.Members[at].mark(op)
	if op < 0 {
		return
	}
	if s.Finding.Anomaly != "incompatible-order" { // two reads show it
		s.invite(about)
	}
	if s.Finding.Anomaly == "nonlinearizable" { // all operations on the key together have no order
		s.markKey(about.Key)
		s.connectStale(at, op)
		return
	}
	reader := &s.Members[at]
	link := finding.Edge{To: reader.ID, Type: "wr", Key: about.Key, Value: about.Value}
	for i := range s.Members {
		m := &s.Members[i]
		wrote := m.wrote(about.Key, about.Value)
		switch other := m.readOf(&finding.About{Op: -1, Key: about.Key}); {
		case i == at:
		case wrote >= 0:
			link.From = m.ID
			s.add(Arrow{Edge: link, From: i, To: at, FromOp: wrote, ToOp: op})
			if s.Finding.Anomaly == "G1b" { // it shows that the value was replaced
				m.mark(m.writing(about.Key, ""))
			}
		case s.Finding.Anomaly == "incompatible-order" && other >= 0:
			s.add(Arrow{Edge: finding.Edge{From: m.ID, To: reader.ID, Type: Contradicts, Key: about.Key}, From: i, To: at, FromOp: other, ToOp: op})
		}
	}
	if own := reader.other(op, about.Key); own >= 0 && slices.Contains(alone, s.Finding.Anomaly) {
		s.add(Arrow{Edge: finding.Edge{From: reader.ID, To: reader.ID, Type: Contradicts, Key: about.Key}, From: at, To: at, FromOp: own, ToOp: op})
	}
}

func (s *Scene) markKey(key string) {
	for i := range s.Members {
		for j := range s.Members[i].Ops {
			if s.Members[i].Ops[j].Key == key {
				s.Members[i].mark(j)
			}
		}
	}
}

// Contradicts is the type of an arrow between two operations that cannot both be right: not a dependency.
const Contradicts = "contradicts"

// alone are the anomalies that two operations of one transaction show.
var alone = []string{"internal", "future-read"}

// invite makes members of the records beside that wrote what was read.
func (s *Scene) invite(about *finding.About) {
	s.Beside = slices.DeleteFunc(s.Beside, func(m Member) bool {
		if m.wrote(about.Key, about.Value) < 0 || s.IndexOf(m.ID) >= 0 {
			return false
		}
		s.Members = append(s.Members, m)
		return true
	})
}

// readOf is the operation of m that about names, or else its first read of the key that saw the value; -1
// without one.
func (m *Member) readOf(about *finding.About) int {
	if op := about.Op; op >= 0 && op < len(m.Ops) && m.Ops[op].Key == about.Key {
		return op
	}
	return m.reading(about.Key, about.Value)
}

// other is m's last operation on key before op, or else the first one behind it; -1 without one.
func (m *Member) other(op int, key string) int {
	on := func(o Op) bool { return o.Key == key }
	for i := op - 1; i >= 0; i-- {
		if on(m.Ops[i]) {
			return i
		}
	}
	if i := slices.IndexFunc(m.Ops[op+1:], on); i >= 0 {
		return op + 1 + i
	}
	return -1
}

// ops of m's record, none where it is not known.
func (m *Member) ops() []event.RecordOp {
	if m.Record == nil {
		return nil
	}
	return m.Record.Ops
}

// wrote is m's last operation that left the value in key, -1 without one.
func (m *Member) wrote(key, value string) int {
	return last(m.ops(), func(o *event.RecordOp) bool {
		return o.Key == key && writes(o) && (o.Value == value || deletes(o) && value == "")
	})
}

// writing is the operation of m that left value in key; without one, its last write of the key.
func (m *Member) writing(key, value string) int {
	if i := m.wrote(key, value); i >= 0 && value != "" {
		return i
	}
	return last(m.ops(), func(o *event.RecordOp) bool { return o.Key == key && writes(o) })
}

// reading is the operation of m that saw value in key; without one, its first read of the key.
func (m *Member) reading(key, value string) int {
	ops := m.ops()
	if i := slices.IndexFunc(ops, func(o event.RecordOp) bool { return reads(&o, key) && saw(&o, key, value) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(ops, func(o event.RecordOp) bool { return reads(&o, key) })
}

// missing is the operation of m that read key without value; without one, its first read of the key.
func (m *Member) missing(key, value string) int {
	ops := m.ops()
	if i := slices.IndexFunc(ops, func(o event.RecordOp) bool { return reads(&o, key) && !saw(&o, key, value) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(ops, func(o event.RecordOp) bool { return reads(&o, key) })
}

func last(ops []event.RecordOp, is func(o *event.RecordOp) bool) int {
	for i := len(ops) - 1; i >= 0; i-- {
		if is(&ops[i]) {
			return i
		}
	}
	return -1
}

func deletes(o *event.RecordOp) bool { return o.Kind == event.Delete }

func writes(o *event.RecordOp) bool { return o.Writes() || o.Kind == event.Inc }

// reads says whether o tells something of key: a read, a range over it, a cas.
func reads(o *event.RecordOp, key string) bool {
	switch o.Kind {
	case event.Read, event.CAS:
		return o.Key == key
	case event.Range:
		return !(o.HasFrom && key < o.From || o.HasTo && key >= o.To)
	}
	return false
}

// saw says whether o, which reads key, saw value, or an element of it.
func saw(o *event.RecordOp, key, value string) bool {
	switch o.Kind {
	case event.Range:
		return slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == key && r.Value == value })
	case event.CAS:
		return o.Expected == value && o.Flags&event.Success != 0 || o.Seen == value
	}
	return o.Value == value || slices.Contains(o.Elems, value) || value == "" && o.Flags&event.NotFound != 0
}
