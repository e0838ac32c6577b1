package scene

import (
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Which of two records with one id a member is.
const (
	Kept   = "kept"
	Second = "second record"
)

// pair makes members of second records, each behind the one that was kept, with an arrow between them. A finding
// without second records stays as it is.
func (s *Scene) pair() {
	seconds := s.Finding.SecondPositions
	if len(seconds) == 0 {
		return
	}
	var members, beside []Member
	second := map[string]*Member{}
	for i := range s.Beside {
		if m := &s.Beside[i]; seconds[m.ID] != "" && second[m.ID] == nil {
			second[m.ID] = m
		} else {
			beside = append(beside, *m)
		}
	}
	for _, m := range s.Members {
		position, twice := seconds[m.ID]
		if !twice {
			members = append(members, m)
			continue
		}
		other := second[m.ID]
		if other == nil { // the record that was kept had left memory, or neither is carried
			other = &Member{ID: m.ID, Record: m.Record, Raw: m.Raw, Ops: m.Ops}
			m.Record, m.Raw, m.Ops = nil, nil, nil
		}
		x := *other
		x.Short, x.Name, x.Position, x.Of = m.Short, m.Name, position, Second
		if x.Record != nil {
			x.Name = x.Record.Name
		}
		m.Of = Kept
		members = append(members, m, x)
	}
	s.Members, s.Beside = members, beside
	for i := 1; i < len(s.Members); i++ {
		if s.Members[i].Of == Second {
			s.contrast(i-1, i)
		}
	}
}

// contrast adds the arrow between two records of one transaction, and marks the operations that they do not have in common.
func (s *Scene) contrast(kept, second int) {
	a := Arrow{Edge: finding.Edge{From: s.Members[kept].ID, To: s.Members[second].ID, Type: Contradicts}, From: kept, To: second, FromOp: -1, ToOp: -1}
	a.Evidence = "both have the id " + a.Edge.From
	x, y := s.Members[kept].Record, s.Members[second].Record
	if x != nil && y != nil {
		a.Evidence = "they differ in " + strings.Join(isolation.Differences(x, y), "; ")
		for _, op := range isolation.Differing(x, y) {
			s.differ(&s.Members[kept], op, &a.FromOp)
			s.differ(&s.Members[second], op, &a.ToOp)
		}
	}
	s.Arrows = append(s.Arrows, a)
}

// differ marks the operation, where m has one there. The first one is the arrow's end.
func (s *Scene) differ(m *Member, op int, end *int) {
	if op >= len(m.Ops) {
		return
	}
	m.mark(op)
	if *end < 0 {
		*end = op
	}
}

// Title is the member's short name, with which of two records it is.
func (m *Member) Title() string {
	if m.Of == "" {
		return m.Short
	}
	return m.Short + " (" + m.Of + ")"
}
