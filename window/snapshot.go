package window

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/saturation"
)

// layoutVersion counts changes of what AppendState writes beside the slabs.
const layoutVersion = 13

// With a turn of the levels, records of before it have another form: programs that do
// not know of turns must not read them.
const afterTurns = " turned"

func (m *Machine) signature() []byte {
	sig := flat.Signature(layoutVersion, unsafe.Sizeof(incremental.Edge{}), unsafe.Sizeof(isolation.Base(0)), unsafe.Sizeof(over{}), unsafe.Sizeof(overWrite{}))
	return fmt.Appendf(sig, " %s %s %v", infer.Signature(), saturation.Signature(), isolation.LevelNames(m.views))
}

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
	Noticed    []string
	// Contradicted are the keys of which reads exclude each other.
	Contradicted []string
	Fitted       []string
	AskedFor     []int64 `json:",omitempty"`
	Weaker       *weaker `json:",omitempty"`
	ManyMeanings bool    `json:",omitempty"`
	Found        map[string][2]int64
	Counting     *counting       `json:",omitempty"`
	Sessions     *closedSessions `json:",omitempty"`
	Faults       []*fault        `json:",omitempty"`
	Lost         *Lost           // nil: of an earlier version
	Marks        []event.Mark    `json:",omitempty"`

	Turns      []savedTurn  `json:",omitempty"`
	ForcedFrom int          `json:",omitempty"`
	Clocked    bool         `json:",omitempty"`
	Apart      int64        `json:",omitempty"`
	Begun      []savedBegun `json:",omitempty"`
	Gone       []savedEnded `json:",omitempty"`
}

type savedTurn struct {
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
	Asides   []aside
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
	h := head{
		Partitions: m.partitions, Watermark: m.watermark, Before: m.before, Ended: m.closed, RetiredAt: m.retiredAt, Tick: m.tick, Logical: m.logical,
		Untimed: m.untimed, Timed: m.timed, Counters: m.Counters,
		Certain: named(m.verdicts.certain), Uncertain: named(m.verdicts.uncertain),
		Revisions: m.open.revisions, Recent: m.open.recent, Waiting: m.waiting.list, Found: m.found,
		Contradicted: m.contradicted, Lost: &m.lost,
	}
	if len(m.counting.Keys) > 0 {
		h.Counting = &m.counting
	}
	h.Sessions, h.Faults, h.Marks = m.closedSessions, m.faults.list, m.marks
	h.Fitted, h.AskedFor, h.ManyMeanings = isolation.LevelNames(m.fitted), m.askedFor, m.asManyMeanings
	if len(m.weaker.Totals) > 0 {
		h.Weaker = &m.weaker
	}
	for _, f := range m.open.list {
		if !f.closed {
			h.Open = append(h.Open, savedFinding{
				f.Finding, f.members, f.edges, f.asides, f.level.String(), isolation.LevelNames(f.weakest),
				f.severity, f.versions, f.values, f.rests, f.shown, f.proofs, f.upgraded, f.waiting, f.due, f.sooner, f.shares,
			})
		}
	}
	for _, f := range m.open.accusing {
		if !f.closed {
			h.Accusing = append(h.Accusing, f.Finding.ID)
		}
	}
	for _, p := range m.panes.list {
		h.Panes = append(h.Panes, savedPane{*p, p.live, named(p.violated), p.asked})
	}
	for _, p := range m.panes.closed {
		h.Closed = append(h.Closed, savedPane{*p, p.live, named(p.violated), p.asked})
	}
	for _, k := range m.horizon.order {
		h.Groups = append(h.Groups, savedGroup{k.class, *m.horizon.groups[k]})
	}
	for class := range m.horizon.noticed {
		h.Noticed = append(h.Noticed, class)
	}
	slices.Sort(h.Noticed)
	h.ForcedFrom, h.Clocked, h.Apart = m.forcedFrom, m.forced.clocked, m.apart
	for _, t := range m.turns {
		h.Turns = append(h.Turns, savedTurn{isolation.LevelNames(t.before), isolation.LevelNames(t.after), t.from})
	}
	for _, b := range m.begun {
		h.Begun = append(h.Begun, savedBegun{b.level.String(), b})
	}
	for _, e := range m.ended {
		h.Gone = append(h.Gone, savedEnded{e.level.String(), e.Ended})
	}
	text, err := json.Marshal(&h)
	if err != nil {
		panic(fmt.Sprintf("window: head of a snapshot: %v", err)) // only strings and numbers are in it
	}
	sig := m.signature()
	if len(m.turns) > 0 {
		sig = append(sig, afterTurns...)
	}
	dst = flat.Append(dst, sig)
	dst = flat.Append(dst, text)
	dst = flat.Append(dst, m.asked)
	dst = flat.Append(dst, m.unreadOut)
	dst = flat.Append(dst, m.misfits)
	dst = flat.Append(dst, m.aside)
	for i := range m.views {
		var f []lastFrozen
		if i < len(m.frozen) {
			f = m.frozen[i]
		}
		dst = flat.Append(dst, f)
	}
	dst = m.graph.AppendState(dst)
	dst = m.forced.appendState(dst)
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
	var sig, text []byte
	flat.Read(r, &sig)
	if r.Err == nil && strings.TrimSuffix(string(sig), afterTurns) != string(m.signature()) {
		return fmt.Errorf("snapshot of layout %q, this program reads %q", sig, m.signature())
	}
	flat.Read(r, &text)
	if r.Err != nil {
		return fmt.Errorf("snapshot: %w", r.Err)
	}
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return fmt.Errorf("head of the snapshot: %w", err)
	}
	if h.Clocked && !m.forced.clocked {
		m.forced.clocked, m.forced.sessions = true, saturation.New(true)
	}
	flat.Read(r, &m.asked)
	if len(m.asked) > 0 {
		m.searcher.Asked = m.askedOf
	}
	flat.Read(r, &m.unreadOut)
	flat.Read(r, &m.misfits)
	flat.Read(r, &m.aside)
	m.frozen = make([][]lastFrozen, len(m.views))
	for i := range m.frozen {
		flat.Read(r, &m.frozen[i])
	}
	if len(m.misfits) == 0 {
		m.frozen = nil
	}
	m.graph.ReadState(r)
	m.forced.readState(r)
	m.infer.ReadState(r)
	if r.Err == nil && len(m.unreadOut) != len(m.views) {
		r.Err = flat.ErrShort
	}
	if r.Err != nil {
		return fmt.Errorf("snapshot: %w", r.Err)
	}
	return m.restore(&h)
}

