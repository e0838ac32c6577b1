package web

import (
	"bytes"
	_ "embed" // templates
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/page"
	"github.com/isowatch/isowatch/internal/render/picture"
	"github.com/isowatch/isowatch/internal/render/records"
)

// pageLimit is small: each finding on the list comes with its picture.
const pageLimit = 20

//go:embed group.html
var groupText string

//go:embed pages.html
var pagesText string

// pages escapes everything that is put into it, by the place where it stands. It is made when the first page is
// asked for: most commands show none, and it takes 8,000 allocations.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(page.Templates().Parse(pagesText + groupsText + overviewText + groupText))
})

// shown says how findings are shown now.
func (s *site) shown() page.Options {
	return page.Options{Base: s.Base, Now: s.Now(), Trace: s.Trace, Contract: s.Contract}
}

// contractOf is the contract for a check of the source's records, without defaults.
func (s *site) contractOf(source string) string {
	if s.Contract == nil {
		return ""
	}
	return s.Contract(source)
}

type frame struct {
	Heading string // of the page
	Facts   []Fact
	Base    string // before all paths
	Live    bool   // the page follows what changes
	Refresh int    // without a script, every so many seconds; 0: never
	OfGroup string // path of the page of the group; "": there is none
}

// withoutSources leaves out what the first page says of each source, where there is one.
func (f frame) withoutSources(overview bool) frame {
	if overview {
		f.Facts = slices.DeleteFunc(f.Facts, func(f Fact) bool { return slices.Contains(ofSources, f.Name) })
	}
	return f
}

func (s *site) frame(heading string) frame {
	return frame{heading, s.Facts(), s.Base, false, 0, s.Group}
}

type listPage struct {
	frame
	Cards     []*page.Card
	Query     Query
	Anomalies []string
	Kinds     []finding.Kind
	States    []finding.State
	Older     string // link; "" on the last page
	Again     string // link that turns refreshing on or off
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
	if len(found) == 0 && s.lacksGroup(q.Group) {
		s.failPage(w, http.StatusNotFound, "Not found", noGroup)
		return
	}
	list := listPage{
		frame: s.frame("Findings").withoutSources(s.Overview != nil),
		Query: q, Anomalies: isolation.AnomalyNames(), Kinds: kinds, States: states,
		Nothing:  s.Nothing(),
		Filtered: q != Query{Limit: q.Limit},
	}
	if s.Advice != nil {
		list.Advice = s.Advice()
	}
	for i, f := range found {
		list.Cards = append(list.Cards, page.NewCard(f, s.shown()))
		list.Cards[i].Open = i == 0
	}
	if next != "" {
		values := r.URL.Query()
		values.Set("before", next)
		values.Del("refresh") // an older page does not change
		list.Older = s.Base + "/list?" + values.Encode()
	}
	list.Refresh, list.Again = refresh, s.again(r.URL.Query(), refresh)
	list.Live = q.Before == "" // an older page does not change
	s.writePage(w, http.StatusOK, "list", list)
}

// again turns refreshing on or off, for pages without a script, and keeps the filter.
func (s *site) again(values url.Values, refresh int) string {
	values.Del("before")
	values.Del("refresh")
	if refresh == 0 {
		values.Set("refresh", "5")
	}
	return s.Base + "/list?" + values.Encode()
}

type findingPage struct {
	frame
	*page.Full
	Group *groupRow // nil: groups are not known
}

// forms are the downloads of a finding, by the ending of their address.
var forms = map[string]struct {
	media string
	write func(s *site, f *finding.Finding) ([]byte, error)
}{
	".svg":   {"image/svg+xml", func(_ *site, f *finding.Finding) ([]byte, error) { return picture.SVG(*f), nil }},
	".dot":   {"text/vnd.graphviz; charset=utf-8", func(_ *site, f *finding.Finding) ([]byte, error) { return picture.DOT(*f), nil }},
	".json":  {"application/json", func(s *site, f *finding.Finding) ([]byte, error) { return json.Marshal(s.whole(*f)) }},
	".jsonl": {"application/jsonl; charset=utf-8", func(_ *site, f *finding.Finding) ([]byte, error) { return records.JSONL(f) }},
	".edn":   {"application/edn; charset=utf-8", func(_ *site, f *finding.Finding) ([]byte, error) { return records.EDN(f) }},
	".html": {"text/html; charset=utf-8", func(s *site, f *finding.Finding) ([]byte, error) {
		var b bytes.Buffer
		err := page.WriteReport(&b, &page.Report{Heading: f.Title, Made: s.Now(), Trace: s.Trace, Parts: []page.Part{{Findings: []finding.Finding{*f}, Contract: s.contractOf(f.Source)}}})
		return b.Bytes(), err
	}},
}

