package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/render/page"
)

// Sizes of a strip and of a chart, in user units.
const (
	cellWidth   = 5
	stripHeight = 18
	chartHeight = 90
)

// cells are how a part is drawn: a class, and a height that tells it from others without colours.
var cells = [...]struct {
	class  string
	height int
	word   string
}{NoData: {"nodata", 2, "without data"}, OK: {"ok", 8, "ok"}, Open: {"open", 8, "no violation found"}, Unknown: {"unknown", 12, "unknown"}, Violated: {"violated", stripHeight, "violated"}, InWork: {"inwork", 8, "in work"}}

// Words says what the strip shows.
func (l *Level) Words() string {
	var n [len(cells)]int
	for _, c := range l.Cells {
		n[c]++
	}
	var texts []string
	for c := len(cells) - 1; c >= 0; c-- {
		if n[c] > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n[c], cells[c].word))
		}
	}
	return fmt.Sprintf("%s, %d parts: %s", l.Name, Parts, strings.Join(texts, ", "))
}

// Strip is the strip as a picture, without links.
func (l *Level) Strip() template.HTML { return l.strip(time.Time{}, 0, nil) }

// strip is the strip as SVG. All of its texts are ours but the level's name, which is one of a table. Where it
// is known when the strip begins, stretches say when they were, and the violated ones are links.
func (l *Level) strip(begins time.Time, part time.Duration, link func(from, to time.Time) string) template.HTML {
	var b strings.Builder
	text, role := template.HTMLEscapeString(l.Words()), "img"
	timed := link != nil && !begins.IsZero()
	if timed {
		role = "group" // its links are told
	}
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="%[4]s" aria-label="%[3]s">`, Parts*cellWidth, stripHeight, text, role)
	if !timed {
		fmt.Fprintf(&b, `<title>%s</title>`, text)
	}
	for i := 0; i < Parts; {
		end := i
		for end < Parts && l.Cells[end] == l.Cells[i] {
			end++
		}
		c := cells[l.Cells[i]]
		look := ""
		if l.Cells[i] == InWork {
			look = ` fill="none" stroke="currentColor" stroke-dasharray="2 2"`
		}
		box := fmt.Sprintf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d"%s>`, c.class, i*cellWidth, stripHeight-c.height, (end-i)*cellWidth, c.height, look)
		if timed {
			from, to := begins.Add(time.Duration(i)*part), begins.Add(time.Duration(end)*part)
			said := c.word + ", " + stretch(from, to)
			box += title(said, from, to) + "</rect>"
			if l.Cells[i] == Violated {
				box = fmt.Sprintf(`<a href="%s" aria-label="%s">%s</a>`, template.HTMLEscapeString(link(from, to)), said, box)
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

// stretch is a stretch of time in words.
func stretch(from, to time.Time) string {
	return from.UTC().Format("2006-01-02 15:04") + " to " + to.UTC().Format("2006-01-02 15:04 UTC")
}

// title is a tip about a stretch of time. A page's script adds when that is where the reader is.
func title(said string, from, to time.Time) string {
	return fmt.Sprintf(`<title data-from="%s" data-to="%s">%s</title>`, from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), said)
}

// listOf is a link to the findings that were found first in a stretch of time. With "ended-" it is to those whose
// transactions ended in it.
func listOf(base string, values url.Values, when string, from, to time.Time) string {
	values.Set(when+"from", from.UTC().Format(time.RFC3339))
	values.Set(when+"to", to.UTC().Format(time.RFC3339))
	return base + "/list?" + values.Encode()
}

// shownSeries is the greatest number of a colour.
const shownSeries = 11

// colour is the number of an anomaly's colour: by its name among those shown, so that it stays while counts
// change.
func (p *overviewPage) colour(anomaly string) int {
	less := map[string]bool{}
	for _, x := range p.Found {
		if x.Anomaly < anomaly {
			less[x.Anomaly] = true
		}
	}
	return len(less) % (shownSeries + 1)
}

// chart is the findings over time that the expected level allows, or all others.
type chart struct {
	page    *overviewPage
	Allowed bool
	series  []catalog.Series
}

// Charts are those that have something to show. Allowed findings have a chart and a scale of their own: they may be far
// more than the others.
func (p *overviewPage) Charts() (all []chart) {
	for _, allowed := range []bool{false, true} {
		c := chart{page: p, Allowed: allowed}
		for _, x := range p.Found {
			if x.Expected == allowed && x.Total > 0 {
				c.series = append(c.series, x)
			}
		}
		if len(c.series) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// query has the filters of a list, or of groups, that shows what the chart shows.
func (c chart) query(more ...string) url.Values {
	values := url.Values{"expected": {strconv.FormatBool(c.Allowed)}}
	for i := 0; i+1 < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	return values
}

// Legend are the series with the class of their colour.
func (c chart) Legend() (all []struct {
	catalog.Series
	Class string
	Title string
	Link  string
}) {
	for _, x := range c.series {
		all = append(all, struct {
			catalog.Series
			Class string
			Title string
			Link  string
		}{x, "c" + strconv.Itoa(c.page.colour(x.Anomaly)), titleOf(x.Anomaly), c.page.Base + "/findings?" + c.query("anomaly", x.Anomaly).Encode()})
	}
	return all
}

// Widths of a chart, for a page with room and for one of 360 px, and the room above and below the bars.
const (
	wideChart, narrowChart = 1120, 330
	chartAbove, chartBelow = 16, 18
)

// Moments are the begin and the end of the span.
func (p *overviewPage) Moments() (all []page.Moment) {
	var o page.Options
	for _, at := range []time.Time{p.From, p.To} {
		m, _ := o.MomentOf(at.UTC().Format(time.RFC3339))
		all = append(all, m)
	}
	return all
}

// SVG is stacked bars with an axis, for wide and for narrow pages.
func (c chart) SVG() template.HTML {
	return `<div class="wide">` + c.draw(wideChart) + `</div><div class="narrow">` + c.draw(narrowChart) + `</div>`
}

func (c chart) draw(width int) template.HTML {
	p := c.page
	most, total := 0, 0
	var sums [Parts]int
	for _, x := range c.series {
		for i, n := range x.Counts[:min(len(x.Counts), Parts)] {
			sums[i] += n
			most, total = max(most, sums[i]), total+n
		}
	}
	var b strings.Builder
	text := fmt.Sprintf("%d findings from %s to %s, at most %d in one of %d parts", total, p.From.UTC().Format("2006-01-02 15:04"), p.To.UTC().Format("2006-01-02 15:04"), most, Parts)
	const floor = chartAbove + chartHeight
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %d %d" role="group" aria-label="%s">`, width, floor+chartBelow, text)
	fmt.Fprintf(&b, `<path class="floor" d="M0 %.1fh%d"/><path class="floor" stroke-dasharray="2 4" d="M0 %.1fh%[2]d"/>`, floor+0.5, width, chartAbove-0.5)
	label := func(x, y int, anchor, text string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="%s" font-size="11" fill="currentColor" aria-hidden="true">%s</text>`, x, y, anchor, text)
	}
	label(0, chartAbove-4, "start", "at most "+strconv.Itoa(most))
	part, form := p.To.Sub(p.From)/Parts, "15:04"
	if part >= 10*time.Minute {
		form = "Jan 2 15:04"
	}
	for i, anchor := range []string{"start", "middle", "end"} {
		label(i*width/2, floor+chartBelow-4, anchor, p.From.Add(time.Duration(i)*Parts/2*part).UTC().Format(form)+map[bool]string{true: " UTC"}[i == 2])
	}
	for j, sum := range sums {
		if sum == 0 {
			continue
		}
		from := p.From.Add(time.Duration(j) * part)
		said := finding.Counted(int64(sum), "finding", "findings") + ", " + stretch(from, from.Add(part))
		fmt.Fprintf(&b, `<a href="%s" aria-label="%s">%s`, template.HTMLEscapeString(listOf(p.Base, c.query(), "", from, from.Add(part))), said, title(said, from, from.Add(part)))
		top := float64(floor)
		for _, x := range c.series {
			if j >= len(x.Counts) || x.Counts[j] == 0 {
				continue
			}
			h := float64(x.Counts[j]) / float64(most) * chartHeight
			top -= h
			fmt.Fprintf(&b, `<rect class="c%d" x="%d" y="%.1f" width="%d" height="%.1f"/>`, p.colour(x.Anomaly), j*width/Parts, top, width/Parts-1, h)
		}
		b.WriteString("</a>")
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
