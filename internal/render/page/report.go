package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/render/words"
)

//go:embed report.html
var reportText string

// report is made when the first report is written.
var report = sync.OnceValue(func() *template.Template { return template.Must(Templates().Parse(reportText)) })

// Report is findings in one file, which needs no service and no network.
type Report struct {
	Heading string
	Made    time.Time
	Trace   string // as in [Options]
	Facts   []Fact // about all parts
	Parts   []Part
}

// Part is about one history or source.
type Part struct {
	Heading  string // "": none
	Fault    string // why the history could not be read; "": it was read
	Facts    []Fact // what was checked, and what came out
	Verdicts []Verdict
	Notes    []string // what the records cannot show
	Panes    []Pane   // verdicts over time; none: that is not known
	Timed    bool     // panes say when they were
	Findings []finding.Finding
	Most     int                      // findings that it shows, an example of each group first; 0: all, negative: none
	Raws     map[string][]finding.Raw // records as they came in, by the finding's id
	Numbers  words.Numbers            // in positions
	Contract string                   // for a check of the findings' records, KEY=VALUE,..., without defaults
}

// Verdict is the verdict on a level.
type Verdict struct {
	Level, Verdict, Why string
}

// Over is the strip of a level; nil where there is none.
func (p *Part) Over(level string) *Strip { return stripOf(level, p.Panes, p.Timed) }

// Span is the stretch of time of the strips in words, "" where it is not known.
func (p *Part) Span() string {
	if !p.Timed || len(p.Panes) == 0 {
		return ""
	}
	first, last := spanOf(p.Panes)
	return Stretch(time.Unix(0, first), time.Unix(0, last))
}

// reported is a report as the template shows it.
type reported struct {
	*Report
	Policy string
	Style  template.CSS
	Script template.JS
	Moment *Moment
	Shown  []shownPart // Parts
	// Light says that there is no room for the downloads of all findings. Loaded of them have theirs.
	Light  bool
	Loaded int
}

// mostBytes is how long a report may get by downloads within it: a phone opens it, and mail carries it.
const (
	mostBytes   = 15_000_000
	noticeBytes = 1000 // of the sentence about downloads that are left out
)

// lighten takes the downloads of the last findings out, so many bytes of them at least.
func (r *reported) lighten(bytes int) {
	var all []*Full
	for i := range r.Shown {
		for _, g := range r.Shown[i].Apart(true) {
			all = append(append(all, g.First), g.Rest...)
		}
	}
	for r.Loaded = len(all); r.Loaded > 0 && bytes > 0; {
		r.Loaded--
		for _, d := range all[r.Loaded].Downloads {
			bytes -= len(d.URL)
		}
		all[r.Loaded].Downloads = nil
	}
	r.Light = true
}

// shownPart is a part as the template shows it.
type shownPart struct {
	*Part
	Groups []*cardGroup // of all findings, by what conflicts, in the order of their first ones
	Cards  int          // findings that are shown
}

// Apart are the groups that have an example, or those that have none: there are too many.
func (p *shownPart) Apart(shown bool) (all []*cardGroup) {
	for _, g := range p.Groups {
		if (g.First != nil) == shown {
			all = append(all, g)
		}
	}
	return all
}

// Left is how many findings are not shown.
func (p *shownPart) Left() int { return len(p.Findings) - p.Cards }

// cardGroup is findings of one pattern.
type cardGroup struct {
	*Card         // the first one, without its picture
	First *Full   // the same; nil: it is not shown
	Rest  []*Full // the others that are shown
	Count int
	Paths string // names of the transactions; "": they have none
	Trend *Trend // nil: there is none
	ended []int64
}

// Left is how many of the group are not shown, beside those that are.
func (g *cardGroup) Left() int { return g.Count - 1 - len(g.Rest) }

// show makes the groups of the part's findings: source, anomaly, kind, names, endpoints, and the keys without their numbers. It
// makes cards of the examples.
func (p *shownPart) show(o Options) {
	most := p.Most
	if most == 0 {
		most = len(p.Findings)
	}
	chosen := catalog.Examples(p.Findings, most)
	p.Cards = len(chosen)
	by := map[string]*cardGroup{}
	for i := range p.Findings {
		f := &p.Findings[i]
		of := catalog.GroupOf(f)
		key := of.Key()
		g := by[key]
		if g == nil {
			g = &cardGroup{Card: newCard(*f, o), Paths: strings.Join(of.Names, ", ")}
			by[key], p.Groups = g, append(p.Groups, g)
		}
		g.Count++
		if _, at, ok := f.EndedBetween(); ok {
			g.ended = append(g.ended, at)
		}
		if len(chosen) == 0 || chosen[0] != i {
			continue
		}
		chosen = chosen[1:]
		shown := *f
		if came := p.Raws[f.ID]; len(came) > 0 {
			shown.Raw = came
		}
		if card := NewFull(shown, o, nil); g.Count == 1 {
			g.First = card
		} else {
			g.Rest = append(g.Rest, card)
		}
	}
	all := stretchOf(p.Groups)
	for _, g := range p.Groups {
		g.Trend = all.trend(g)
	}
}

// WriteReport writes r as HTML. It loads nothing: a policy inside forbids that.
func WriteReport(w io.Writer, r *Report) error {
	x := reported{Report: r, Style: template.CSS(Style()), Script: template.JS(Script)}
	x.Policy = "default-src 'none'; style-src " + hashOf(Style()) + "; script-src " + hashOf(Script)
	if !r.Made.IsZero() {
		m, _ := (&Options{}).MomentOf(r.Made.UTC().Format(time.RFC3339Nano))
		x.Moment = &m
	}
	for i := range r.Parts {
		part := shownPart{Part: &r.Parts[i]}
		part.show(Options{Alone: true, Trace: r.Trace, Numbers: part.Numbers, Contract: func(string) string { return part.Contract }})
		x.Shown = append(x.Shown, part)
	}
	var b bytes.Buffer
	if err := report().ExecuteTemplate(&b, "report", &x); err != nil {
		return err
	}
	if b.Len() > mostBytes {
		x.lighten(b.Len() + noticeBytes - mostBytes)
		b.Reset()
		if err := report().ExecuteTemplate(&b, "report", &x); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, WithoutControls(b.String()))
	return err
}

// hashOf is the hash source by which a Content-Security-Policy admits a text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// WithoutControls writes out the control and formatting characters that came with records: they could
// reorder or hide other text.
func WithoutControls(page string) string {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		parts := strings.Split(line, "\t")
		for j := range parts {
			parts[j] = words.Visible(parts[j])
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}
