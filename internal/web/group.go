package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// GroupView has what the pages of a member show of its group.
type GroupView struct {
	Group   string        `json:"group"`
	Member  string        `json:"member"` // that answers
	Members []GroupMember `json:"members"`
	Units   []GroupUnit   `json:"units"`
	// NotAsked are members that live and could not be asked.
	NotAsked []string `json:"not_asked"`
	// OtherSettings are members that take no unit.
	OtherSettings []OddMember `json:"other_settings,omitempty"`
	// Split are sources that are met in several units.
	Split []SplitSource `json:"split_sources,omitempty"`
}

// OddMember is a member that watches with other settings than those that take units.
type OddMember struct {
	Member  string `json:"member"`
	Differs string `json:"differs"` // in which
}

// SplitSource is a source with records in several units.
type SplitSource struct {
	Source string   `json:"source"`
	Units  []string `json:"units"`
}

// GroupMember is a member that lives.
type GroupMember struct {
	Member string `json:"member"`
	Units  int    `json:"units"`
}

// GroupUnit is a unit of the group.
type GroupUnit struct {
	Unit     string   `json:"unit"`
	Owner    string   `json:"owner,omitempty"` // "": none that lives
	Term     uint64   `json:"term"`
	State    string   `json:"state"`
	Sources  *int     `json:"sources"` // nil, as the next two: the owner tells nothing
	Lag      *int64   `json:"lag_records"`
	StateAge *float64 `json:"state_age"`
	// UnwatchedSeconds is for how long its owner lives and does not watch it; nil: it does.
	UnwatchedSeconds *float64 `json:"unwatched_seconds,omitempty"`
	Pages            string   `json:"pages"` // below the address of any member
}

// GroupOptions have what the pages of a member show.
type GroupOptions struct {
	Options // Guard, Gatherer, Ready, Base, External, Reload, Log
	View    func(context.Context) (GroupView, error)
	// List gives findings of all units, newest first, and the members that could not be asked.
	List func(r *http.Request, limit int) (all []json.RawMessage, notAsked []string, err error)
	// Units serves the pages below unitPages.
	Units http.Handler
	// UnitsOf gives the units in which a source was met; "": all units.
	UnitsOf func(ctx context.Context, source string) ([]GroupUnit, error)
}

// Age is the age of the state in words; "": the owner tells none.
func (u GroupUnit) Age() string {
	if u.StateAge == nil {
		return ""
	}
	return fmt.Sprintf("%.1f s", *u.StateAge)
}

// UnitPages is before the paths of the pages of units.
const UnitPages = "/units/"

// ForGroup serves the pages of a member of a group.
func ForGroup(o GroupOptions) http.Handler {
	s, mux := newSite(&o.Options), http.NewServeMux()
	s.probed(mux)
	mux.HandleFunc("GET /api/v1/group", func(w http.ResponseWriter, r *http.Request) {
		v, err := o.View(r.Context())
		if err != nil {
			s.Log.Debug("web: the group cannot be shown", "err", err) // the answer says why
			s.failJSON(w, http.StatusServiceUnavailable, "the group cannot be shown: "+err.Error())
			return
		}
		s.writeJSON(w, http.StatusOK, v)
	})
	mux.HandleFunc("GET /api/v1/findings", func(w http.ResponseWriter, r *http.Request) { s.groupFindings(w, r, &o) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.memberPage(w, r, &o) })
	for _, path := range []string{"findings", "list"} {
		mux.HandleFunc("GET /"+path, func(w http.ResponseWriter, r *http.Request) { s.unitsPage(w, r, &o, path) })
	}
	mux.HandleFunc("GET /findings/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.unitsPage(w, r, &o, "findings/"+url.PathEscape(r.PathValue("id")))
	})
	for _, path := range []string{"groups", "status", "findings/{id}"} {
		mux.HandleFunc("GET /api/v1/"+path, func(w http.ResponseWriter, r *http.Request) {
			s.failJSON(w, http.StatusNotFound, "a member of a group tells this by unit: /api/v1/group lists them, and the same path below the pages of each answers")
		})
	}
	mux.HandleFunc("POST /-/reload", s.changing(s.reload))
	mux.HandleFunc("GET /style.css", styleSheet)
	mux.HandleFunc("GET /favicon.svg", favicon)
	mux.HandleFunc("GET /favicon.ico", favicon)
	if o.Profiles {
		profiles(mux)
	}
	packed := gzhttp.GzipHandler(mux)
	all := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, UnitPages) {
			o.Units.ServeHTTP(w, r)
			return
		}
		packed.ServeHTTP(w, r)
	})
	return harden(under(o.Base, guarded(o.Guard, all)))
}

func (s *site) groupFindings(w http.ResponseWriter, r *http.Request, o *GroupOptions) {
	values := r.URL.Query()
	values.Del("own")
	q, err := parseQuery(values.Encode(), defaultLimit)
	if err == nil && q.Before != "" {
		s.failJSON(w, http.StatusBadRequest, `"before" has no meaning for a group: ask its units`)
		return
	}
	if err != nil {
		s.failJSON(w, http.StatusBadRequest, err.Error())
		return
	}
	all, notAsked, err := o.List(r, q.Limit)
	if err != nil {
		s.Log.Error("web: list of findings failed", "err", err)
		s.failJSON(w, http.StatusServiceUnavailable, "findings cannot be read")
		return
	}
	if len(notAsked) > 0 {
		w.Header().Set("X-Not-Asked", strings.Join(notAsked, ", "))
	}
	if all == nil {
		all = []json.RawMessage{} // [] and not null
	}
	s.writeJSON(w, http.StatusOK, all)
}

func (s *site) memberPage(w http.ResponseWriter, r *http.Request, o *GroupOptions) {
	v, err := o.View(r.Context())
	if err != nil {
		s.Log.Debug("web: the group cannot be shown", "err", err) // the answer says why
		plain(w, http.StatusServiceUnavailable, "the group cannot be shown: "+err.Error())
		return
	}
	s.groupHTML(w, "members", struct {
		GroupView
		Base string
	}{v, s.Base})
}
