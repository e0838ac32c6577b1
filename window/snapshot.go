package window

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/saturation"
)

// head is the part of a machine that is small: written as JSON.
type head struct {
	Partitions []partition
	Watermark  int64
	Before     int64 // of Close
	Ended      bool  // Close came last
	RetiredAt  int64
	Tick       int64
	Logical    int64
	Untimed    bool
	Timed      bool
	Counters   Counters
	Certain    map[string]int64
	Uncertain  map[string]int64
	Open       []savedFinding
	Accusing   []string
	Revisions  map[string]int
	Recent     []recentFinding
	Waiting    []waitingFinding `json:",omitempty"`
	Panes      []savedPane
	Closed     []savedPane
	Groups     []savedGroup
	Edges      []waitingEdge `json:",omitempty"` // see horizon_wait.go
	Noticed    []string
	// Contradicted are the keys whose reads exclude each other.
	Contradicted []string
	Fitted       []string
	AskedFor     []int64 `json:",omitempty"`
	savedOngoing
	ManyMeanings bool `json:",omitempty"`
	savedFound
	Counting *counting       `json:",omitempty"`
	Sessions *closedSessions `json:",omitempty"`
	Faults   []*fault        `json:",omitempty"`
	Lost     *Lost           // nil: of an earlier version
	Marks    []event.Mark    `json:",omitempty"`
	Theories savedTheories

	LevelChanges  []savedLevelChange `json:",omitempty"`
	SaturatedFrom int                `json:",omitempty"`
	Clocked       bool               `json:",omitempty"`
	Apart         int64              `json:",omitempty"`
	Begun         []savedBegun       `json:",omitempty"`
	Gone          []savedEnded       `json:",omitempty"`
}

// savedOngoing has the findings about what goes on.
type savedOngoing struct {
	Weaker        *weaker `json:",omitempty"`
	Missed        news[*missedGroup]
	Contradictory news[*contradictoryGroup]
}

// savedTheories has the memory of theories that have one.
type savedTheories struct {
	InTime *narrated      `json:",omitempty"`
	Limits []savedLimited `json:",omitempty"`
	// PairsOut is of limits too.
	PairsOut int64 `json:",omitempty"`
	Owed     int64 `json:",omitempty"` // see search_credit.go
	// Squeezed is reports.squeezed.
	Squeezed int64 `json:",omitempty"`
}

type savedLevelChange struct {
	Before, After []string
	From          []incremental.Origin
}

type savedBegun struct {
	Level string
	begun
}

type savedEnded struct {
	Level string
	Ended
}

type savedFinding struct {
	Finding  finding.Finding
	Members  []uint32
	Edges    []incremental.EdgeID
	SetAside []setAsideEdge
	Level    string
	Weakest  []string
	Severity int
	Versions []uint32
	Values   []uint64
	Rests    []uint64
	Shown    []uint32
	Proofs   [][]uint64
	Upgraded bool
	Waiting  bool
	Due      int64    `json:",omitempty"`
	Sooner   int64    `json:",omitempty"`
	Shares   []uint64 `json:",omitempty"`
	Solid    bool     `json:",omitempty"`
	Lacked   []lacked `json:",omitempty"`
	MayLack  []lacked `json:",omitempty"`
	ByLists  bool     `json:",omitempty"`
}

// savedFound counts findings. An earlier version wrote two numbers of an anomaly.
type savedFound struct {
	Found  map[string][3]int64
	Unsure []string `json:",omitempty"`
}

type savedPane struct {
	Pane     Pane
	Live     int64
	Violated map[string]int64
	Asked    []int64 `json:",omitempty"`
}

type savedGroup struct {
	Class string
	Group horizonGroup
}

// AppendState writes all that the machine remembers to dst.
func (m *Machine) AppendState(dst []byte) []byte {
	return m.WriteState(flat.NewWriter(dst)).Bytes()
}

