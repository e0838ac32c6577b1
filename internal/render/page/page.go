// Package page is a finding as HTML: the parts of it that the service's pages and the reports share. The
// templates escape everything that is put into them, by the place where it stands.
package page

import (
	_ "embed" // templates, style sheet and script
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/picture"
	"github.com/isowatch/isowatch/internal/render/records"
	"github.com/isowatch/isowatch/internal/render/scene"
	"github.com/isowatch/isowatch/internal/render/words"
)

//go:embed finding.html
var findingText string

//go:embed style.css
var style string

// Style is the style sheet of all pages, and of the pictures on them.
func Style() string { return style + picture.Style() }

// Script makes pages follow what changes, zooms pictures and adds local times. Pages work without it.
//
//go:embed page.js
var Script string

// Templates have the parts of a finding: "head", "about", "proof", "advice", "finding". The caller may add to its copy.
func Templates() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"linked": linked, "oneWord": finding.OneWord}).Parse(findingText))
}

// address is one in a text, with its marks escaped.
var address = regexp.MustCompile(`&lt;(https://[-A-Za-z0-9._~/#%]+)&gt;`)

// flag is one of a command, with nothing before it that would make it a part of a word.
var flag = regexp.MustCompile("(^|[\\s(\\[`])(--?[a-z][-a-z0-9]*)")

// quoted is a name of a field, a setting or a command in a text.
var quoted = regexp.MustCompile("`([^`]+)`")

// linked is a text with links for the addresses in it, which stand between < and >. Its flags stay in one line, and what
// stands between backticks is code.
func linked(text string) template.HTML {
	text = flag.ReplaceAllString(template.HTMLEscapeString(text), `$1<span class="flag">$2</span>`)
	text = quoted.ReplaceAllString(text, `<code>$1</code>`)
	return template.HTML(address.ReplaceAllString(text, `<a href="$1" rel="noreferrer">$1</a>`))
}

// Options say how a finding is shown. The zero value is for a report.
type Options struct {
	// Base is put before paths: "" or one as /isowatch.
	Base string
	// Now is the time that ages count from. The zero time shows no ages.
	Now time.Time
	// Trace is a link to a trace, with {trace_id} in it. "": none.
	Trace string
	// Alone says that there is no service behind the page: it links to nothing.
	Alone bool
	// Numbers says what those in positions count.
	Numbers words.Numbers
	// Contract gives the contract for a check of a source's records, KEY=VALUE,..., without defaults. nil: there is none.
	Contract func(source string) string
}

// Place is a position for people.
func (o *Options) Place(position string) string { return words.Place(position, o.Numbers) }

// Card is a finding with what pages say of it.
type Card struct {
	finding.Finding
	Verdict  words.Verdict
	Sentence string
	Cycle    string
	Proof    string
	Where    string        // source, and epoch
	SVG      template.HTML // escaped by package picture; "" without transactions
	Open     bool
	Options
}

// NewCard is f as a card. Arrows of its picture lead to their evidence, on the finding's own page.
func NewCard(f finding.Finding, o Options) *Card {
	c := newCard(f, o)
	c.draw(c.Path())
	return c
}

func newCard(f finding.Finding, o Options) *Card {
	c := &Card{Finding: f, Cycle: words.Cycle(&f), Proof: words.Proof(&f), Where: WhereOf(&f), Options: o}
	c.Verdict, c.Sentence = words.VerdictOf(&f)
	if c.Title == "" {
		c.Title = c.Anomaly
	}
	return c
}

// WhereOf is the source of a finding, with its epoch.
func WhereOf(f *finding.Finding) string {
	if f.Epoch == "" {
		return f.Source
	}
	return f.Source + ", epoch " + f.Epoch
}

// FormOf is the title of its group, where its own title says another thing; "" otherwise. A long fork over ranges is
// one of the long forks.
func (c *Card) FormOf() string {
	if common := isolation.TitleOf(c.Anomaly); !strings.HasPrefix(common, c.Title) && c.Title != c.Anomaly {
		return common
	}
	return ""
}

