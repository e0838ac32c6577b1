package picture

import "math"

// Sizes of a column, in user units.
const (
	rowHeight  = labelHeight + 8 // of a label between two boxes
	gapHeight  = 14              // between two boxes, beside the rows of labels
	laneWidth  = 12              // of an arrow beside the boxes
	straightAt = 26              // where an arrow to the next box runs
)

// column places the boxes one above the other, in the order of the cycle. An arrow to the next box runs
// straight down. Another one leaves its box below, where its label is. It runs in a lane of its own
// beside the boxes, to the right edge of its target.
func (d *drawing) column() {
	wide := float64(minWidth)
	for i := range d.nodes {
		wide = max(wide, d.nodes[i].w)
	}
	for i := range d.arrows {
		wide = max(wide, labelWidth(d.arrows[i].label)+2*straightAt)
	}
	top := 0.0
	lane := wide + laneWidth
	into := make([]float64, len(d.nodes)) // arrows into the right edge of a box so far
	for i := range d.nodes {
		n := &d.nodes[i]
		n.w = wide
		n.at = point{math.Round(wide / 2), top + n.h/2}
		top += n.h + gapHeight/2
		for j := range d.arrows {
			if d.arrows[j].from == i {
				lane = d.lay(&d.arrows[j], top, wide, lane)
				top += rowHeight
			}
		}
		top += gapHeight / 2
	}
	for i := range d.arrows {
		d.end(&d.arrows[i], into)
	}
}

// lay places the label of an arrow at the height top below its box, and begins its path. It returns the next
// free lane.
func (d *drawing) lay(a *arrow, top, wide, lane float64) float64 {
	box, w := d.nodes[a.from].rect(), labelWidth(a.label)
	if a.to == a.from+1 {
		a.pill = rect{straightAt / 2, top + 4, straightAt/2 + w, top + 4 + labelHeight}
		a.path = []point{{straightAt, box.bottom}}
		return lane
	}
	a.pill = rect{wide - w, top + 4, wide, top + 4 + labelHeight}
	middle := top + 4 + labelHeight/2
	a.path = []point{{wide - 12, box.bottom}, {wide - 12, middle}, {lane, middle}}
	return lane + laneWidth
}

// end leads the path of an arrow into its target. Arrows into one edge end at different heights.
func (d *drawing) end(a *arrow, into []float64) {
	to := d.nodes[a.to].rect()
	if a.to == a.from+1 {
		a.path = append(a.path, point{straightAt, to.top})
		return
	}
	at := to.top + min(18+into[a.to]*laneWidth, to.height()-6)
	into[a.to]++
	lane := a.path[len(a.path)-1].x
	a.path = append(a.path, point{lane, at}, point{to.right, at})
}
