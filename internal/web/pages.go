package web

import (
	"bytes"
	_ "embed" // templates and style sheet
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/alert/words"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/picture"
	"github.com/isowatch/isowatch/isolation"
)

// pageLimit is small: each finding on the list comes with its picture.
const pageLimit = 20

//go:embed pages.html
var pagesText string

//go:embed style.css
var styleText string

// pages escapes everything that is put into it, by the place where it stands.
var pages = template.Must(template.Must(template.New("").Parse(pagesText)).Parse(groupsText))

// card is a finding as the templates show it.
type card struct {
	finding.Finding
	Verdict  words.Verdict
	Sentence string
	Cycle    string
	Proof    string
	Where    string        // source, and epoch
	SVG      template.HTML // escaped by package picture; "" without transactions
	Open     bool
}

func newCard(f finding.Finding) card {
	c := card{Finding: f, Cycle: words.Cycle(&f), Proof: words.Proof(&f), Where: f.Source}
	c.Verdict, c.Sentence = words.VerdictOf(&f)
	if c.Title == "" {
		c.Title = c.Anomaly
	}
	if f.Epoch != "" {
		c.Where += ", epoch " + f.Epoch
	}
	if len(f.Txns) > 0 && f.Anomaly != finding.WeakerThanExpected { // whose transactions have nothing to do with each other
		c.SVG = template.HTML(picture.SVG(f))
	}
	return c
}

// Name is the explanation's name for a transaction.
func (c card) Name(id string) string { return words.ShortName(&c.Finding, id) }

// Path is the finding's own page.
func (c card) Path() string { return "/findings/" + url.PathEscape(c.ID) }

// Badge is the text on the badge: a sign beside the word, so that colour is not needed to tell
// them apart.
func (c card) Badge() string {
	signs := map[words.Verdict]string{
		words.Violated: "✕", words.Allowed: "○", words.Uncertain: "?", words.Waiting: "⧗", words.Undecided: "…",
		words.Lost: "∅", words.Malformed: "!", words.Weaker: "↓", words.Cleared: "✓",
	}
	return signs[c.Verdict] + " " + string(c.Verdict)
}

type frame struct {
	Heading string // of the page
	Facts   []Fact
	Refresh int // seconds; 0: never
}

type listPage struct {
	frame
	Cards     []card
	Query     Query
	Anomalies []string
	Kinds     []finding.Kind
	States    []finding.State
	Older     string // link; "" on the last page
	Live      string // link that turns refreshing on or off
	Filtered  bool
	Nothing   string // what to say without findings
	Advice    []string
}

func (s *site) listPage(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.RawQuery, pageLimit, "refresh")
	refresh := 0
	if text := r.URL.Query().Get("refresh"); err == nil && text != "" {
		if refresh, err = strconv.Atoi(text); err != nil || refresh < 1 || refresh > 3600 {
			err = fmt.Errorf(`"refresh" is %q, want 1 to 3600 seconds`, text)
		}
	}
	if err != nil {
		s.failPage(w, http.StatusBadRequest, "Wrong query", err.Error())
		return
	}
	found, next, err := s.Findings.List(q)
	if errors.Is(err, ErrCursor) {
		s.failPage(w, http.StatusBadRequest, "Wrong query", "This page of the list is not known any more.")
		return
	}
	if err != nil {
		s.Log.Error("web: list of findings failed", "err", err)
		s.failPage(w, http.StatusInternalServerError, "Error", "The findings cannot be read. The log says why.")
		return
	}
	page := listPage{
		frame: frame{"Findings", s.Facts(), refresh},
		Query: q, Anomalies: isolation.AnomalyNames(), Kinds: kinds, States: states,
		Nothing:  s.Nothing(),
		Filtered: q != Query{Limit: q.Limit},
	}
	if s.Advice != nil {
		page.Advice = s.Advice()
	}
	for i, f := range found {
		page.Cards = append(page.Cards, newCard(f))
		page.Cards[i].Open = i < 2
	}
	values := r.URL.Query()
	if next != "" {
		values.Set("before", next)
		values.Del("refresh") // an older page does not change
		page.Older = "/?" + values.Encode()
	}
	page.Live = liveLink(r.URL.Query(), refresh)
	s.writePage(w, http.StatusOK, "list", page)
}

// liveLink turns refreshing on or off and keeps the filter.
func liveLink(values url.Values, refresh int) string {
	values.Del("before")
	values.Del("refresh")
	if refresh == 0 {
		values.Set("refresh", "5")
	}
	return "/?" + values.Encode()
}

type findingPage struct {
	frame
	card
}

// findingPage answers /findings/ID with the page and /findings/ID.svg with the
// picture.
func (s *site) findingPage(w http.ResponseWriter, r *http.Request) {
	id, wantSVG := strings.CutSuffix(r.PathValue("id"), ".svg")
	f, ok, err := s.Findings.Get(id)
	switch {
	case err != nil:
		s.Log.Error("web: finding cannot be read", "id", id, "err", err)
		s.failPage(w, http.StatusInternalServerError, "Error", "The finding cannot be read. The log says why.")
	case !ok:
		s.failPage(w, http.StatusNotFound, "Not found", "There is no finding of this id. It may have been removed with old ones.")
	case wantSVG:
		w.Header().Set("Content-Type", "image/svg+xml")
		w.Header().Set("Cache-Control", "no-store")
		w.Write(picture.SVG(f)) // a client that went away needs no answer
	default:
		c := newCard(f)
		s.writePage(w, http.StatusOK, "finding", findingPage{frame{c.Title, s.Facts(), 0}, c})
	}
}

type failure struct {
	frame
	Reason string
}

func (s *site) failPage(w http.ResponseWriter, status int, name, reason string) {
	s.writePage(w, status, "failure", failure{frame{name, s.Facts(), 0}, reason})
}

func (s *site) writePage(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		s.Log.Error("web: page cannot be made", "page", name, "err", err)
		plain(w, http.StatusInternalServerError, "the page cannot be made; the log says why")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.WriteString(w, withoutControls(b.String())) // a client that went away needs no answer
}

// withoutControls writes out the control and formatting characters that came with records: they could reorder or
// hide other text.
func withoutControls(page string) string {
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

func styleSheet(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "max-age=300")
	w.Write([]byte(styleText)) // a client that went away needs no answer
}
