package web

import (
	_ "embed" // templates
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/render/page"
)

// Parts is how many parts of its span a strip and a chart show.
const Parts = 60

// SourcesOnPage is how many sources one overview shows.
const SourcesOnPage = 50

// Overview says how all sources fare over a span of time, for the first page.
type Overview struct {
	From, To time.Time
	Sources  []Source
	Total    int  // sources, shown or not
	Reading  bool // older parts of the strips are still being read
	Inputs   []Input
	Found    []catalog.Series // findings by anomaly, in Parts parts of the span
}

// Source is how a source fares.
type Source struct {
	Name         string
	Expected     string
	Verdict      string // on the expected level: ok, violated, unknown
	Reason       string // why it is unknown, or why the source is not checked
	Stopped      bool   // it is not checked any more
	Decided      string // share of the reads, "" without any
	Undecided    []string
	Transactions int64
	Rate         float64 // transactions a second, in the last minute; negative: not known yet
	Lag          time.Duration
	Timed        bool // it has a lag
	Live         int
	PerMillion   []Rate
	Levels       []Level // the expected one first
}

// Rate is how often an anomaly that the expected level forbids was found, a million transactions.
type Rate struct {
	Anomaly string
	Found   int64
	Million float64
}

// Level is the verdict on a level, now and in each part of the span.
type Level struct {
	Name    string
	Verdict string
	Reason  string
	Cells   [Parts]Cell
}

// Cell is a part of a strip.
type Cell uint8

const (
	NoData Cell = iota
	OK
	Unknown
	Violated
)

// Input is how an input fares.
type Input struct {
	Name     string
	Up       bool
	CaughtUp bool
	Troubles []string
	Waits    []string // patterns that match no file
}

//go:embed overview.html
var overviewText string

// spans are those that the page offers, the default first.
var spans = []struct {
	Value string
	Long  time.Duration
}{{"1h", time.Hour}, {"6h", 6 * time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}}

type overviewPage struct {
	frame
	Overview
	Span    string
	Spans   []string
	Advice  []string
	Latest  []*page.Card
	More    string // link to the next sources; "" for none
	Nothing string
}

// sourceRow is a source as the template shows it.
type sourceRow struct {
	*Source
	Base string
}

// overview answers / with how all sources fare.
func (s *site) overview(w http.ResponseWriter, r *http.Request) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err == nil && filtersList(values) { // what was the list's address
		http.Redirect(w, r, s.Base+"/list?"+r.URL.RawQuery, http.StatusFound)
		return
	}
	span, skip := spans[0], 0
	for name := range values {
		text := values.Get(name)
		switch name {
		case "span":
			known := false
			for _, x := range spans {
				if x.Value == text {
					span, known = x, true
				}
			}
			if !known {
				err = fmt.Errorf(`"span" is %q, want 1h, 6h, 24h or 7d`, text)
			}
		case "skip":
			if skip, err = strconv.Atoi(text); err != nil || skip < 0 {
				err = fmt.Errorf(`"skip" is %q, want a number of sources`, text)
			}
		default:
			err = fmt.Errorf("%q is not known: the overview has span and skip", name)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		s.failPage(w, http.StatusBadRequest, "Wrong query", err.Error())
		return
	}
	p := overviewPage{frame: s.frame("Overview"), Overview: s.Overview(span.Long, skip), Span: span.Value, Nothing: s.Nothing()}
	for _, x := range spans {
		p.Spans = append(p.Spans, x.Value)
	}
	if s.Advice != nil {
		p.Advice = slices.DeleteFunc(s.Advice(), p.Overview.says)
	}
	if next := skip + len(p.Sources); next < p.Total {
		p.More = fmt.Sprintf("%s/?span=%s&skip=%d", s.Base, span.Value, next)
	}
	p.Facts = slices.DeleteFunc(p.Facts, func(f Fact) bool { return slices.Contains(ofSources, f.Name) })
	p.Live = true
	latest, _, err := s.Findings.List(Query{Limit: 5})
	if err != nil {
		s.Log.Error("web: list of findings failed", "err", err)
		s.failPage(w, http.StatusInternalServerError, "Error", "The findings cannot be read. The log says why.")
		return
	}
	for _, f := range latest {
		p.Latest = append(p.Latest, undrawn(f, s.shown()))
	}
	s.writePage(w, http.StatusOK, "overview", &p)
}

// says says whether a source of the page tells the same as a piece of advice.
func (o *Overview) says(advice string) bool {
	return slices.ContainsFunc(o.Sources, func(x Source) bool {
		advice := strings.TrimPrefix(advice, "Source "+x.Name+": ")
		reason, _, _ := strings.Cut(strings.TrimSuffix(advice, "."), ". ") // behind it stands what to do
		return slices.ContainsFunc(x.Undecided, func(text string) bool { return strings.Contains(text, reason) })
	})
}

// ofSources are facts that the page says of each source.
var ofSources = []string{"expected", "verdict", "not decided", "sources"}

// filtersList says whether an address of / is one of the list, as it was before the overview.
func filtersList(values url.Values) bool {
	for _, name := range []string{"source", "anomaly", "kind", "state", "expected", "before", "limit", "refresh"} {
		if values.Has(name) {
			return true
		}
	}
	return false
}

// Rows are the sources with what their links need.
func (p *overviewPage) Rows() (rows []sourceRow) {
	for i := range p.Sources {
		rows = append(rows, sourceRow{&p.Sources[i], p.Base})
	}
	return rows
}

