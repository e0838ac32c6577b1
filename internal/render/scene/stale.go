package scene

import (
	"slices"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// connectStale links the read at an operation of a member with the write that it saw, and with the writes that
// it missed. Missed for sure is a write that began behind the end of the one that was seen, and ended before
// the read began. The second is enough for a list, and where nothing was found. Clocks may drift apart, and a finding that does
// not say how far shows no order.
func (s *Scene) connectStale(at, op int) {
	reader := &s.Members[at]
	if reader.Record == nil {
		return
	}
	before := s.inOrder()
	o := &reader.Record.Ops[op]
	value, told := shown(o)
	if !told {
		if o.Kind == event.CAS {
			s.connectFailed(at, op)
		}
		return
	}
	seen := -1
	nothing := value == "" || value == "null" || o.Flags&event.NotFound != 0
	if nothing {
		value = "" // a delete leaves it
	}
	for i := range s.Members {
		if i != at && len(o.Elems) == 0 && s.Members[i].wrote(o.Key, value) >= 0 {
			seen = i
		}
	}
	if seen >= 0 {
		m := &s.Members[seen]
		edge := finding.Edge{From: m.ID, To: reader.ID, Type: "wr", Key: o.Key, Value: value, Evidence: reader.Short + " read what " + m.Short + " wrote"}
		s.add(Arrow{Edge: edge, From: seen, To: at, FromOp: m.wrote(o.Key, value), ToOp: op})
	}
	if seen < 0 && !nothing && len(o.Elems) == 0 {
		return // its writer is not known, and may be the last one
	}
	for i := range s.Members {
		m := &s.Members[i]
		wrote := m.writing(o.Key, "")
		if i == at || i == seen || wrote < 0 || m.Record.Status != event.Committed || !before(m, reader) || seen >= 0 && !before(&s.Members[seen], m) {
			continue
		}
		if w := &m.Record.Ops[wrote]; len(o.Elems) > 0 && (w.Kind != event.Append || slices.Contains(o.Elems, w.Value)) {
			continue
		}
		why := m.Short + " ended before " + reader.Short + " began, and " + reader.Short + " did not see its write"
		if seen >= 0 {
			why = m.Short + " replaced the write of " + s.Members[seen].Short + " before " + reader.Short + " began"
		}
		edge := finding.Edge{From: reader.ID, To: m.ID, Type: "rw", Key: o.Key, Value: m.Record.Ops[wrote].Value, Evidence: why}
		s.add(Arrow{Edge: edge, From: at, To: i, FromOp: op, ToOp: wrote})
	}
}

// shown is the value that an operation tells of its key; told is false where it tells none.
func shown(o *event.RecordOp) (value string, told bool) {
	switch {
	case o.Kind == event.Read:
		return o.Value, true
	case o.Kind != event.CAS:
		return "", false
	case o.Flags&event.Success != 0:
		return o.Expected, true
	}
	return o.Seen, o.Seen != ""
}

// connectFailed links a cas that failed with the write of what it expected, where it missed that for sure. Then all writes of
// something else ended before that one began, or began when the cas was over.
func (s *Scene) connectFailed(at, op int) {
	reader, before := &s.Members[at], s.inOrder()
	o := &reader.Record.Ops[op]
	for i := range s.Members {
		m := &s.Members[i]
		wrote := m.wrote(o.Key, o.Expected)
		if i == at || wrote < 0 || m.writing(o.Key, "") != wrote || m.Record.Status != event.Committed || !before(m, reader) {
			continue
		}
		other := func(x Member) bool {
			return x.ID != m.ID && x.ID != reader.ID && x.writing(o.Key, "") >= 0 && !before(&x, m) && !before(reader, &x)
		}
		if slices.ContainsFunc(s.Members, other) {
			continue
		}
		why := m.Short + " wrote what " + reader.Short + " expected, and ended before " + reader.Short + " began"
		edge := finding.Edge{From: reader.ID, To: m.ID, Type: "rw", Key: o.Key, Value: m.Record.Ops[wrote].Value, Evidence: why}
		s.add(Arrow{Edge: edge, From: at, To: i, FromOp: op, ToOp: wrote})
	}
}

// connectSessions links transactions of one session that overlap in time, or whose numbers are the same or against their times.
// A session does one thing at a time.
func (s *Scene) connectSessions() {
	for i := range s.Members {
		for j := range s.Members[:i] {
			a, b := &s.Members[i], &s.Members[j]
			if a.Record == nil || b.Record == nil || a.Record.Session != b.Record.Session {
				continue
			}
			if why := isolation.NotSequential(a.Record, b.Record, a.Short, b.Short); why != "" {
				edge := finding.Edge{From: a.ID, To: b.ID, Type: Contradicts, Evidence: why}
				s.add(Arrow{Edge: edge, From: i, To: j, FromOp: -1, ToOp: -1})
			}
		}
	}
}

func (m *Member) timed() bool { return m.Record != nil && m.Record.Flags&event.HasTimes != 0 }

// before says whether m ended before other began, by more than the drift of their clocks.
func (m *Member) before(other *Member, drift time.Duration) bool {
	return m.timed() && other.timed() && m.Record.End < other.Record.Start-int64(drift)
}

// inOrder says whether one member ended before another one began, whatever their clocks are apart.
func (s *Scene) inOrder() func(a, b *Member) bool {
	drift, err := time.ParseDuration(s.Finding.About.ClockDrift)
	return func(a, b *Member) bool { return err == nil && a.before(b, drift) }
}
