package picture

import (
	"fmt"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// mark is an outside event.
type mark struct {
	span
	number int // in the list of events, from 1: a page numbers its list alike
	name   string
	text   string // what its record tells
	open   bool   // it had not ended
	lane   int    // the line of its label, from 0
}

// labelAir is the least room between two labels of a line, in user units.
const labelAir = 8

// takeMarks reads the outside events that have a time, and gives their labels lines of their own where they
// would cover each other.
func (t *timeline) takeMarks(marks []finding.Mark) {
	var ends []float64 // of the last label, by line
	for i, m := range marks {
		from, err := time.Parse(time.RFC3339Nano, m.Start)
		if err != nil {
			continue
		}
		x := mark{span: span{from.UnixNano(), max(t.all.to, from.UnixNano())}, number: i + 1, name: m.Name, text: m.Text, open: true}
		if to, err := time.Parse(time.RFC3339Nano, m.End); err == nil {
			x.to, x.open = max(to.UnixNano(), x.from), false
		}
		at, wide := t.label(&x)
		for x.lane < len(ends) && ends[x.lane] > at {
			x.lane++
		}
		if x.lane == len(ends) {
			ends = append(ends, 0)
		}
		ends[x.lane] = at + wide + labelAir
		t.marks = append(t.marks, x)
	}
	t.lanes = len(ends)
}

// outside says whether m has no instant in common with the transactions: a band would lie about it.
func (t *timeline) outside(m *mark) bool { return m.to < t.all.from || m.from > t.all.to }

// sign is the text at the mark: its number, with an arrow where it goes on beyond an edge. Outside stands how far
// off it is.
func (t *timeline) sign(m *mark) string {
	n := fmt.Sprint(m.number)
	switch {
	case m.to < t.all.from:
		return "← " + n + "  " + finding.Lasting(time.Duration(t.all.from-m.to)) + " before"
	case m.from > t.all.to:
		return n + "  " + finding.Lasting(time.Duration(m.from-t.all.to)) + " after →"
	}
	if m.from < t.all.from {
		n = "← " + n
	}
	if m.to > t.all.to || m.open {
		n += " →"
	}
	return n
}

// label is where the sign of m begins, and how wide it is.
func (t *timeline) label(m *mark) (at, wide float64) {
	wide = float64(columns(t.sign(m))) * charWidth
	return max(min(t.x(m.from), t.width-margin-wide), margin), wide
}

// writeMark draws the band of m down to the bottom, where it lies beside the transactions, and its sign.
func (t *timeline) writeMark(m *mark, bottom float64) {
	if !t.outside(m) {
		from, to := t.x(m.from), t.x(m.to)
		t.printf(`<rect class="mark" x="%.1f" y="%d" width="%.1f" height="%.1f"/>`+"\n", from, margin, max(to-from, leastBar), bottom-margin)
	}
	at, _ := t.label(m)
	t.text("legend", at, float64(margin+(m.lane+1)*lineHeight-5), t.sign(m))
}

// meaning is the mark in the legend: its number, when it was by the start of the first transaction, and its name. As much of its text
// follows as fits.
func (t *timeline) meaning(m *mark) string {
	when := offset(m.from - t.all.from)
	switch {
	case m.open:
		when += ", not ended"
	case m.to != m.from:
		when += " to " + offset(m.to-t.all.from)
	}
	head := fmt.Sprintf("▒ %d  %s  ", m.number, when)
	room := max(int((t.width-2*margin)/charWidth)-columns(head), 8)
	name := clipTo(m.name, room)
	if left := room - columns(name+": "); m.text != "" && left >= leastText {
		return head + name + ": " + startOf(m.text, left)
	}
	return head + name
}

// leastText of a mark is worth its room.
const leastText = 6

// startOf is the first part of a text that is too wide.
func startOf(text string, most int) string {
	text = finding.Visible(text)
	if columns(text) <= most {
		return text
	}
	return beginOf(text, most-1) + "…"
}

// offset is a stretch of time with its sign.
func offset(ns int64) string {
	if ns < 0 {
		return finding.Lasting(time.Duration(ns))
	}
	return "+" + finding.Lasting(time.Duration(ns))
}

// happened says the marks in words.
func (t *timeline) happened() string {
	var b strings.Builder
	for i := range t.marks {
		fmt.Fprintf(&b, " %s.", strings.TrimPrefix(t.meaning(&t.marks[i]), "▒ "))
	}
	return b.String()
}