// WriteState is AppendState for a writer, which may leave large arrays where they are.
func (m *Machine) WriteState(dst *flat.Writer) *flat.Writer {
	h := head{
		Partitions:   m.clock.partitions,
		Watermark:    m.clock.watermark,
		Before:       m.clock.before,
		Ended:        m.closed,
		RetiredAt:    m.clock.retiredAt,
		Tick:         m.clock.tick,
		Logical:      m.clock.logical,
		Untimed:      m.untimed,
		Timed:        m.clock.timed,
		Counters:     m.Counters,
		Certain:      named(m.reports.verdicts.certain),
		Uncertain:    named(m.reports.verdicts.uncertain),
		Revisions:    m.reports.open.revisions,
		Recent:       m.reports.open.recent,
		Waiting:      m.reports.waiting.list,
		savedFound:   savedFound{m.reports.found, slices.Sorted(maps.Keys(m.reports.unsure))},
		Contradicted: m.reports.contradicted,
		Lost:         &m.reports.lost,
	}
	if len(m.sums.counting.Keys) > 0 {
		h.Counting = &m.sums.counting
	}
	h.Theories.Owed, h.Theories.Squeezed = m.finder.owed, m.reports.squeezed
	h.Theories.InTime = &m.timing.told
	h.Theories.Limits, h.Theories.PairsOut = m.finder.limits.save(), m.finder.limits.pairsOut
	h.Sessions, h.Faults, h.Marks = m.clock.closedSessions, m.reports.faults.list, m.reports.marks
	h.Fitted, h.AskedFor, h.ManyMeanings = isolation.LevelNames(m.sums.fitted), m.asking.askedFor, m.asking.asManyMeanings
	h.Missed, h.Contradictory = m.reports.missed, m.reports.contradictory
	if len(m.reports.weaker.Totals) > 0 {
		h.Weaker = &m.reports.weaker
	}
	for _, f := range m.reports.open.list {
		if !f.closed {
			h.Open = append(h.Open, savedFinding{
				f.Finding, f.members, f.edges, f.setAside, f.level.String(), isolation.LevelNames(f.weakest),
				f.severity, f.versions, f.values, f.rests, f.shown, f.proofs, f.upgraded, f.waiting, f.due, f.sooner, f.shares, f.solid, f.lacked, f.mayLack, f.byLists,
			})
		}
	}
	for _, f := range m.reports.open.accusing {
		if !f.closed {
			h.Accusing = append(h.Accusing, f.Finding.ID)
		}
	}
	for _, p := range m.reports.panes.list {
		h.Panes = append(h.Panes, savedPane{*p, p.live, named(p.violated), p.asked})
	}
	for _, p := range m.reports.panes.closed {
		h.Closed = append(h.Closed, savedPane{*p, p.live, named(p.violated), p.asked})
	}
	h.Edges = m.reports.horizon.waiting
	for _, k := range m.reports.horizon.order {
		h.Groups = append(h.Groups, savedGroup{k.class, *m.reports.horizon.groups[k]})
	}
	for class := range m.reports.horizon.noticed {
		h.Noticed = append(h.Noticed, class)
	}
	slices.Sort(h.Noticed)
	h.SaturatedFrom, h.Clocked, h.Apart = m.levelChanges.saturatedFrom, m.saturated.clocked, m.levelChanges.apart
	for _, t := range m.levelChanges.changes {
		h.LevelChanges = append(h.LevelChanges, savedLevelChange{isolation.LevelNames(t.before), isolation.LevelNames(t.after), t.from})
	}
	for _, b := range m.levelChanges.begun {
		h.Begun = append(h.Begun, savedBegun{b.level.String(), b})
	}
	for _, e := range m.levelChanges.ended {
		h.Gone = append(h.Gone, savedEnded{e.level.String(), e.Ended})
	}
	text, err := json.Marshal(&h)
	if err != nil {
		panic(fmt.Sprintf("window: head of a snapshot: %v", err)) // only strings and numbers are in it
	}
	dst = flat.Append(dst, "layout", m.layout())
	dst = flat.Append(dst, "head", text)
	dst = flat.Append(dst, "asked", m.asking.asked)
	dst = flat.Append(dst, "unreadOut", m.choices.unreadOut)
	dst = flat.Append(dst, "misfits", m.choices.misfits)
	dst = flat.Append(dst, "aside", m.choices.setAside)
	for i := range m.views {
		var f []lastFrozen
		if i < len(m.choices.frozen) {
			f = m.choices.frozen[i]
		}
		dst = flat.Append(dst, "frozen", f)
	}
	dst = m.graph.AppendState(dst)
	dst = m.saturated.appendState(dst)
	return m.infer.AppendState(dst)
}