// findingPage answers /findings/ID with the page, and /findings/ID.svg and so on with a download.
func (s *site) findingPage(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	ending := path.Ext(id)
	form, download := forms[ending]
	if download {
		id = strings.TrimSuffix(id, ending)
	}
	f, ok, err := s.Findings.Get(id)
	switch {
	case err != nil:
		s.Log.Error("web: finding cannot be read", "id", id, "err", err)
		s.failPage(w, http.StatusInternalServerError, "Error", "The finding cannot be read. The log says why.")
	case !ok:
		s.failPage(w, http.StatusNotFound, "Not found", "There is no finding of this id. It may have been removed with old ones.")
	case !download:
		full := page.NewFull(f, s.shown(), s.Beside)
		data := findingPage{s.frame(full.Title), full, nil}
		data.Live = true
		data.Facts = slices.DeleteFunc(data.Facts, func(f Fact) bool { return slices.Contains(ofSources, f.Name) })
		if s.Groups != nil {
			g := catalog.GroupOf(&f)
			data.Group = &groupRow{Row: catalog.Row{Group: g, Key: g.Key(), Marks: s.Groups.Marks(g.Key())}, shown: s.shown()}
		}
		s.writePage(w, http.StatusOK, "finding-page", data)
	default:
		text, err := form.write(s, &f)
		switch {
		case errors.Is(err, records.ErrNone) && f.NoEvidence:
			s.failPage(
				w,
				http.StatusGone,
				"Gone",
				"The records of this finding are no longer kept: retention.evidence says for how long they are. Its words and dependencies stay.",
			)
			return
		case errors.Is(err, records.ErrNone):
			s.failPage(w, http.StatusNotFound, "Not found", "This finding carries no records.")
			return
		case err != nil:
			s.failPage(w, http.StatusNotFound, "Not found", "The records cannot be written in this format: "+err.Error())
			return
		}
		w.Header().Set("Content-Type", form.media)
		w.Header().Set("Cache-Control", "no-store")
		if ending != ".svg" {
			w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "finding-" + id + ending}))
		}
		w.Write(text) // a client that went away needs no answer
	}
}

type failure struct {
	frame
	Reason string
}

func (s *site) failPage(w http.ResponseWriter, status int, name, reason string) {
	s.writePage(w, status, "failure", failure{s.frame(name), reason})
}

func (s *site) writePage(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, data); err != nil {
		s.Log.Error("web: page cannot be made", "page", name, "err", err)
		plain(w, http.StatusInternalServerError, "the page cannot be made; the log says why")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.WriteString(w, page.WithoutControls(b.String())) // a client that went away needs no answer
}

func styleSheet(w http.ResponseWriter, _ *http.Request) { asset(w, "text/css", page.Style()) }

func script(w http.ResponseWriter, _ *http.Request) { asset(w, "text/javascript", page.Script) }

// icon is a broken ring: a cycle that was found.
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="11" fill="none" stroke="#b3192b" stroke-width="5" stroke-dasharray="58 11" stroke-linecap="round"/><circle cx="16" cy="16" r="3" fill="#b3192b"/></svg>`

func favicon(w http.ResponseWriter, _ *http.Request) { asset(w, "image/svg+xml", icon) }

func asset(w http.ResponseWriter, media, text string) {
	w.Header().Set("Content-Type", media+"; charset=utf-8")
	w.Header().Set("Cache-Control", "max-age=300")
	io.WriteString(w, text) // a client that went away needs no answer
}
