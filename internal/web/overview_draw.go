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
	chartHeight = 90
)

// Strip is the strip as a picture, without links.
func (l *Level) Strip() template.HTML { return l.strip(time.Time{}, 0, nil) }

// strip is the strip as SVG. Where it is known when it begins, stretches say when they were, and the violated ones are links.
func (l *Level) strip(begins time.Time, part time.Duration, link func(from, to time.Time) string) template.HTML {
	s := page.Strip{Name: l.Name, Cells: l.Cells, Begins: begins, Part: part, Link: link}
	return s.SVG()
}

// shownSeries is the greatest number of a colour.
const shownSeries = 11

// colour is the number of an anomaly's colour: by its name among those shown, so that it stays while counts
// change.
func (p *overviewPage) colour(anomaly string) int {
	less := map[string]bool{}
	for _, x := range p.Found.Series {
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
		for _, x := range p.Found.Series {
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

// ended has the filters of a list of what a bar counts. The last bar has all that ended later.
func (c chart) ended(bar int, from, to time.Time) url.Values {
	values := c.query("since", from.UTC().Format(time.RFC3339))
	if bar < Parts-1 {
		values.Set("until", to.UTC().Format(time.RFC3339))
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
		}{x, "c" + strconv.Itoa(c.page.colour(x.Anomaly)), titleOf(x.Anomaly), c.page.Base + "/findings?" + c.query("anomaly", x.Anomaly, "since", c.page.Found.From.UTC().Format(time.RFC3339)).Encode()})
	}
	return all
}

// Widths of a chart, for a page with room and for one of 360 px, and the room above and below the bars.
const (
	wideChart, narrowChart = 780, 330
	chartAbove, chartBelow = 16, 18
)

// Moments are the begin and the end of the charts.
func (p *overviewPage) Moments() (all []page.Moment) {
	var o page.Options
	for _, at := range []time.Time{p.Found.From, p.Found.To} {
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
	p, span := c.page, &c.page.Found
	most, total := 0, 0
	var sums [Parts]int
	for _, x := range c.series {
		for i, n := range x.Counts[:min(len(x.Counts), Parts)] {
			sums[i] += n
			most, total = max(most, sums[i]), total+n
		}
	}
	var b strings.Builder
	text := fmt.Sprintf(
		"%s from %s to %s, at most %d in one of %d parts",
		finding.Counted(int64(total), "finding", "findings"),
		span.From.UTC().Format("2006-01-02 15:04"),
		span.To.UTC().Format("2006-01-02 15:04"),
		most,
		Parts,
	)
	const floor = chartAbove + chartHeight
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %d %d" role="group" aria-label="%s">`, width, floor+chartBelow, text)
	fmt.Fprintf(&b, `<path class="floor" d="M0 %.1fh%d"/><path class="floor" stroke-dasharray="2 4" d="M0 %.1fh%[2]d"/>`, floor+0.5, width, chartAbove-0.5)
	label := func(x, y int, anchor, text string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="%s" font-size="11" fill="currentColor" aria-hidden="true">%s</text>`, x, y, anchor, text)
	}
	label(0, chartAbove-4, "start", "at most "+strconv.Itoa(most))
	part, form := span.To.Sub(span.From)/Parts, "15:04"
	if part >= 10*time.Minute {
		form = "Jan 2 15:04"
	}
	for i, anchor := range []string{"start", "middle", "end"} {
		label(i*width/2, floor+chartBelow-4, anchor, span.From.Add(time.Duration(i)*Parts/2*part).UTC().Format(form)+map[bool]string{true: " UTC"}[i == 2])
	}
	for j, sum := range sums {
		if sum == 0 {
			continue
		}
		from := span.From.Add(time.Duration(j) * part)
		said := finding.Counted(int64(sum), "finding", "findings") + ", " + page.Stretch(from, from.Add(part))
		fmt.Fprintf(
			&b,
			`<a href="%s" aria-label="%s">%s`,
			template.HTMLEscapeString(p.Base+"/list?"+c.ended(j, from, from.Add(part)).Encode()),
			said,
			page.Tip(said, from, from.Add(part)),
		)
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
