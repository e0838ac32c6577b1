package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// Sizes of a timeline, in user units.
const (
	WideTime   = 720 // the width of a timeline for a page with room: of 769 px, where it shrinks a little, or more
	NarrowTime = 312 // and for one of 360 px
	mostLines  = 8   // of operations below a bar
	barHeight  = 10
	leastBar   = 3                        // the least width of a bar
	txnHeight  = 2*lineHeight + barHeight // beside its operations
	barBelow   = lineHeight + 5           // from the line above a transaction to its bar
	ruleBeyond = 2                        // a line of the axis begins above a bar, and ends below it
	// sessionHeight is the height of the line that names a session.
	sessionHeight = lineHeight + 4
	tickEvery     = 110 // about so far apart are two ticks
	inSeconds     = 10 * int64(time.Second)
	axisLines     = 4 // the axis: air, ticks, when it begins in UTC, and in the zone of the reader
)

// span is a stretch of time, in ns since the Unix epoch.
type span struct{ from, to int64 }

// timed are the transactions of a session, by their start, those without times last.
type timed struct {
	session string
	members []*scene.Member
}

// timeline is a picture of transactions by session and time.
type timeline struct {
	*drawing
	width    float64
	all      span
	sessions []timed
	marks    []mark
	lanes    int // lines above the transactions, for the labels of marks
}

// Timeline shows when the transactions ran, by session. Each has a bar from start to end, and the operations
// that matter. One whose record has no times has no bar, such as one of unknown outcome without an end. Marks show what
// happened beside them, and at the edges what happened before and after. It is nil where no record has times. width is
// [WideTime] or [NarrowTime].
func Timeline(s *scene.Scene, marks []finding.Mark, width int) []byte {
	t := timeline{drawing: &drawing{finding: s.Finding}, width: float64(width)}
	t.prefix = prefixOf(s, fmt.Sprintf("t%d", width))
	if !t.take(s, marks) {
		return nil
	}
	t.write()
	return t.out.Bytes()
}

// take sorts the members, and says whether any has times.
func (t *timeline) take(s *scene.Scene, marks []finding.Mark) (known bool) {
	for i := range s.Members {
		m := &s.Members[i]
		r := m.Record
		if r == nil {
			continue
		}
		if hasTimes(m) {
			if !known {
				t.all, known = span{r.Start, r.End}, true
			}
			t.all = span{min(t.all.from, r.Start), max(t.all.to, r.End)}
		}
		at := slices.IndexFunc(t.sessions, func(x timed) bool { return x.session == r.Session && r.Session != "" })
		if at < 0 {
			at = len(t.sessions)
			t.sessions = append(t.sessions, timed{session: r.Session})
		}
		t.sessions[at].members = append(t.sessions[at].members, m)
	}
	for _, x := range t.sessions {
		slices.SortStableFunc(x.members, byStart)
	}
	slices.SortStableFunc(t.sessions, func(a, b timed) int { return byStart(a.members[0], b.members[0]) })
	t.takeMarks(marks)
	return known
}

func hasTimes(m *scene.Member) bool { return m.Record.Flags&event.HasTimes != 0 }

func byStart(a, b *scene.Member) int {
	if hasTimes(a) && hasTimes(b) {
		return cmp.Compare(a.Record.Start, b.Record.Start)
	}
	if hasTimes(a) {
		return -1
	}
	if hasTimes(b) {
		return 1
	}
	return 0
}

// x is where the time is. One outside the picture is at its edge.
func (t *timeline) x(at int64) float64 {
	length := max(t.all.to-t.all.from, 1)
	at = min(max(at, t.all.from), t.all.to)
	return margin + float64(at-t.all.from)/float64(length)*(t.width-2*margin-leastBar)
}

// top is where the sessions begin, below the labels of marks.
func (t *timeline) top() float64 { return float64(margin + t.lanes*lineHeight) }

func (t *timeline) height() float64 {
	h := 2*margin + float64(len(t.sessions)*sessionHeight+(axisLines+len(t.marks)+t.lanes)*lineHeight)
	for _, x := range t.sessions {
		for _, m := range x.members {
			h += t.rowHeight(m)
		}
	}
	return h
}

func (t *timeline) write() {
	h := t.height()
	t.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="isowatch" role="img" aria-labelledby="%s-t %[1]s-d" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+"\n",
		t.prefix, t.width, h, t.width, h)
	t.printf(`<title id="%s-t">Timeline of %s</title>`+"\n", t.prefix, escape(t.title()))
	t.printf(`<desc id="%s-d">%s</desc>`+"\n", t.prefix, escape(t.order()+t.happened()))
	t.printf("<style>%s</style>\n", style)
	for i := range t.marks {
		t.writeMark(&t.marks[i], h-margin-float64(axisLines-1+len(t.marks))*lineHeight)
	}
	t.writeTicks(h)
	y := t.top()
	for _, x := range t.sessions {
		y += sessionHeight
		session := "no session"
		if x.session != "" {
			session = "session " + x.session
		}
		t.text("about", margin, y, clipTo(session, t.room()))
		for _, m := range x.members {
			t.writeTxn(m, y)
			y += t.rowHeight(m)
		}
	}
	y = h - float64(margin) - float64(len(t.marks))*lineHeight
	for i := range t.marks {
		y += lineHeight
		t.text("legend", margin, y-5, t.meaning(&t.marks[i]))
	}
	t.printf("</svg>\n")
}

