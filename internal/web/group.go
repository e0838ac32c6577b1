package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// GroupView has what the pages of a member show of its group.
type GroupView struct {
	Member  string        `json:"member"` // that answers
	Members []GroupMember `json:"members"`
	Units   []GroupUnit   `json:"units"`
	// NotAsked are members that live and could not be asked.
	NotAsked []string `json:"not_asked"`
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
	Pages    string   `json:"pages"` // below the address of any member
}

// GroupOptions have what the pages of a member show.
type GroupOptions struct {
	Options // Guard, Gatherer, Ready, Base, Log
	View    func(context.Context) (GroupView, error)
	// List gives findings of all units, newest first, and the members that could not be asked.
	List func(r *http.Request, limit int) (all []json.RawMessage, notAsked []string, err error)
	// Units serves the pages below unitPages.
	Units http.Handler
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
			s.Log.Error("web: the group cannot be read", "err", err)
			s.failJSON(w, http.StatusServiceUnavailable, "the group's store cannot be read")
			return
		}
		s.writeJSON(w, http.StatusOK, v)
	})
	mux.HandleFunc("GET /api/v1/findings", func(w http.ResponseWriter, r *http.Request) { s.groupFindings(w, r, &o) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.memberPage(w, r, &o) })
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
		s.Log.Error("web: the group cannot be read", "err", err)
		plain(w, http.StatusServiceUnavailable, "the group's store cannot be read")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err := pages.ExecuteTemplate(w, "members", struct {
		GroupView
		Base string
	}{v, s.Base}); err != nil {
		s.Log.Error("web: page failed", "err", err) // the client went away, or it is seen in tests
	}
}
