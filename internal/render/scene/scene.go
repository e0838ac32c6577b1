// Package scene is a finding as its renderers draw it: the transactions with their recorded
// operations, and the dependencies with the operations that show them. It reads the records that
// the finding carries, never its texts.
package scene

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/words"
)

// Scene is a finding with its records. All indexes are into its own lists.
type Scene struct {
	Finding *finding.Finding
	Members []Member
	Arrows  []Arrow
	// Beside are records that the finding rests on, and does not name: other readers for example.
	Beside []Member
}

// Member is a transaction of the finding.
type Member struct {
	ID       string
	Short    string        // as the explanation calls it
	Of       string        // of one of two records with its id: which one it is
	Name     string        // of the transaction's template, "" without one
	Level    string        // that it asked for
	Endpoint string        // the server that its client used
	Position string        // of its record in the input
	Record   *event.Record // nil where the finding does not carry it
	Raw      json.RawMessage
	Ops      []Op // of Record, in program order
}

// Op is an operation of a member.
type Op struct {
	Text    string // as explanations print it
	Key     string
	Matters bool // an arrow begins or ends at it, or the finding is about it
}

// Arrow is a dependency. It leads from a member to itself where a transaction contradicts itself.
type Arrow struct {
	finding.Edge
	From, To     int // members
	FromOp, ToOp int // the operations that show it; -1 where none is known
	// Step is the number of the dependency in the finding, from 1. It is 0 for a link from a write to the
	// read that saw it, which the finding does not list.
	Step int
}

// New reads the records of f. The scene refers to f.
func New(f *finding.Finding) *Scene {
	s := &Scene{Finding: f}
	for _, id := range f.Txns {
		s.member(id)
	}
	for i := range f.Edges { // a list that was cut leaves members out
		s.member(f.Edges[i].From)
		s.member(f.Edges[i].To)
	}
	if c := f.Core; c != nil {
		for i := range c.Edges {
			s.member(c.Edges[i].From)
			s.member(c.Edges[i].To)
		}
	}
	s.readRecords()
	s.pair()
	s.connect()
	return s
}

// member is the index of the transaction, which is added where it is new.
func (s *Scene) member(id string) int {
	if i := s.IndexOf(id); i >= 0 {
		return i
	}
	f := s.Finding
	s.Members = append(s.Members, Member{
		ID: id, Short: words.ShortName(f, id), Name: f.Names[id], Level: f.Levels[id],
		Endpoint: f.Endpoints[id], Position: f.Positions[id],
	})
	return len(s.Members) - 1
}

// IndexOf is the index of the member with the id, -1 without one.
func (s *Scene) IndexOf(id string) int {
	return slices.IndexFunc(s.Members, func(m Member) bool { return m.ID == id })
}

// readRecords gives the members their records. A record that cannot be read is left out.
func (s *Scene) readRecords() {
	var d event.Decoder
	for _, raw := range s.Finding.History {
		var b event.Batch
		d.Decode(&b, event.Position{}, raw)
		if len(b.Txns) != 1 {
			continue
		}
		r := b.Record(&b.Txns[0])
		m := Member{ID: r.ID, Short: r.ID, Name: r.Name, Level: r.Isolation, Endpoint: r.Labels[finding.EndpointLabel]}
		at := &m
		if i := s.IndexOf(r.ID); i >= 0 && s.Members[i].Record == nil {
			at = &s.Members[i]
		}
		at.Record, at.Raw = &r, raw
		for i := range r.Ops {
			at.Ops = append(at.Ops, Op{Text: isolation.Operation(&r.Ops[i]), Key: r.Ops[i].Key})
		}
		if at == &m {
			s.Beside = append(s.Beside, m)
		}
	}
}

// Span is when the first member with times began, and the last one ended. ok is false where none has times.
func (s *Scene) Span() (from, to time.Time, ok bool) {
	var least, most int64
	for i := range s.Members {
		r := s.Members[i].Record
		if r == nil || r.Flags&event.HasTimes == 0 {
			continue
		}
		if !ok {
			least, most, ok = r.Start, r.End, true
		}
		least, most = min(least, r.Start), max(most, r.End)
	}
	return time.Unix(0, least), time.Unix(0, most), ok
}

// Tells says whether a picture shows more than names: an arrow, or an operation.
func (s *Scene) Tells() bool {
	return len(s.Arrows) > 0 || slices.ContainsFunc(s.Members, func(m Member) bool { return len(m.Ops) > 0 })
}

// Known says whether any member's record is there.
func (s *Scene) Known() bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.Record != nil })
}

// Shown are the indexes of the operations of m to show, at most most of them, in program order. Those
// that matter are taken first, then those on the same keys, then others. most is 1 at least.
func (m *Member) Shown(most int) []int {
	if len(m.Ops) <= most {
		all := make([]int, len(m.Ops))
		for i := range all {
			all[i] = i
		}
		return all
	}
	keys := map[string]bool{}
	for _, o := range m.Ops {
		if o.Matters {
			keys[o.Key] = true
		}
	}
	var shown []int
	for _, wanted := range []func(o *Op) bool{
		func(o *Op) bool { return o.Matters },
		func(o *Op) bool { return !o.Matters && keys[o.Key] },
		func(o *Op) bool { return !o.Matters && !keys[o.Key] },
	} {
		for i := range m.Ops {
			if len(shown) < most && wanted(&m.Ops[i]) {
				shown = append(shown, i)
			}
		}
	}
	slices.Sort(shown)
	return shown
}