func named(by map[isolation.Level]int64) map[string]int64 {
	out := map[string]int64{}
	for l, n := range by {
		out[l.String()] = n
	}
	return out
}

// ReadState replaces what a new machine with the same configuration remembers by
// what AppendState wrote.
func (m *Machine) ReadState(state []byte) error {
	r := &flat.Reader{Bytes: state}
	if err := m.readLayout(r); err != nil {
		return err
	}
	var text []byte
	flat.Read(r, "head", &text)
	if r.Err != nil {
		return fmt.Errorf("snapshot: %w", r.Err)
	}
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return fmt.Errorf("head of the snapshot: %w", err)
	}
	if h.Clocked && !m.saturated.clocked {
		m.saturated.clocked, m.saturated.sessions = true, saturation.New(true)
	}
	flat.Read(r, "asked", &m.asking.asked)
	if len(m.asking.asked) > 0 {
		m.finder.searcher.Asked = m.asking.askedOf
	}
	flat.Read(r, "unreadOut", &m.choices.unreadOut)
	flat.Read(r, "misfits", &m.choices.misfits)
	flat.Read(r, "aside", &m.choices.setAside)
	m.choices.frozen = make([][]lastFrozen, len(m.views))
	for i := range m.choices.frozen {
		flat.Read(r, "frozen", &m.choices.frozen[i])
	}
	if len(m.choices.misfits) == 0 {
		m.choices.frozen = nil
	}
	m.graph.ReadState(r)
	m.saturated.readState(r)
	m.infer.ReadState(r)
	if r.Err == nil && len(m.choices.unreadOut) != len(m.views) {
		r.Err = flat.ErrShort
	}
	if r.Err != nil {
		return fmt.Errorf("snapshot: %w", r.Err)
	}
	m.timing.restore(h.Theories.InTime)
	m.finder.owed, m.reports.squeezed = h.Theories.Owed, h.Theories.Squeezed
	m.finder.limits.pairsOut = h.Theories.PairsOut
	if err := m.finder.limits.restore(h.Theories.Limits); err != nil {
		return err
	}
	return m.sums.restore(&h)
}