// Merged says what the count counts.
func (c *Card) Merged() string { return words.Merged(&c.Finding) }

// draw makes the picture. The evidence of its arrows is on a page; "": on the same.
func (c *Card) draw(page string) {
	if s := scene.New(&c.Finding); c.drawn() && s.Tells() {
		c.SVG = pictures(s, func(i int) string { return page + "#" + edgeID(&c.Finding, i) })
	}
}

// edgeID is the id of the evidence of an arrow.
func edgeID(f *finding.Finding, arrow int) string { return fmt.Sprintf("%s-edge-%d", f.ID, arrow+1) }

// drawn says whether there is a picture. Transactions that ask for less than expected have nothing to do
// with each other.
func (c *Card) drawn() bool { return len(c.Txns) > 0 && c.Anomaly != finding.WeakerThanExpected }

// pictures are the picture for wide and for narrow pages, or one for both. The style sheet shows one of them.
func pictures(s *scene.Scene, evidence picture.Evidence) template.HTML {
	wide, narrow := picture.Bare(picture.Wide(s, evidence)), picture.Bare(picture.Narrow(s, evidence))
	if string(wide) == string(narrow) {
		return template.HTML(wide)
	}
	return template.HTML(`<div class="wide">` + string(wide) + `</div><div class="narrow">` + string(narrow) + `</div>`)
}

// Name is the explanation's name for a transaction.
func (c *Card) Name(id string) string { return words.ShortName(&c.Finding, id) }

// Path is the finding's own page.
func (c *Card) Path() string { return c.Base + "/findings/" + url.PathEscape(c.ID) }

// API is the finding as JSON.
func (c *Card) API() string { return c.Base + "/api/v1/findings/" + url.PathEscape(c.ID) }

// signs stand beside the words, so that colour is not needed to tell verdicts apart.
var signs = map[words.Verdict]string{
	words.Violated: "✕", words.Allowed: "○", words.Uncertain: "?", words.Waiting: "◔", words.Undecided: "…",
	words.Lost: "∅", words.Malformed: "!", words.Weaker: "↓", words.Cleared: "✓",
}

// Badge is the text on the badge.
func (c *Card) Badge() string { return signs[c.Verdict] + " " + string(c.Verdict) }

// Moment is a time as pages show it.
type Moment struct {
	Stamp string // RFC 3339, for machines
	Text  string // UTC, to a millisecond
	Age   string // "3 min ago", "" where the page has no time
}

// MomentOf reads a time of a finding. ok is false where it has none.
func (o *Options) MomentOf(stamp string) (m Moment, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return Moment{}, false
	}
	m = Moment{Stamp: stamp, Text: at.UTC().Format("2006-01-02 15:04:05.000 UTC")}
	if !o.Now.IsZero() {
		m.Age = age(o.Now.Sub(at))
	}
	return m, true
}

// age is how long ago something was, in its largest unit. A time to come is rounded to the nearest one: a new silence for
// 4 h ends in 4 h.
func age(d time.Duration) string {
	switch {
	case d >= 0:
		return lasting(d) + " ago"
	case d > -time.Minute:
		d -= time.Second / 2
	case d > -time.Hour:
		d -= time.Minute / 2
	default:
		d -= time.Hour / 2
	}
	return "in " + lasting(-d)
}

