package page

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// Parts is how many parts of its span a strip shows.
const Parts = 60

// Cell is a part of a strip.
type Cell uint8

const (
	NoData Cell = iota
	OK
	Open // no violation was found, and only the contract leaves it unknown
	Unknown
	Violated
	InWork // its panes are not closed yet
)

// Sizes of a strip, in user units.
const (
	cellWidth   = 5
	stripHeight = 18
)

// cells are how a part is drawn: a class, and a height that tells it from others without colours.
var cells = [...]struct {
	class  string
	height int
	word   string
}{NoData: {"nodata", 2, "without data"}, OK: {"ok", 8, "ok"}, Open: {"open", 8, "no violation found"}, Unknown: {"unknown", 12, "unknown"}, Violated: {"violated", stripHeight, "violated"}, InWork: {"inwork", 8, "in work"}}

// Strip is the verdict on a level in each part of a span.
type Strip struct {
	Name  string // of the level
	Cells [Parts]Cell
	// Begins is when it begins, and Part how long a part is. The zero time: that is not known.
	Begins time.Time
	Part   time.Duration
	Link   func(from, to time.Time) string // of a violated stretch; nil: there is none
}

// Words says what the strip shows.
func (s *Strip) Words() string {
	var n [len(cells)]int
	for _, c := range s.Cells {
		n[c]++
	}
	var texts []string
	for c := len(cells) - 1; c >= 0; c-- {
		if n[c] > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n[c], cells[c].word))
		}
	}
	return fmt.Sprintf("%s, %d parts: %s", s.Name, Parts, strings.Join(texts, ", "))
}

// SVG is the strip as a picture. All of its texts are ours but the level's name, which is one of a table. Where it is known
// when the strip begins, stretches say when they were. Violated ones are links, where there is something to link to.
func (s *Strip) SVG() template.HTML {
	var b strings.Builder
	text, role := template.HTMLEscapeString(s.Words()), "img"
	timed := !s.Begins.IsZero()
	if timed && s.Link != nil {
		role = "group" // its links are told
	}
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="%[4]s" aria-label="%[3]s">`, Parts*cellWidth, stripHeight, text, role)
	if !timed {
		fmt.Fprintf(&b, `<title>%s</title>`, text)
	}
	for i := 0; i < Parts; {
		end := i
		for end < Parts && s.Cells[end] == s.Cells[i] {
			end++
		}
		c := cells[s.Cells[i]]
		look := ""
		if s.Cells[i] == InWork {
			look = ` fill="none" stroke="currentColor" stroke-dasharray="2 2"`
		}
		box := fmt.Sprintf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d"%s>`, c.class, i*cellWidth, stripHeight-c.height, (end-i)*cellWidth, c.height, look)
		if timed {
			from, to := s.Begins.Add(time.Duration(i)*s.Part), s.Begins.Add(time.Duration(end)*s.Part)
			said := c.word + ", " + Stretch(from, to)
			box += Tip(said, from, to) + "</rect>"
			if s.Cells[i] == Violated && s.Link != nil {
				box = fmt.Sprintf(`<a href="%s" aria-label="%s">%s</a>`, template.HTMLEscapeString(s.Link(from, to)), said, box)
			}
		} else {
			box += "</rect>"
		}
		b.WriteString(box)
		i = end
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// Stretch is a stretch of time in words: to a minute, or to a second where it is short and not of whole minutes.
func Stretch(from, to time.Time) string {
	form := "2006-01-02 15:04"
	whole := from.Equal(from.Truncate(time.Minute)) && to.Equal(to.Truncate(time.Minute))
	if !whole && to.Sub(from) < 10*time.Minute {
		form = "2006-01-02 15:04:05"
	}
	return from.UTC().Format(form) + " to " + to.UTC().Format(form) + " UTC"
}

// Tip is a tip about a stretch of time. A page's script adds when that is where the reader is.
func Tip(said string, from, to time.Time) string {
	return fmt.Sprintf(`<title data-from="%s" data-to="%s">%s</title>`, from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), said)
}

// Pane is the verdicts of a stretch, by level. Start and End are ns since the Unix epoch, or count transactions.
type Pane struct {
	Start, End int64
	Verdicts   map[string]string
	ByContract []string // levels that are unknown only for what the contract leaves open
}

// stripOf is the strip of a level over all panes; nil with fewer than two panes, which have nothing to show over time.
func stripOf(level string, panes []Pane, timed bool) *Strip {
	if len(panes) < 2 {
		return nil
	}
	first, last := spanOf(panes)
	long := max((last-first+Parts-1)/Parts, 1)
	s := &Strip{Name: level, Part: time.Duration(long)}
	if timed {
		s.Begins = time.Unix(0, first)
	}
	known := false
	for i := range panes {
		p := &panes[i]
		verdict, judged := p.Verdicts[level]
		if !judged {
			continue
		}
		known = true
		c := cellOf(verdict, p.ByContract, level)
		from, to := (p.Start-first)/long, max((p.End-first+long-1)/long, (p.Start-first)/long+1)
		for at := from; at < min(to, Parts); at++ {
			s.Cells[at] = max(s.Cells[at], c)
		}
	}
	if !known {
		return nil
	}
	return s
}

// spanOf is when the first pane begins and the last one ends.
func spanOf(panes []Pane) (first, last int64) {
	first, last = panes[0].Start, panes[0].End
	for i := range panes {
		first, last = min(first, panes[i].Start), max(last, panes[i].End)
	}
	return first, last
}

func cellOf(verdict string, byContract []string, level string) Cell {
	switch verdict {
	case "violated":
		return Violated
	case "ok":
		return OK
	}
	for _, l := range byContract {
		if l == level {
			return Open
		}
	}
	return Unknown
}
