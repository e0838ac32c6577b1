package picture

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// The most that a picture shows; the rest is counted in words.
const (
	maxNodes   = 16
	maxOps     = 6
	maxChars   = 30 // of a line
	spareChars = 6  // of one that is not shortened
)

// node is a transaction in the picture.
type node struct {
	id    string // "" for the box that stands for those not drawn
	name  string // as the explanation calls it
	about []string
	ops   []op
	alone bool  // its operations contradict each other: a bracket joins them
	loop  int   // the scene's arrow between them
	at    point // centre
	w, h  float64
}

type op struct {
	text     string
	involved bool // a dependency begins or ends at it
}

// nodesOf are the boxes of the scene's members, and for each member the number of its box. A member that no arrow of a cycle
// meets has none, -1: the page lists it.
func nodesOf(s *scene.Scene) (nodes []node, boxes []int) {
	boxes = make([]int, len(s.Members))
	for i := range s.Members {
		if boxes[i] = -1; !apart(s, i) {
			boxes[i] = len(nodes)
			nodes = append(nodes, nodeOf(&s.Members[i]))
		}
	}
	for i, a := range s.Arrows {
		if n := &nodes[boxes[a.From]]; a.From == a.To && !n.alone {
			n.alone, n.loop = true, i
		}
	}
	return nodes, boxes
}

// cut joins the last boxes into one where there are too many. It follows [drawing.upright]: those that stay are neighbours.
func (d *drawing) cut() {
	hidden := len(d.nodes) - maxNodes + 1
	if hidden <= 1 {
		return
	}
	d.nodes = append(d.nodes[:maxNodes-1], node{name: "and " + plural(hidden, "transaction") + " more"})
	for i := range d.arrows {
		a := &d.arrows[i]
		a.from, a.to = min(a.from, maxNodes-1), min(a.to, maxNodes-1)
	}
	d.arrows = slices.DeleteFunc(d.arrows, func(a arrow) bool { return a.from == a.to })
}

// apart says whether the finding has a cycle, and the member is not on it.
func apart(s *scene.Scene, member int) bool {
	return len(s.Finding.Edges) > 0 && !slices.ContainsFunc(s.Arrows, func(a scene.Arrow) bool { return a.From == member || a.To == member })
}

func nodeOf(m *scene.Member) node {
	n := node{id: m.ID, name: clip(m.Title())}
	for _, line := range aboutOf(m) {
		n.about = append(n.about, clip(line))
	}
	shown := m.Shown(maxOps)
	if len(m.Ops) == maxOps+1 { // the line that counts it takes as much room
		shown = m.Shown(maxOps + 1)
	}
	for _, i := range shown {
		n.ops = append(n.ops, op{clip(m.Ops[i].Text), m.Ops[i].Matters})
	}
	if left := len(m.Ops) - len(shown); left > 0 {
		n.ops = append(n.ops, op{text: "… " + plural(left, "operation") + " more"})
	}
	return n
}

// aboutOf are the lines under the transaction's short name: id, template, session, server, outcome, level.
func aboutOf(m *scene.Member) (lines []string) {
	if m.Short != m.ID {
		lines = append(lines, m.ID)
	}
	if m.Name != "" {
		lines = append(lines, m.Name)
	}
	if r := m.Record; r != nil && r.Session != "" {
		session := "session " + r.Session
		if r.Flags&event.HasSeq != 0 {
			session += fmt.Sprintf(" #%d", r.Seq)
		}
		lines = append(lines, session)
	}
	if m.Endpoint != "" {
		lines = append(lines, "on "+m.Endpoint)
	}
	if m.Record != nil && m.Record.Status != event.Committed {
		lines = append(lines, m.Record.Status.String())
	}
	if m.Level != "" {
		lines = append(lines, m.Level)
	}
	return lines
}

// clip shortens a line in its middle: ids and keys differ at both ends. One that is little longer stays whole.
func clip(text string) string {
	text = finding.Visible(text) // as it is drawn
	if columns(text) <= maxChars+spareChars {
		return text
	}
	return clipTo(text, maxChars)
}

// clipTo leaves a bracket at the end closed. It counts columns of what is drawn, where hidden characters are written out.
func clipTo(text string, most int) string {
	text = finding.Visible(text)
	if columns(text) <= most {
		return text
	}
	if open := strings.LastIndexByte(text, '('); open > 0 && strings.HasSuffix(text, ")") {
		if end := columns(text[open:]); end <= most*2/3 {
			return beginOf(text, most-end-1) + "…" + text[open:]
		} else if columns(text)-end < most*2/3 {
			return beginOf(text, most-2) + "…)"
		}
	}
	return beginOf(text, most/2) + "…" + endOf(text, most/2-1)
}

// beginOf is the beginning of text that fits into so many columns.
func beginOf(text string, most int) string {
	for i, r := range text {
		if most -= columns(string(r)); most < 0 {
			return text[:i]
		}
	}
	return text
}

// endOf is the end of text that fits into so many columns.
func endOf(text string, most int) string {
	for i := len(text); i > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if most -= columns(string(r)); most < 0 {
			return text[i:]
		}
		i -= size
	}
	return text
}

// columns is the width of text in a fixed-width font; East Asian wide characters
// take two.
func columns(text string) (n int) {
	for _, r := range text {
		n++
		if unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || r >= 0x1f300 && r < 0x20000 {
			n++
		}
	}
	return n
}