// lasting is a stretch of time in its largest unit.
func lasting(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// Fact is a line of the finding's facts.
type Fact struct {
	Name   string
	Text   string // code
	Moment *Moment
}

// Times are when it was found, and when this revision was sent.
func (c *Card) Times() (facts []Fact) {
	for _, x := range []struct{ name, stamp string }{{"Found", c.FoundAt}, {"This revision", c.DetectedAt}} {
		if m, ok := c.MomentOf(x.stamp); ok && (x.name == "Found" || c.DetectedAt != c.FoundAt) {
			facts = append(facts, Fact{Name: x.name, Moment: &m})
		}
	}
	return facts
}

// Full is a card with all that the finding's own page shows.
type Full struct {
	*Card
	Steps    []Step
	Members  []Member
	Beside   []Member
	Timeline template.HTML // "" where no record has times
	Events   []Event       // what happened meanwhile
	// Downloads are within the page, where there is no service behind it.
	Downloads []Download
	NoEDN     string // why its records cannot be written as EDN; "": they can
	Check     string // the command that checks its records; "": there is none
}

// Event is something that happened beside the transactions.
type Event struct {
	finding.Mark
	Where        string  // "During": its source was told. "Beside": the monitor knows it
	Number       int     // in the timeline
	Began, Ended *Moment // nil where it says no time
	Open         bool    // it had not ended
}

// eventsOf are the marks. The first ones, so many, are those that the finding has.
func (o *Options) eventsOf(marks []finding.Mark, during int) (all []Event) {
	for i, m := range marks {
		e := Event{Mark: m, Where: "During", Number: i + 1, Open: m.End == "" && i < during}
		if i >= during {
			e.Where = "Beside"
		}
		for _, x := range []struct {
			to    **Moment
			stamp string
		}{{&e.Began, m.Start}, {&e.Ended, m.End}} {
			if at, ok := o.MomentOf(x.stamp); ok {
				*x.to = &at
			}
		}
		all = append(all, e)
	}
	return all
}

// mostOpen transactions are shown with the proof, which are long on a phone: with more, the picture and the
// dependencies come first, and these are folded.
const mostOpen = 4

// Long says whether the proof and the transactions are folded.
func (f *Full) Long() bool { return len(f.Members) > mostOpen && len(f.Steps) > 0 }

// beside is how long before the first transaction, and behind the last one, what happened is shown.
const beside = 5 * time.Second

// Beside lists what happened to the finding's source about the time of its transactions. [NewFull] says what happened must tell.
func Beside(f *finding.Finding, happened func(source string, from, to time.Time) []finding.Mark) []finding.Mark {
	return besideOf(scene.New(f), happened)
}

func besideOf(s *scene.Scene, happened func(source string, from, to time.Time) []finding.Mark) []finding.Mark {
	from, to, timed := s.Span()
	if !timed || happened == nil {
		return nil
	}
	return happened(s.Finding.Source, from.Add(-beside), to.Add(beside))
}

// NewFull is f with its evidence. happened says what happened to its source between two instants; nil: nothing
// is known.
func NewFull(f finding.Finding, o Options, happened func(source string, from, to time.Time) []finding.Mark) *Full {
	full := &Full{Card: newCard(f, o)}
	full.draw("")
	s := scene.New(&full.Finding)
	for i := range s.Arrows {
		full.Steps = append(full.Steps, o.stepOf(s, i))
	}
	for i := range s.Members {
		full.Members = append(full.Members, o.memberOf(&full.Finding, &s.Members[i]))
	}
	for i := range s.Beside {
		full.Beside = append(full.Beside, o.memberOf(&full.Finding, &s.Beside[i]))
	}
	marks := f.During
	if _, _, timed := s.Span(); timed && full.drawn() {
		marks = append(slices.Clip(marks), besideOf(s, happened)...)
		full.Timeline = template.HTML(`<div class="wide">` + string(picture.Bare(picture.Timeline(s, marks, picture.WideTime))) +
			`</div><div class="narrow">` + string(picture.Bare(picture.Timeline(s, marks, picture.NarrowTime))) + `</div>`)
	}
	full.Events = o.eventsOf(marks, len(f.During))
	if len(f.History) > 0 {
		if _, err := records.EDN(&full.Finding); err != nil {
			full.NoEDN = finding.OneLine(err.Error())
		}
		contract := ""
		if o.Contract != nil {
			contract = o.Contract(f.Source)
		}
		full.Check = records.Command(&full.Finding, contract)
	}
	if o.Alone {
		full.Downloads = downloadsOf(&full.Finding, full.SVG != "")
	}
	return full
}

// Step is a dependency with its evidence.
type Step struct {
	finding.Edge
	ID        string // on the page
	Evidence  string // the id of its evidence
	Sentence  string
	FromShort string
	ToShort   string
	Ends      []End
}

// End is an operation at the end of a dependency.
type End struct {
	Short    string
	Op       string // "" where none shows it
	Place    int    // in the record, from 1
	Position string
	Record   *Record // nil: there is none
	Dropped  bool    // retention has dropped the record
}

func (o *Options) stepOf(s *scene.Scene, i int) Step {
	a := &s.Arrows[i]
	from, to := &s.Members[a.From], &s.Members[a.To]
	step := Step{Edge: a.Edge, ID: fmt.Sprintf("%s-step-%d", s.Finding.ID, i+1), Evidence: edgeID(s.Finding, i), Sentence: a.Evidence, FromShort: from.Title(), ToShort: to.Title()}
	if a.Step == 0 && a.Evidence == "" {
		step.Sentence = to.Short + " read what " + from.Short + " wrote"
		switch {
		case a.From == a.To:
			step.Sentence = "two operations of " + to.Short + " contradict each other"
		case a.Type == scene.Contradicts:
			step.Sentence = from.Short + " and " + to.Short + " contradict each other"
		}
	}
	step.Ends = append(step.Ends, o.endOf(s.Finding, from, a.FromOp))
	if a.From != a.To || a.FromOp != a.ToOp {
		step.Ends = append(step.Ends, o.endOf(s.Finding, to, a.ToOp))
	}
	if i, op := s.ShowsOrder(&a.Edge); op >= 0 {
		step.Ends = append(step.Ends, o.endOf(s.Finding, &s.Members[i], op))
	}
	for i := range step.Ends {
		step.Ends[i].Dropped = s.Finding.NoEvidence
	}
	return step
}

func (o *Options) endOf(f *finding.Finding, m *scene.Member, op int) End {
	e := End{Short: m.Title(), Position: o.Place(positionOf(f, m)), Record: o.recordOf(f, m)}
	if op >= 0 {
		e.Op, e.Place = m.Ops[op].Text, op+1
	}
	return e
}

// Member is a transaction of a finding's page.
type Member struct {
	*scene.Member
	Position string
	Session  string
	Status   string
	Started  *Moment
	Took     string
	TraceID  string
	TraceURL string
	Evidence *Record // nil: there is none
}

func (o *Options) memberOf(f *finding.Finding, m *scene.Member) Member {
	x := Member{Member: m, Position: o.Place(positionOf(f, m)), Evidence: o.recordOf(f, m)}
	r := m.Record
	if r == nil {
		return x
	}
	x.Session, x.Status, x.TraceID = r.Session, r.Status.String(), r.TraceID
	if r.Flags&event.HasSeq != 0 {
		x.Session = strings.TrimSpace(fmt.Sprintf("%s #%d", x.Session, r.Seq))
	}
	if r.Flags&event.HasTimes != 0 {
		start, _ := o.MomentOf(time.Unix(0, r.Start).UTC().Format(time.RFC3339Nano))
		x.Started, x.Took = &start, finding.Lasting(time.Duration(r.End-r.Start))
	}
	if o.Trace != "" && r.TraceID != "" {
		x.TraceURL = traceURL(o.Trace, r.TraceID)
	}
	return x
}

// traceURL puts the id into a link. It escapes all but letters, digits and -_.~: the id is one value of a query, or one step of
// a path.
func traceURL(link, id string) string {
	return strings.ReplaceAll(link, "{trace_id}", strings.ReplaceAll(url.QueryEscape(id), "+", "%20"))
}