// Sign is the word and the sign of the verdict.
func (r sourceRow) Sign() string {
	switch {
	case r.Stopped:
		return "∅ stopped"
	case r.Verdict == "violated":
		return "✕ violated"
	case r.Verdict == "ok":
		return "✓ ok"
	}
	return "? unknown"
}

// Tone is the class of the verdict.
func (r sourceRow) Tone() string {
	switch {
	case r.Stopped:
		return "lost"
	case r.Verdict == "violated":
		return "violated"
	case r.Verdict == "ok":
		return "cleared"
	}
	return "uncertain"
}

// Healthy says of a source without a violation what is decided.
func (r sourceRow) Healthy() string {
	if r.Verdict == "violated" || r.Stopped || r.Decided == "" {
		return ""
	}
	return "no violation found: " + r.Decided + " of reads decided"
}

// PerSecond is the rate in words.
func (r sourceRow) PerSecond() string {
	if r.Rate < 0 {
		return "no rate yet"
	}
	return shortNumber(r.Rate) + " txn/s"
}

// Behind is the lag in words.
func (r sourceRow) Behind() string {
	if !r.Timed {
		return "records without times"
	}
	return r.Lag.Round(100*time.Millisecond).String() + " behind"
}

// Expecting is the strip of the expected level.
func (r sourceRow) Expecting() *Level {
	if len(r.Levels) == 0 {
		return nil
	}
	return &r.Levels[0]
}

// ID is the source's name as part of ids on the page.
func (r sourceRow) ID() string { return "source-" + url.PathEscape(r.Name) }

// Groups is a link to the groups of findings of the source.
func (r sourceRow) Groups() string {
	return r.Base + "/findings?" + url.Values{"source": {r.Name}}.Encode()
}

// Rates are the rates in words, the largest first.
func (r sourceRow) Rates() string {
	var texts []string
	for _, x := range r.PerMillion {
		texts = append(texts, fmt.Sprintf("%s %s", x.Anomaly, shortNumber(x.Million)))
	}
	return strings.Join(texts, ", ")
}

// shortNumber is n with three digits that count.
func shortNumber(n float64) string {
	switch {
	case n >= 1e6:
		return strconv.FormatFloat(n/1e6, 'g', 3, 64) + "M"
	case n >= 1e4:
		return strconv.FormatFloat(n/1e3, 'f', 0, 64) + "k"
	case n >= 100:
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

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
}{NoData: {"nodata", 2, "without data"}, OK: {"ok", 8, "ok"}, Unknown: {"unknown", 12, "unknown"}, Violated: {"violated", stripHeight, "violated"}}

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

// Strip is the strip as SVG. All of its texts are ours but the level's name, which is one of a table.
func (l *Level) Strip() template.HTML {
	var b strings.Builder
	text := template.HTMLEscapeString(l.Words())
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s"><title>%[3]s</title>`, Parts*cellWidth, stripHeight, text)
	for i := 0; i < Parts; {
		end := i
		for end < Parts && l.Cells[end] == l.Cells[i] {
			end++
		}
		c := cells[l.Cells[i]]
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`, c.class, i*cellWidth, stripHeight-c.height, (end-i)*cellWidth, c.height)
		i = end
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// shownSeries is the greatest number of a colour.
const shownSeries = 11

// colour is the number of an anomaly's colour: by its name among those shown, so that it stays while counts
// change.
func (p *overviewPage) colour(anomaly string) int {
	n := 0
	for _, x := range p.Found {
		if x.Anomaly < anomaly {
			n++
		}
	}
	return n % (shownSeries + 1)
}

// Legend are the series with the class of their colour.
func (p *overviewPage) Legend() (all []struct {
	catalog.Series
	Class string
	Title string
	Link  string
}) {
	for _, x := range p.Found {
		all = append(all, struct {
			catalog.Series
			Class string
			Title string
			Link  string
		}{x, "c" + strconv.Itoa(p.colour(x.Anomaly)), titleOf(x.Anomaly), p.Base + "/findings?" + url.Values{"anomaly": {x.Anomaly}}.Encode()})
	}
	return all
}

// Chart is the findings over time, as stacked bars.
func (p *overviewPage) Chart() template.HTML {
	most, total := 0, 0
	var sums [Parts]int
	for _, x := range p.Found {
		for i, n := range x.Counts[:min(len(x.Counts), Parts)] {
			sums[i] += n
			most, total = max(most, sums[i]), total+n
		}
	}
	if total == 0 {
		return ""
	}
	var b strings.Builder
	text := fmt.Sprintf("%d findings from %s to %s, at most %d in one of %d parts", total, p.From.UTC().Format("2006-01-02 15:04"), p.To.UTC().Format("2006-01-02 15:04"), most, Parts)
	const width = 720
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s"><title>%[3]s</title>`, width, chartHeight+1, text)
	fmt.Fprintf(&b, `<path class="floor" d="M0 %.1fh%d"/>`, chartHeight+0.5, width)
	var tops [Parts]float64
	for _, x := range p.Found {
		class := p.colour(x.Anomaly)
		for j, n := range x.Counts[:min(len(x.Counts), Parts)] {
			if n == 0 {
				continue
			}
			h := float64(n) / float64(most) * chartHeight
			fmt.Fprintf(&b, `<rect class="c%d" x="%d" y="%.1f" width="%d" height="%.1f"/>`, class, j*width/Parts, chartHeight-tops[j]-h, width/Parts-2, h)
			tops[j] += h
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
