// Package web is the HTTP side of the monitor: metrics, health, findings as JSON
// and as pages. It only reads, except for somebody who is known. Nothing on its pages is
// loaded from elsewhere.
package web

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/picture"
)

// Findings is where findings come from.
type Findings interface {
	// List is a page of findings, newest first, and the cursor of the next page,
	// "" when there is none. A cursor that it did not make is [ErrCursor].
	List(q Query) (page []finding.Finding, next string, err error)
	// Get is the newest revision of one finding.
	Get(id string) (f finding.Finding, ok bool, err error)
}

// Fact is one figure of the line on top of the pages.
type Fact struct{ Name, Value string }

// Options have what the pages show. Fields up to Facts are required.
type Options struct {
	Findings Findings
	// Groups has the groups of findings; nil: there are no pages of them.
	Groups   Groups
	Gatherer prometheus.Gatherer
	// Ready is nil once findings and metrics mean something, otherwise why not
	// yet.
	Ready func() error
	// Status is encoded as JSON.
	Status func() any
	// Facts are shown on every page.
	Facts func() []Fact
	// Advice are sentences about what the records cannot show, with what to do, over the
	// list of findings; nil: none.
	Advice func() []string
	// Nothing is the list's text without findings. nil: that there are none so far.
	Nothing func() string
	// Guard says who may read now; nil: everybody.
	Guard func() Guard
	// Silences are links to where the alerts of a group are silenced; nil: none.
	Silences func(*catalog.Group) []Link
	// Reload reads the settings again, and returns when they are in effect. [ErrNoFile]: there is
	// no file of them. nil: the same.
	Reload func(context.Context) error
	// External is the URL under which people reach the pages; "": what they ask for.
	External string
	Now      func() time.Time // nil: time.Now
	// Profiles are served at /debug/pprof/.
	Profiles bool
	Log      *slog.Logger // nil: nothing is logged
}

type site struct{ Options }

// Handler serves all routes. Only routes of [site.changing] take POST.
func Handler(o Options) http.Handler {
	if o.Nothing == nil {
		o.Nothing = func() string { return "No anomaly found so far." }
	}
	s, mux := newSite(&o), http.NewServeMux()
	s.probed(mux)
	mux.HandleFunc("GET /api/v1/findings", s.listJSON)
	mux.HandleFunc("GET /api/v1/findings/{id}", s.findingJSON)
	mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, _ *http.Request) { s.writeJSON(w, http.StatusOK, o.Status()) })
	mux.HandleFunc("GET /{$}", s.listPage)
	mux.HandleFunc("GET /findings/{id}", s.findingPage)
	if o.Groups != nil {
		mux.HandleFunc("GET /findings", s.groupsPage)
		mux.HandleFunc("GET /api/v1/groups", s.groupsJSON)
		mux.HandleFunc("POST /findings", s.changing(s.changePage))
		mux.HandleFunc("POST /api/v1/groups/{group}", s.changing(s.changeJSON))
	}
	mux.HandleFunc("POST /-/reload", s.changing(s.reload))
	mux.HandleFunc("GET /style.css", styleSheet)
	if o.Profiles {
		profiles(mux)
	}
	return harden(guarded(o.Guard, mux))
}

// WhileWaiting serves health and metrics of a service that has not begun. To all other requests
// it answers that it is not ready, and why. The options Gatherer and Ready are required.
func WhileWaiting(o Options) http.Handler {
	s, mux := newSite(&o), http.NewServeMux()
	s.probed(mux)
	mux.HandleFunc("GET /", s.ready)
	return harden(guarded(o.Guard, mux))
}

func newSite(o *Options) *site {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Guard == nil {
		o.Guard = func() Guard { return Guard{} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &site{*o}
}

// probed adds what machines ask for again and again.
func (s *site) probed(mux *http.ServeMux) {
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.Gatherer, promhttp.HandlerOpts{
		EnableOpenMetrics: true,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}))
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "healthy") })
	mux.HandleFunc("GET /-/ready", s.ready)
}

// policy admits the pages' own style sheet and the one inside each picture, and
// a form that leads back here.
var policy = "default-src 'none'; style-src 'self' " + picture.StyleHash() +
	"; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxBody bounds the body of a GET, which we would not read.
const maxBody = 1 << 10

func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		most := int64(maxBody)
		if r.Method == http.MethodPost {
			most = maxChange
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// NewServer is a server with limits that fit a handler of this package: slow or
// large requests are cut off.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

func (s *site) ready(w http.ResponseWriter, _ *http.Request) {
	if err := s.Ready(); err != nil {
		plain(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
		return
	}
	plain(w, http.StatusOK, "ready")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write([]byte(text + "\n")) // a client that went away needs no answer
}
