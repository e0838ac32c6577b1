package web

import (
	"cmp"
	_ "embed" // templates
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/page"
	"github.com/isowatch/isowatch/internal/render/words"
)

// Groups is where groups of findings come from.
type Groups interface {
	// Groups has the groups of findings that match. The first skip groups are left out.
	Groups(q Query, by string, skip, most int) (catalog.Groups, Index, error)
	Marks(group string) catalog.Marks
	// Mark changes the marks of a group, stores them, and returns them. A group that has neither
	// findings nor marks is [ErrNoGroup], or [ErrFilling] as long as it may still be found.
	Mark(group string, change func(*catalog.Marks)) (catalog.Marks, error)
}

// Index says which findings the groups are of.
type Index struct {
	Findings int  `json:"findings"`
	Filling  bool `json:"filling"` // it is still being built, from the newest finding to the oldest
	Full     bool `json:"full"`    // there are older findings, which have no room in it
}

var (
	// ErrNoGroup: there is no finding of the group, and nobody said anything of it.
	ErrNoGroup = errors.New("no such group")
	// ErrFilling: the group is not in the index, which is still being built.
	ErrFilling = errors.New("the index of stored findings is still being built, and this group is not in it yet: try again in a few seconds")
	// ErrTooManyMarks: too many groups are acknowledged or silenced.
	ErrTooManyMarks = errors.New("too many groups are acknowledged or silenced: take some back first")
)

// Link leads elsewhere.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

const (
	groupsOnPage   = 30
	findingsOnPage = 50
)

var (
	orders       = []string{catalog.ByLast, catalog.ByWorst, catalog.ByCount, catalog.ByFirst}
	orderChoices = []choice{
		{catalog.ByLast, "latest first"}, {catalog.ByWorst, "violated first"}, {catalog.ByCount, "most findings first"}, {catalog.ByFirst, "newest group first"},
	}
)

// choice is a value of a form, in words.
type choice struct{ Value, Text string }

//go:embed groups.html
var groupsText string

// groupRow is a group as templates show it.
type groupRow struct {
	catalog.Row
	shown page.Options
	width int64
}

// Title is the anomaly in words.
func (g groupRow) Title() string {
	return titleOf(g.Anomaly)
}

func titleOf(anomaly string) string { return cmp.Or(isolation.TitleOf(anomaly), anomaly) }

// mostPaths are named where a group is one of many.
const mostPaths = 4

// Paths says which code paths conflict, and names some of many.
func (g groupRow) Paths() string {
	if n := len(g.Names); n > mostPaths {
		return strings.Join(g.Names[:mostPaths-1], ", ") + fmt.Sprintf(" and %d others", n-mostPaths+1)
	}
	return g.AllPaths()
}

// AllPaths names all of them.
func (g groupRow) AllPaths() string {
	switch len(g.Names) {
	case 0:
		return "Transactions without a name"
	case 1:
		return g.Names[0]
	}
	return strings.Join(g.Names[:len(g.Names)-1], ", ") + " and " + g.Names[len(g.Names)-1]
}

// asOne is a finding that stands for the group: it is as bad as the worst of them.
func (g groupRow) asOne() *page.Card {
	f := finding.Finding{Source: g.Source, Anomaly: g.Anomaly, Kind: g.Kind, State: finding.Final, Certain: g.Certain > 0, Expected: g.Expected == g.Findings}
	for _, state := range []finding.State{finding.Waiting, finding.Withdrawn, finding.ResolvedOK, finding.ResolvedViolated} {
		if g.States[state] == g.Findings {
			f.State = state
		}
	}
	return undrawn(f, g.shown)
}

// undrawn is a finding as a card without its picture and its proof.
func undrawn(f finding.Finding, o page.Options) *page.Card {
	c := &page.Card{Finding: f, Where: page.WhereOf(&f), Options: o}
	c.Verdict, c.Sentence = words.VerdictOf(&f)
	c.Title = cmp.Or(c.Title, c.Anomaly)
	return c
}

// Verdict names the colour.
func (g groupRow) Verdict() words.Verdict { return g.asOne().Verdict }

// Badge is the sign and the word of the verdict.
func (g groupRow) Badge() string { return g.asOne().Badge() }

// StateCount is how many findings of a group are in a state.
type StateCount struct {
	State finding.State
	Count int
}

// ByState has the states that there are, as their findings go through them.
func (g groupRow) ByState() (all []StateCount) {
	for _, state := range states {
		if n := g.States[state]; n > 0 {
			all = append(all, StateCount{state, n})
		}
	}
	return all
}

