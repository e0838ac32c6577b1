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

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/render/page"
)

// Parts is how many parts of its span a strip and a chart show.
const Parts = page.Parts

// SourcesOnPage is how many sources one overview shows.
const SourcesOnPage = 50

// Overview says how all sources fare over a span of time, for the first page.
type Overview struct {
	From, To time.Time
	Sources  []Source
	Total    int  // sources, shown or not
	Reading  bool // older parts of the strips are still being read
	Inputs   []Input
	Found    Found
}

// Found is how many findings there are by anomaly, by when their last transactions ended: in Parts parts of a span.
type Found struct {
	From, To time.Time
	Series   []catalog.Series
}

// Source is how a source fares.
type Source struct {
	Name         string
	Expected     string
	Verdict      string // on the expected level: ok, violated, unknown
	Reason       string // why it is unknown, or why the source is not checked
	ByContract   bool   // only the contract leaves it unknown
	Stopped      bool   // it is not checked any more
	Decided      string // share of the reads, "" without any
	Undecided    []string
	Transactions int64
	Rate         float64 // transactions a second, in the last minute; negative: not known yet
	Lag          time.Duration
	Idle         time.Duration // since its latest record, where no more has come; 0: records come
	Timed        bool          // it has a lag
	Unmarked     bool          // its records have times, and its watermark has not begun: an input has not answered yet
	Live         int
	PerMillion   []Rate
	Levels       []Level       // the expected one first
	Strips       time.Time     // when the strips begin, by the time of the records; zero: these have none
	Closes       time.Duration // so long after a stretch of time its verdict comes, at least
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
	Verdict string // "no violation found" where only the contract leaves it unknown
	Reason  string
	Cells   [Parts]Cell
}

// Cell is a part of a strip.
type Cell = page.Cell

const (
	NoData   = page.NoData
	OK       = page.OK
	Open     = page.Open
	Unknown  = page.Unknown
	Violated = page.Violated
	InWork   = page.InWork
)

// Input is how an input fares.
type Input struct {
	Name     string
	Up       bool
	CaughtUp bool
	Troubles []string
	Lost     []string // records that it lost since the start
	Waits    []string // patterns that match no file
	Patterns int      // all of them
}

// Partly says how many patterns match no file, where others do.
func (i *Input) Partly() string {
	if len(i.Waits) == 0 || len(i.Waits) >= i.Patterns {
		return ""
	}
	return fmt.Sprintf("? %d of %d patterns: no file matches", len(i.Waits), i.Patterns)
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
	from time.Time     // when the span of the page begins
	part time.Duration // of a strip
}

// Shows is the time of the strips in words, where it is older than what the page says of all; "" else.
func (r sourceRow) Shows() string {
	if r.Strips.IsZero() || !r.Strips.Before(r.from) {
		return ""
	}
	return page.Stretch(r.Strips, r.Strips.Add(Parts*r.part))
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
	p := overviewPage{frame: s.frame("Overview").withoutSources(true), Overview: s.Overview(span.Long, skip), Span: span.Value, Nothing: s.Nothing()}
	for _, x := range spans {
		p.Spans = append(p.Spans, x.Value)
	}
	if s.Advice != nil {
		p.Advice = slices.DeleteFunc(s.Advice(), p.Overview.says)
	}
	if next := skip + len(p.Sources); next < p.Total {
		p.More = fmt.Sprintf("%s/?span=%s&skip=%d", s.Base, span.Value, next)
	}
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
		rows = append(rows, sourceRow{&p.Sources[i], p.Base, p.From, p.To.Sub(p.From) / Parts})
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
	case r.Unmarked:
		return "? not judged yet"
	case r.Verdict == "ok":
		return "✓ ok"
	case r.ByContract:
		return "✓ no violation found"
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
	case !r.Unmarked && (r.Verdict == "ok" || r.ByContract):
		return "cleared"
	}
	return "uncertain"
}

// Healthy says of a source without a violation what is decided.
func (r sourceRow) Healthy() string {
	if r.Verdict == "violated" || r.Stopped || r.Unmarked || r.Decided == "" {
		return ""
	}
	if r.ByContract || r.Verdict == "ok" { // its badge says the rest
		return r.Decided + " of reads decided"
	}
	return "no violation found · " + r.Decided + " of reads decided"
}

// WhyUnknown says in the folded row what to look at.
func (r sourceRow) WhyUnknown() string {
	if r.Tone() == "uncertain" && !r.Unmarked || r.Stopped {
		return r.Reason
	}
	return ""
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
	switch {
	case r.Timed:
	case r.Unmarked:
		return "waits until each input has answered"
	case r.Transactions == 0:
		return "no record yet"
	default:
		return "records without times"
	}
	if r.Idle > 0 {
		return "no record for " + finding.Lasting(r.Idle.Round(time.Second))
	}
	return finding.Lasting(r.Lag.Round(100*time.Millisecond)) + " behind"
}

// Expecting is the strip of the expected level.
func (r sourceRow) Expecting() *Level {
	if len(r.Levels) == 0 {
		return nil
	}
	return &r.Levels[0]
}

// Late says when the verdict on a stretch of time comes.
func (r sourceRow) Late() string {
	if r.Closes <= 0 {
		return ""
	}
	return finding.Lasting(r.Closes)
}

// Strip is the strip of a level. A violated stretch leads to its findings: they refute the
// level, and a transaction of theirs ended then.
func (r sourceRow) Strip(l *Level) template.HTML {
	link := func(from, to time.Time) string {
		return r.Base + "/list?" + url.Values{"source": {r.Name}, "refutes": {l.Name},
			"ended-from": {from.UTC().Format(time.RFC3339)}, "ended-to": {to.UTC().Format(time.RFC3339)}}.Encode()
	}
	return l.strip(r.Strips, r.part, link)
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
		texts = append(texts, titleOf(x.Anomaly)+" "+shortNumber(x.Million))
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
