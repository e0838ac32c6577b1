package picture

import (
	"bytes"
	"math"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// Sizes in user units, which are CSS pixels.
const (
	padding      = 10
	lineHeight   = 17
	ruleHeight   = 10 // between the head of a box and its operations
	charWidth    = 7.3
	minWidth     = 110
	labelHeight  = 20
	legendHeight = 20
	legendLine   = 42
	margin       = 8
	leastRing    = 60.0 // half of a ring's width
	mostRing     = 300.0
)

type point struct{ x, y float64 }

type rect struct{ left, top, right, bottom float64 }

func (r rect) width() float64  { return r.right - r.left }
func (r rect) height() float64 { return r.bottom - r.top }

func (r rect) contains(p point) bool {
	return r.left <= p.x && p.x <= r.right && r.top <= p.y && p.y <= r.bottom
}

func (r rect) overlaps(o rect) bool {
	return r.left < o.right && o.left < r.right && r.top < o.bottom && o.top < r.bottom
}

func (r rect) union(o rect) rect {
	return rect{min(r.left, o.left), min(r.top, o.top), max(r.right, o.right), max(r.bottom, o.bottom)}
}

// curve is a quadratic Bézier: start, control, end.
type curve [3]point

func (c curve) at(t float64) point {
	a, b, d := (1-t)*(1-t), 2*t*(1-t), t*t
	return point{a*c[0].x + b*c[1].x + d*c[2].x, a*c[0].y + b*c[1].y + d*c[2].y}
}

// part is the piece of c between two parameters (de Casteljau).
func (c curve) part(from, to float64) curve {
	mix := func(p, q point, t float64) point { return point{p.x + (q.x-p.x)*t, p.y + (q.y-p.y)*t} }
	control := mix(mix(c[0], c[1], from), mix(c[1], c[2], from), to)
	return curve{c.at(from), control, c.at(to)}
}

// arrow is a dependency in the picture.
type arrow struct {
	of       int // the scene's arrow
	from, to int // nodes
	kind     string
	label    string
	curve    curve   // in a ring
	path     []point // in a column
	pill     rect    // of the label, in a column
}

// middle is where the label's centre is.
func (a *arrow) middle() point {
	if a.path != nil {
		return point{(a.pill.left + a.pill.right) / 2, (a.pill.top + a.pill.bottom) / 2}
	}
	return a.curve.at(0.5)
}

// labelRect is where the label is.
func (a *arrow) labelRect() rect {
	at, w := a.middle(), labelWidth(a.label)
	return rect{at.x - w/2, at.y - labelHeight/2, at.x + w/2, at.y + labelHeight/2}
}

type drawing struct {
	finding  *finding.Finding
	nodes    []node
	arrows   []arrow
	evidence Evidence
	prefix   string
	out      bytes.Buffer
}

// newDrawing has the boxes and the arrows, which no layout has placed yet.
func newDrawing(s *scene.Scene) *drawing {
	d := &drawing{finding: s.Finding}
	var boxes []int
	d.nodes, boxes = nodesOf(s)
	for i, a := range s.Arrows {
		from, to := boxes[a.From], boxes[a.To]
		if from != to {
			d.arrows = append(d.arrows, arrow{of: i, from: from, to: to, kind: kindOf(a.Edge), label: clip(label(a.Edge))})
		}
	}
	d.upright()
	d.cut()
	for i := range d.nodes {
		d.nodes[i].measure()
	}
	return d
}

// ring places the boxes on a ring. It grows wider while a label lies over a box or another label, as with arrows across
// the ring. A ring that stays crowded becomes a column.
func (d *drawing) ring() {
	for wide := leastRing; wide <= mostRing; wide += 20 {
		d.place(wide)
		for i := range d.arrows {
			d.bend(i)
		}
		if !d.crowded() {
			return
		}
	}
	d.column()
}

// crowded says whether labels overlap, or cover a box or another arrow, or an arrow runs below a box.
func (d *drawing) crowded() bool {
	for i := range d.arrows {
		a := d.arrows[i].labelRect()
		for j := range d.nodes {
			box := d.nodes[j].rect()
			if a.overlaps(box) || j != d.arrows[i].from && j != d.arrows[i].to && d.arrows[i].curve.meets(box) {
				return true
			}
		}
		for j := range d.arrows {
			if j < i && a.overlaps(d.arrows[j].labelRect()) || j != i && d.arrows[j].curve.meets(a) {
				return true
			}
		}
	}
	return false
}

// indexOf is the transaction's node, or the one that stands for the rest.
func (d *drawing) indexOf(id string) int {
	if i := slices.IndexFunc(d.nodes, func(n node) bool { return n.id == id }); i >= 0 {
		return i
	}
	return len(d.nodes) - 1
}

func (d *drawing) nameOf(id string) string {
	if n := d.nodes[d.indexOf(id)]; n.id == id {
		return n.name
	}
	return clip(id)
}

func (n *node) measure() {
	widest := columns(n.name) + 1 // bold, and one size up
	for _, about := range n.about {
		widest = max(widest, columns(about))
	}
	for _, op := range n.ops {
		widest = max(widest, columns(op.text))
	}
	n.w = max(minWidth, float64(widest)*charWidth+2*padding)
	n.h = 2*padding + 14 + float64(len(n.about)+len(n.ops))*lineHeight
	if len(n.ops) > 0 {
		n.h += ruleHeight
	}
}

func (n *node) rect() rect {
	return rect{n.at.x - n.w/2, n.at.y - n.h/2, n.at.x + n.w/2, n.at.y + n.h/2}
}

// place puts the nodes clockwise on an ellipse of at least half that width, the first on top. It grows the ellipse until no
// two are too close for the labels between them.
func (d *drawing) place(least float64) {
	n := len(d.nodes)
	if n == 1 {
		return
	}
	for rx, ry := least, 60.0; ; {
		for i := range d.nodes {
			angle := 2*math.Pi*float64(i)/float64(n) - math.Pi/2
			d.nodes[i].at = point{math.Round(rx * math.Cos(angle)), math.Round(ry * math.Sin(angle))}
		}
		wide, high := d.tooClose()
		if !wide && !high {
			return
		}
		if wide {
			rx += 8
		}
		if high {
			ry += 8
		}
	}
}

// tooClose says in which direction the ellipse must grow. Nodes side by side need room for a
// label between them. Nodes one above the other need room for an arrow.
func (d *drawing) tooClose() (wide, high bool) {
	above := 72.0
	if len(d.nodes) > 2 {
		above = 92 // the label of a slanting arrow lies over the box's corner
	}
	for i := range d.nodes {
		for j := range i {
			a, b := &d.nodes[i], &d.nodes[j]
			gapX := math.Abs(a.at.x-b.at.x) - (a.w+b.w)/2
			gapY := math.Abs(a.at.y-b.at.y) - (a.h+b.h)/2
			if gapX >= d.between(i, j) || gapY >= above {
				continue
			}
			if math.Abs(a.at.y-b.at.y) < 1 {
				wide = true
			} else {
				high = true
				wide = wide || len(d.nodes) > 4 // keep large rings round
			}
		}
	}
	return wide, high
}

// between is the room that the labels between two nodes side by side need.
func (d *drawing) between(i, j int) float64 {
	room := 40.0
	for _, a := range d.arrows {
		if a.from == i && a.to == j || a.from == j && a.to == i {
			room = max(room, labelWidth(a.label)+44)
		}
	}
	return room
}

// bend gives an arrow its curve, out of the ring: to the left of its direction,
// as the ring runs clockwise. So two opposite arrows part by themselves;
// parallel ones bend further and further.
func (d *drawing) bend(i int) {
	a := &d.arrows[i]
	from, to := &d.nodes[a.from], &d.nodes[a.to]
	dx, dy := to.at.x-from.at.x, to.at.y-from.at.y
	length := math.Hypot(dx, dy)
	offset := 26.0
	if slices.ContainsFunc(d.arrows, func(o arrow) bool { return o.from == a.to && o.to == a.from }) { // the labels stand side by side
		offset = max(offset, (math.Abs(dy)*labelWidth(a.label)+math.Abs(dx)*labelHeight)/2/length+10)
	}
	for _, earlier := range d.arrows[:i] {
		if earlier.from == a.from && earlier.to == a.to {
			offset += labelWidth(a.label) + 12
		}
	}
	control := point{ // twice as far out as the middle of the curve
		(from.at.x+to.at.x)/2 + 2*offset*dy/length,
		(from.at.y+to.at.y)/2 - 2*offset*dx/length,
	}
	whole := curve{from.at, control, to.at}
	a.curve = whole.part(leaves(whole, from.rect()), enters(whole, to.rect()))
}

const steps = 200

// meets says whether a part of the curve is in r.
func (c curve) meets(r rect) bool {
	for i := range steps {
		if r.contains(c.at(float64(i) / steps)) {
			return true
		}
	}
	return false
}

// leaves is where the curve, which starts inside r, is first outside.
func leaves(c curve, r rect) float64 {
	for i := range steps {
		if t := float64(i) / steps; !r.contains(c.at(t)) {
			return t
		}
	}
	return 0
}

// enters is where the curve, which ends inside r, is last outside.
func enters(c curve, r rect) float64 {
	for i := range steps {
		if t := 1 - float64(i)/steps; !r.contains(c.at(t)) {
			return t
		}
	}
	return 1
}

func labelWidth(text string) float64 { return float64(columns(text))*charWidth + 16 }

// bounds is all that is drawn, with a margin.
func (d *drawing) bounds() rect {
	r := d.ringRect()
	if len(d.arrows) > 0 {
		r = r.union(d.legendRect())
	}
	return rect{math.Floor(r.left - margin), math.Floor(r.top - margin), math.Ceil(r.right + margin), math.Ceil(r.bottom + margin)}
}

func (d *drawing) ringRect() rect {
	var all rect
	for i := range d.nodes {
		all = all.union(d.nodes[i].rect())
	}
	for i := range d.arrows {
		a := &d.arrows[i]
		all = all.union(a.labelRect())
		for _, p := range a.path {
			all = all.union(rect{p.x, p.y, p.x, p.y})
		}
		if a.path != nil {
			continue
		}
		for t := 0.0; t <= 1; t += 0.125 {
			p := a.curve.at(t)
			all = all.union(rect{p.x, p.y, p.x, p.y})
		}
	}
	return all
}

// legendRect is below the ring.
func (d *drawing) legendRect() rect {
	ring := d.ringRect()
	widest := 0
	for _, kind := range d.kinds() {
		widest = max(widest, columns(meaning(kind)))
	}
	w := legendLine + 10 + float64(widest)*charWidth*11/12
	left := math.Round((ring.left + ring.right - w) / 2)
	top := ring.bottom + 16
	return rect{left, top, left + w, top + float64(len(d.kinds()))*legendHeight}
}

// kinds are the kinds of arrows in the picture, in a fixed order.
func (d *drawing) kinds() (kinds []string) {
	for _, kind := range []string{"ww", "wr", "rw", "process", "realtime", scene.Contradicts, "other"} {
		if slices.ContainsFunc(d.arrows, func(a arrow) bool { return a.kind == kind }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// kindOf is the edge's type as a class name.
func kindOf(e finding.Edge) string {
	if slices.Contains([]string{"ww", "wr", "rw", "process", "realtime", scene.Contradicts}, e.Type) {
		return e.Type
	}
	return "other"
}

// meaning reads along the arrow: T1, what it read was overwritten by, T2.
func meaning(kind string) string {
	switch kind {
	case "ww":
		return "ww: its write was overwritten by"
	case "wr":
		return "wr: its write was read by"
	case "rw":
		return "rw: what it read was overwritten by"
	case "process":
		return "process: was before, in one session"
	case "realtime":
		return "realtime: ended before the start of"
	}
	if kind == scene.Contradicts {
		return "contradicts: both cannot be right"
	}
	return "another dependency"
}

func label(e finding.Edge) string {
	if e.Key == "" {
		return typeOf(e)
	}
	return typeOf(e) + " " + finding.OneWord(e.Key)
}

// typeOf is the edge's type, with a word for one that follows from others.
func typeOf(e finding.Edge) string {
	if e.Derived {
		return e.Type + " (derived)"
	}
	return e.Type
}

func plural(n int, noun string) string { return finding.Counted(int64(n), noun, noun+"s") }