// order says in words when each transaction began and ended.
func (t *timeline) order() string {
	var b strings.Builder
	for _, x := range t.sessions {
		for _, m := range x.members {
			if !hasTimes(m) {
				fmt.Fprintf(&b, "%s without times. ", m.Title())
				continue
			}
			fmt.Fprintf(&b, "%s from %s to %s. ", m.Title(), t.since(m.Record.Start), t.since(m.Record.End))
		}
	}
	return strings.TrimSpace(b.String())
}

// since is a time as milliseconds since the first start.
func (t *timeline) since(at int64) string { return milliseconds(at-t.all.from) + " ms" }

// milliseconds are ns as ms, without zeros at the end.
func milliseconds(ns int64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.6f", float64(ns)/1e6), "0"), ".")
}

// rules is the path of a line of the axis at x: it crosses bars, and no text.
func (t *timeline) rules(x, end float64) string {
	var b strings.Builder
	y := t.top()
	for _, s := range t.sessions {
		y += sessionHeight
		for _, m := range s.members {
			if hasTimes(m) {
				fmt.Fprintf(&b, "M%.1f %.1fV%.1f", x, y+barBelow-ruleBeyond, y+barBelow+barHeight+ruleBeyond)
			}
			y += t.rowHeight(m)
		}
	}
	fmt.Fprintf(&b, "M%.1f %.1fV%.1f", x, end-ruleBeyond, end)
	return b.String()
}

// writeTicks draws the axis at the bottom.
func (t *timeline) writeTicks(h float64) {
	bottom := h - margin - float64(axisLines-2+len(t.marks))*lineHeight
	length := max(t.all.to-t.all.from, 0) // a record can lie about its times
	step := round(length / max(int64(t.width)/tickEvery, 2))
	if step > length { // one tick alone says nothing
		step = round(length / 3)
	}
	unit, scale := "ms", int64(1)
	if length >= inSeconds {
		unit, scale = "s", 1000
	}
	for i := range length/step + 1 {
		at := t.all.from + i*step
		x, anchor := t.x(at), "middle"
		switch {
		case at == t.all.from:
			anchor = "start"
		case x > t.width-margin-3*charWidth:
			anchor = "end"
		}
		t.printf(`<path class="rule" d="%s"/>`, t.rules(x, bottom-lineHeight+4))
		t.printf(`<text class="legend" x="%.1f" y="%.1f" text-anchor="%s">+%s</text>`+"\n", x, bottom-2, anchor, milliseconds((at-t.all.from)/scale))
	}
	begins := time.Unix(0, t.all.from).UTC()
	t.text("legend", margin, bottom+lineHeight-4, unit+" since "+begins.Format("2006-01-02 15:04:05.000000")+" UTC")
	// A page's script fills it in.
	t.printf(`<text class="legend" x="%d" y="%.1f" data-local="%s"></text>`+"\n", margin, bottom+2*lineHeight-4, begins.Format(time.RFC3339Nano))
}

// round is the least of 1, 2, 5, 10, 20, 50 and so on that is ns at least.
func round(ns int64) int64 {
	for of := int64(1); ; of *= 10 {
		for _, k := range []int64{1, 2, 5} {
			if of*k >= ns {
				return of * k
			}
		}
	}
}

// writeTxn draws a transaction below y.
func (t *timeline) writeTxn(m *scene.Member, y float64) {
	r := m.Record
	head := m.Title()
	if m.Name != "" && m.Of != scene.Second { // it stands above
		head += " " + m.Name
	}
	if r.Status != event.Committed {
		head += ", " + r.Status.String()
	}
	lasting := ", no times"
	if hasTimes(m) {
		lasting = "  " + finding.Lasting(time.Duration(r.End-r.Start))
	}
	t.text("name", margin, y+lineHeight, clipTo(head, max(t.room()-16, 12))+lasting)
	if hasTimes(m) {
		from, to := t.x(r.Start), t.x(r.End)
		t.printf(`<rect class="bar %s" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="3"/>`+"\n", r.Status, from, y+barBelow, max(to-from, leastBar), barHeight)
	}
	for i, line := range t.operations(m) {
		t.text("op", margin, y+float64(2+i)*lineHeight+barHeight+4, line)
	}
}

// room is how many characters a line has room for.
func (t *timeline) room() int { return int((t.width - 2*margin) / charWidth) }

func (t *timeline) rowHeight(m *scene.Member) float64 {
	return float64(txnHeight + len(t.operations(m))*lineHeight)
}

// operations are the lines that tell the operations that matter: one line where they fit, or else one for each.
func (t *timeline) operations(m *scene.Member) []string {
	var ops []string
	for _, o := range m.Ops {
		if o.Matters {
			ops = append(ops, finding.Visible(o.Text)) // as it is drawn
		}
	}
	if text := strings.Join(ops, ", "); columns(text) <= t.room() {
		return []string{text}
	}
	if more := len(ops) - mostLines; more > 0 {
		ops = append(ops[:mostLines-1], fmt.Sprintf("and %d more", more+1))
	}
	for i := range ops {
		ops[i] = clipTo(ops[i], t.room())
	}
	return ops
}

func (t *timeline) text(class string, x, y float64, text string) {
	if text != "" {
		t.printf(`<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, escape(text))
	}
}