// Path is the group's own page.
func (g groupRow) Path() string { return g.shown.Base + "/findings?group=" + g.Key }

// Drawn is the trend of the group.
func (g groupRow) Drawn() *page.Trend { return &page.Trend{Counts: g.Trend, Text: g.trendText()} }

// trendText says the same in words.
func (g groupRow) trendText() string {
	last, before := 0, 0
	for i, n := range g.Trend {
		if i >= catalog.Bars/2 {
			last += n
		} else {
			before += n
		}
	}
	half := finding.Lasting(time.Duration(g.width * catalog.Bars / 2))
	return fmt.Sprintf("%d ended in the last %s of the trend, %d in the %s before", last, half, before, half)
}

// Silent says whether a silence is in effect, and Known whether an acknowledgement is.
func (g groupRow) Silent() bool { return g.Silenced.Holds(g.shown.Now.UnixNano()) }

// Known says whether the group is acknowledged.
func (g groupRow) Known() bool { return g.Acknowledged.Holds(g.shown.Now.UnixNano()) }

// At is an instant as the pages write it; nil: it is not known.
func (g groupRow) At(ns int64) *page.Moment {
	m, ok := g.shown.MomentOf(rfc3339(ns))
	if !ok {
		return nil
	}
	return &m
}

// groupsPage is the data of both pages: of groups, and of one with its findings.
type groupsPage struct {
	frame
	Query     Query
	Sort      string
	Anomalies []string
	Kinds     []finding.Kind
	States    []finding.State
	Orders    []choice
	Rows      []groupRow
	Total     int
	Findings  int
	From      int
	Width     string // of a bar
	Trends    string // the stretch of time of all bars
	Before    int    // findings before that
	Spans     []spanLink
	Index     Index
	Next      string
	Filtered  bool
	Nothing   string

	Cards    []*page.Card // of one group
	Outside  bool         // no finding of the group is of the time that is asked for: Rows has the group over all times
	Silences []Link
	Who      string // may change something; "": nobody
	How      string // what to set, so that somebody may
	Periods  []choice
}

// Narrowed says whether a filter is set that the form hides, beside the text that is searched and a span of the links.
func (p *groupsPage) Narrowed() bool {
	plain := Query{Limit: p.Query.Limit, Text: p.Query.Text}
	if slices.ContainsFunc(p.Spans, func(x spanLink) bool { return x.Here }) {
		plain.Recent = p.Query.Recent
	}
	return p.Query != plain
}

// spanLink leads to the same groups over another stretch of time.
type spanLink struct {
	Text, URL string
	Here      bool // it is this one
}

// spanLinks lead to the spans of the overview, and to all findings.
func (s *site) spanLinks(q *Query, values url.Values) (all []spanLink) {
	link := func(text, since string, long time.Duration) {
		to := url.Values{}
		for name := range values {
			if name != "since" && name != "until" && name != "skip" && name != "before" {
				to[name] = values[name]
			}
		}
		if since != "" {
			to.Set("since", since)
		}
		address := s.Base + "/findings"
		if len(to) > 0 {
			address += "?" + to.Encode()
		}
		all = append(all, spanLink{text, address, q.Since == 0 && q.Until == 0 && q.Recent == int64(long)})
	}
	for _, x := range spans {
		link(x.Value, x.Value, x.Long)
	}
	link("all", "", 0)
	return all
}

func (p *groupsPage) Group() *groupRow {
	if len(p.Rows) == 0 {
		return nil
	}
	return &p.Rows[0]
}

func (s *site) groupsPage(w http.ResponseWriter, r *http.Request) {
	q, by, skip, err := groupQuery(r, groupsOnPage)
	if err != nil {
		s.failPage(w, http.StatusBadRequest, "Wrong query", err.Error())
		return
	}
	found, index, err := s.Groups.Groups(q, by, skip, q.Limit)
	if err != nil {
		s.Log.Error("web: groups of findings failed", "err", err)
		s.failPage(w, http.StatusInternalServerError, "Error", "The findings cannot be read. The log says why.")
		return
	}
	data := groupsPage{
		frame: s.frame("Findings by group"), Query: q, Sort: by,
		Anomalies: isolation.AnomalyNames(), Kinds: kinds, States: states, Orders: orderChoices,
		Total: found.Total, Findings: found.Findings, From: skip, Width: finding.Lasting(time.Duration(found.Width)), Index: index,
		Filtered: q != Query{Limit: q.Limit}, Nothing: s.Nothing(), Who: s.Guard().who(r), How: howToLogIn, Periods: periods,
	}
	data.Live = true
	data.Facts = slices.DeleteFunc(data.Facts, func(f Fact) bool { return s.Overview != nil && slices.Contains(ofSources, f.Name) }) // the first page has them
	for i := range found.Rows {
		data.Rows = append(data.Rows, groupRow{found.Rows[i], s.shown(), found.Width})
	}
	values := r.URL.Query()
	data.Spans = s.spanLinks(&q, values)
	data.Before = found.Before
	data.Trends = page.Stretch(time.Unix(0, found.End-catalog.Bars*found.Width), time.Unix(0, found.End))
	if q.Group != "" {
		s.groupPage(w, &data, values)
		return
	}
	if n := skip + len(found.Rows); n < found.Total {
		values.Set("skip", strconv.Itoa(n))
		data.Next = s.Base + "/findings?" + values.Encode()
	}
	s.writePage(w, http.StatusOK, "groups", &data)
}