func (s *sums) restore(h *head) error {
	s.clock.retiredAt, s.clock.before, s.closed = h.RetiredAt, h.Before, h.Ended
	s.clock.partitions, s.clock.watermark, s.clock.tick, s.clock.logical = h.Partitions, h.Watermark, h.Tick, h.Logical
	s.untimed, s.clock.timed, s.Counters, s.asking.askedFor = h.Untimed, h.Timed, h.Counters, h.AskedFor
	s.asking.mixed = s.asking.isMixed()
	s.asking.losing = s.asking.losesTrack()
	if h.Lost != nil {
		s.reports.lost = *h.Lost
	} else {
		s.reports.lost.Pieces = s.infer.Counters.Gaps // or the sessions' own: it is not known
	}
	var err error
	if s.reports.verdicts.certain, err = unnamed(h.Certain); err != nil {
		return err
	}
	if s.reports.verdicts.uncertain, err = unnamed(h.Uncertain); err != nil {
		return err
	}
	s.reports.open.init()
	if h.Revisions != nil {
		s.reports.open.revisions = h.Revisions
	}
	s.reports.open.recent = h.Recent
	s.reports.waiting.list = h.Waiting
	s.reports.waiting.earliest()
	for i := range h.Open {
		x := &h.Open[i]
		f := &openFinding{
			Finding:  x.Finding,
			members:  x.Members,
			edges:    x.Edges,
			setAside: x.SetAside,
			severity: x.Severity,
			versions: x.Versions,
			values:   x.Values,
			rests:    x.Rests,
			shown:    x.Shown,
			proofs:   x.Proofs,
			upgraded: x.Upgraded,
			waiting:  x.Waiting,
			due:      x.Due,
			sooner:   x.Sooner,
			shares:   x.Shares,
			solid:    x.Solid,
			lacked:   x.Lacked,
			mayLack:  x.MayLack,
			byLists:  x.ByLists,
		}
		if x.Level != "none" {
			if f.level, err = isolation.ParseLevel(x.Level); err != nil {
				return err
			}
		}
		if f.weakest, err = parseAll(x.Weakest); err != nil {
			return err
		}
		s.reports.open.add(f)
	}
	for _, id := range h.Accusing {
		if f := s.reports.open.ids[id]; f != nil {
			s.reports.open.accusing = append(s.reports.open.accusing, f)
		}
	}
	if s.reports.panes.list, err = restorePanes(h.Panes); err != nil {
		return err
	}
	if s.reports.panes.closed, err = restorePanes(h.Closed); err != nil {
		return err
	}
	for _, p := range s.reports.panes.closed {
		if !p.Closed {
			s.reports.panes.dirty++
		}
	}
	if h.Found != nil {
		s.reports.found = h.Found
	}
	for _, id := range h.Unsure {
		s.reports.noteUnsure(id)
	}
	if err = s.levelChanges.restoreChanges(h); err != nil {
		return err
	}
	s.clock.closedSessions.take(h.Sessions)
	s.reports.faults = newFaults(h.Faults)
	s.reports.marks = h.Marks
	s.reports.contradicted = h.Contradicted
	s.asking.asManyMeanings = h.ManyMeanings
	s.reports.missed, s.reports.contradictory = h.Missed, h.Contradictory
	if h.Weaker != nil {
		s.reports.weaker = *h.Weaker
	}
	if h.Counting != nil {
		s.counting = *h.Counting
		s.counting.restored()
	}
	if s.fitted, err = parseAll(h.Fitted); err != nil {
		return err
	}
	s.reports.horizon.init()
	s.reports.horizon.waiting = h.Edges
	for i := range h.Groups {
		g := h.Groups[i].Group
		if g.Named == nil { // of an earlier version, whose command named the first edge's
			g.Named, g.Unnamed = slices.Clone(g.Finding.Txns), g.Count-1
		}
		k := horizonKey{h.Groups[i].Class, g.Pane}
		s.reports.horizon.groups[k] = &g
		s.reports.horizon.order = append(s.reports.horizon.order, k)
	}
	for _, class := range h.Noticed {
		s.reports.horizon.noticed[class] = true
	}
	return nil
}

func (t *levelChanges) restoreChanges(h *head) (err error) {
	t.saturatedFrom, t.apart = h.SaturatedFrom, h.Apart
	for _, x := range h.LevelChanges {
		change := levelChange{from: x.From}
		if change.before, err = parseAll(x.Before); err != nil {
			return err
		}
		if change.after, err = parseAll(x.After); err != nil {
			return err
		}
		t.changes = append(t.changes, change)
	}
	for _, x := range h.Begun {
		if x.level, err = isolation.ParseLevel(x.Level); err != nil {
			return err
		}
		t.begun = append(t.begun, x.begun)
	}
	for _, x := range h.Gone {
		l, err := isolation.ParseLevel(x.Level)
		if err != nil {
			return err
		}
		t.ended = append(t.ended, ended{l, x.Ended})
	}
	return nil
}

func restorePanes(saved []savedPane) ([]*Pane, error) {
	var out []*Pane
	for i := range saved {
		p := saved[i].Pane
		p.live, p.asked = saved[i].Live, saved[i].Asked
		var err error
		if p.violated, err = unnamed(saved[i].Violated); err != nil {
			return nil, err
		}
		out = append(out, &p)
	}
	return out, nil
}

func unnamed(by map[string]int64) (map[isolation.Level]int64, error) {
	out := map[isolation.Level]int64{}
	for name, n := range by {
		l, err := isolation.ParseLevel(name)
		if err != nil {
			return nil, err
		}
		out[l] = n
	}
	return out, nil
}

func parseAll(names []string) ([]isolation.Level, error) {
	var ls []isolation.Level
	for _, name := range names {
		l, err := isolation.ParseLevel(name)
		if err != nil {
			return nil, err
		}
		ls = append(ls, l)
	}
	return ls, nil
}