func (m *Machine) restore(h *head) error {
	m.retiredAt, m.before, m.closed = h.RetiredAt, h.Before, h.Ended
	m.partitions, m.watermark, m.tick, m.logical = h.Partitions, h.Watermark, h.Tick, h.Logical
	m.untimed, m.timed, m.Counters, m.askedFor = h.Untimed, h.Timed, h.Counters, h.AskedFor
	if h.Lost != nil {
		m.lost = *h.Lost
	} else {
		m.lost.Pieces = m.infer.Counters.Gaps // or the sessions' own: it is not known
	}
	var err error
	if m.verdicts.certain, err = unnamed(h.Certain); err != nil {
		return err
	}
	if m.verdicts.uncertain, err = unnamed(h.Uncertain); err != nil {
		return err
	}
	m.open.init()
	if h.Revisions != nil {
		m.open.revisions = h.Revisions
	}
	m.open.recent = h.Recent
	m.waiting.list = h.Waiting
	m.waiting.earliest()
	for i := range h.Open {
		x := &h.Open[i]
		f := &openFinding{
			Finding: x.Finding, members: x.Members, edges: x.Edges, asides: x.Asides, severity: x.Severity,
			versions: x.Versions, values: x.Values, rests: x.Rests, shown: x.Shown, proofs: x.Proofs, upgraded: x.Upgraded, waiting: x.Waiting, due: x.Due, sooner: x.Sooner, shares: x.Shares,
		}
		if x.Level != "none" {
			if f.level, err = isolation.ParseLevel(x.Level); err != nil {
				return err
			}
		}
		if f.weakest, err = parseAll(x.Weakest); err != nil {
			return err
		}
		m.open.add(f)
	}
	for _, id := range h.Accusing {
		if f := m.open.ids[id]; f != nil {
			m.open.accusing = append(m.open.accusing, f)
		}
	}
	if m.panes.list, err = restorePanes(h.Panes); err != nil {
		return err
	}
	if m.panes.closed, err = restorePanes(h.Closed); err != nil {
		return err
	}
	for _, p := range m.panes.closed {
		if !p.Closed {
			m.panes.dirty++
		}
	}
	if h.Found != nil {
		m.found = h.Found
	}
	if err = m.restoreTurns(h); err != nil {
		return err
	}
	m.closedSessions.take(h.Sessions)
	m.faults = newFaults(h.Faults)
	m.marks = h.Marks
	m.contradicted = h.Contradicted
	m.asManyMeanings = h.ManyMeanings
	if h.Weaker != nil {
		m.weaker = *h.Weaker
	}
	if h.Counting != nil {
		m.counting = *h.Counting
		m.counting.restored()
	}
	if m.fitted, err = parseAll(h.Fitted); err != nil {
		return err
	}
	m.horizon.init()
	for i := range h.Groups {
		g := h.Groups[i].Group
		if g.Named == nil { // of an earlier version, whose command named the first edge's
			g.Named, g.Unnamed = slices.Clone(g.Finding.Txns), g.Count-1
		}
		k := horizonKey{h.Groups[i].Class, g.Pane}
		m.horizon.groups[k] = &g
		m.horizon.order = append(m.horizon.order, k)
	}
	for _, class := range h.Noticed {
		m.horizon.noticed[class] = true
	}
	return nil
}

func (m *Machine) restoreTurns(h *head) (err error) {
	m.forcedFrom, m.apart = h.ForcedFrom, h.Apart
	for _, x := range h.Turns {
		t := levelTurn{from: x.From}
		if t.before, err = parseAll(x.Before); err != nil {
			return err
		}
		if t.after, err = parseAll(x.After); err != nil {
			return err
		}
		m.turns = append(m.turns, t)
	}
	for _, x := range h.Begun {
		if x.level, err = isolation.ParseLevel(x.Level); err != nil {
			return err
		}
		m.begun = append(m.begun, x.begun)
	}
	for _, x := range h.Gone {
		l, err := isolation.ParseLevel(x.Level)
		if err != nil {
			return err
		}
		m.ended = append(m.ended, ended{l, x.Ended})
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
