package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/render/picture"
	"github.com/isowatch/isowatch/internal/render/words"
)

//go:embed report.html
var reportText string

var report = template.Must(Templates().Parse(reportText))

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
	Facts    []Fact // what was checked, and what came out
	Verdicts []Verdict
	Panes    []Pane // verdicts over time; none: that is not known
	Timed    bool   // panes say when they were
	Findings []finding.Finding
	Left     int           // findings that are not in it
	Numbers  words.Numbers // in positions
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
}

// shownPart is a part as the template shows it.
type shownPart struct {
	*Part
	Cards  []*Full
	Groups []*cardGroup // the same, by what conflicts, in the order of their first cards
}

// cardGroup is findings of one pattern.
type cardGroup struct {
	First *Full
	Rest  []*Full
	Paths string // names of the transactions; "": they have none
	Trend *Trend // nil: there is none
}

// Count is how many findings it has.
func (g *cardGroup) Count() int { return 1 + len(g.Rest) }

// grouped are the cards by their patterns: source, anomaly, kind, names, endpoints, and the keys without their numbers.
func grouped(cards []*Full) (groups []*cardGroup) {
	by := map[string]*cardGroup{}
	for _, c := range cards {
		of := catalog.GroupOf(&c.Finding)
		key := of.Key()
		if g := by[key]; g != nil {
			g.Rest = append(g.Rest, c)
			continue
		}
		by[key] = &cardGroup{First: c, Paths: strings.Join(of.Names, ", ")}
		groups = append(groups, by[key])
	}
	return groups
}

// WriteReport writes r as HTML. It loads nothing: a policy inside forbids that.
func WriteReport(w io.Writer, r *Report) error {
	x := reported{Report: r, Style: template.CSS(Style), Script: template.JS(Script)}
	x.Policy = "default-src 'none'; style-src " + hashOf(Style) + " " + picture.StyleHash() + "; script-src " + hashOf(Script)
	if !r.Made.IsZero() {
		m, _ := (&Options{}).MomentOf(r.Made.UTC().Format(time.RFC3339Nano))
		x.Moment = &m
	}
	for i := range r.Parts {
		part := shownPart{Part: &r.Parts[i]}
		for j := range part.Findings {
			part.Cards = append(part.Cards, NewFull(part.Findings[j], Options{Alone: true, Trace: r.Trace, Numbers: part.Numbers}, nil))
		}
		part.Groups = grouped(part.Cards)
		for all, j := stretchOf(part.Cards), 0; j < len(part.Groups); j++ {
			part.Groups[j].Trend = all.trend(part.Groups[j])
		}
		x.Shown = append(x.Shown, part)
	}
	var b bytes.Buffer
	if err := report.ExecuteTemplate(&b, "report", &x); err != nil {
		return err
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