// groupPage is one group, with a page of its findings.
func (s *site) groupPage(w http.ResponseWriter, data *groupsPage, values url.Values) {
	q := data.Query
	q.Limit = min(q.Limit, findingsOnPage)
	found, next, err := s.Findings.List(q)
	switch {
	case errors.Is(err, ErrCursor):
		s.failPage(w, http.StatusBadRequest, "Wrong query", "This page of the list is not known any more.")
		return
	case err != nil:
		s.Log.Error("web: list of findings failed", "err", err)
		s.failPage(w, http.StatusInternalServerError, "Error", "The findings cannot be read. The log says why.")
		return
	}
	for i := range found {
		data.Cards = append(data.Cards, undrawn(found[i], s.shown()))
	}
	if next != "" {
		values.Set("before", next)
		data.Next = s.Base + "/findings?" + values.Encode()
	}
	if there, err := s.hasGroup(q.Group); err != nil || !there {
		if err == nil {
			s.failPage(w, http.StatusNotFound, "Not found", noGroup)
			return
		}
		s.Log.Error("web: groups of findings failed", "err", err)
		s.failPage(w, http.StatusInternalServerError, "Error", "The findings cannot be read. The log says why.")
		return
	}
	if data.Group() == nil && q.HasSpan() {
		ever := q
		ever.Since, ever.Until, ever.Recent = 0, 0, 0
		all, _, err := s.Groups.Groups(ever, data.Sort, 0, 1)
		if err != nil {
			s.Log.Error("web: groups of findings failed", "err", err)
			s.failPage(w, http.StatusInternalServerError, "Error", "The findings cannot be read. The log says why.")
			return
		}
		for i := range all.Rows {
			data.Rows, data.Outside = append(data.Rows, groupRow{all.Rows[i], s.shown(), all.Width}), true
		}
	}
	if g := data.Group(); g != nil {
		data.Heading = g.Title()
		if s.Silences != nil {
			data.Silences = s.Silences(&g.Group)
		}
	}
	s.writePage(w, http.StatusOK, "group", data)
}

// hasGroup says whether any finding is of the group. It may be, as long as the index is being read.
func (s *site) hasGroup(key string) (bool, error) {
	all, index, err := s.Groups.Groups(Query{Group: key}, catalog.ByLast, 0, 1)
	return err != nil || all.Total > 0 || index.Filling || index.Full, err
}

// noGroup is the answer about a group that is not there.
const noGroup = "There is no group of this key. Its findings may have been removed with old ones."

// lacksGroup says whether a query is for a group that is not there. Where that cannot be told, it is not.
func (s *site) lacksGroup(key string) bool {
	if key == "" || s.Groups == nil {
		return false
	}
	there, err := s.hasGroup(key)
	return err == nil && !there
}

// groupQuery reads a query, the order of groups, and how many are left out.
func groupQuery(r *http.Request, limit int) (q Query, by string, skip int, err error) {
	if q, err = parseQuery(r.URL.RawQuery, limit, "sort", "skip"); err != nil {
		return q, by, skip, err
	}
	values := r.URL.Query()
	if by = values.Get("sort"); by == "" {
		by = catalog.ByLast
	} else if !slices.Contains(orders, by) {
		return q, by, skip, fmt.Errorf(`"sort" is %q, want one of %q`, by, orders)
	}
	if text := values.Get("skip"); text != "" {
		if skip, err = strconv.Atoi(text); err != nil || skip < 0 {
			return q, by, skip, fmt.Errorf(`"skip" is %q, want 0 or more`, text)
		}
	}
	return q, by, skip, nil
}
