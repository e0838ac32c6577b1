// Package web is the HTTP side of the monitor: metrics, health, findings as JSON
// and as pages. It only reads, except for somebody who is known. Nothing on its pages is
// loaded from elsewhere.
package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/render/picture"
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
	// Overview is how all sources fare in the span of time that ends now, behind those to skip. nil: the
	// first page is the list of findings.
	Overview func(span time.Duration, skip int) Overview
	// Beside says what happened beside a source between two instants: restarts, lost input, other levels.
	// nil: nothing is known.
	Beside func(source string, from, to time.Time) []finding.Mark
	// Nothing is the list's text without findings. nil: that there are none so far.
	Nothing func() string
	// Guard says who may read now; nil: everybody.
	Guard func() Guard
	// Silences are links to where the alerts of a group are silenced; nil: none.
	Silences func(*catalog.Group) []Link
	// Contract gives the contract for a check of a source's records, KEY=VALUE,..., without defaults. nil: there is none.
	Contract func(source string) string
	// Reload reads the settings again, and returns when they are in effect, with the keys of those that
	// wait for a restart. [ErrNoFile]: there is no file of them. nil: the same.
	Reload func(context.Context) (waiting []string, err error)
	// External is the URL under which people reach the pages; "": what they ask for.
	External string
	// Pages is the address of the pages in links, without a slash at its end; "": none is known. nil: the same.
	Pages func() string
	// Profiles are served at /debug/pprof/.
	Profiles bool
	// Base is put before all paths, for a reverse proxy that serves the pages under one: /isowatch. "": none.
	Base string
	// Group is the path of the page of the unit's group; "": these pages show no unit of a group.
	Group string
	// Trace is a link to a trace, with {trace_id} in it; "": none.
	Trace string
	// Changes counts what the pages show: they are renewed when it grows. nil: they are not.
	Changes func() uint64
	Now     func() time.Time // nil: the system's
	Log     *slog.Logger     // nil: nothing is logged
}

type site struct {
	Options
	watching atomic.Int32 // pages that follow what changes
}

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
	mux.HandleFunc("GET /list", s.listPage)
	if o.Overview != nil {
		mux.HandleFunc("GET /{$}", s.overview)
	} else {
		mux.HandleFunc("GET /{$}", s.listPage)
	}
	mux.HandleFunc("GET /findings/{id}", s.findingPage)
	if o.Groups != nil {
		mux.HandleFunc("GET /findings", s.groupsPage)
		mux.HandleFunc("GET /api/v1/groups", s.groupsJSON)
		mux.HandleFunc("POST /findings", s.changing(s.changePage))
		mux.HandleFunc("POST /api/v1/groups/{group}", s.changing(s.changeJSON))
	}
	mux.HandleFunc("POST /-/reload", s.changing(s.reload))
	mux.HandleFunc("GET /style.css", styleSheet)
	mux.HandleFunc("GET /page.js", script)
	mux.HandleFunc("GET /favicon.svg", favicon)
	mux.HandleFunc("GET /favicon.ico", favicon)
	mux.HandleFunc("GET /events", s.events)
	if o.Profiles {
		profiles(mux)
	}
	return harden(under(o.Base, guarded(o.Guard, gzhttp.GzipHandler(mux))))
}

// under serves next below base, and without it: probes and scrapes come past the proxy.
func under(base string, next http.Handler) http.Handler {
	if base == "" {
		return next
	}
	below := http.StripPrefix(base, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == base:
			http.Redirect(w, r, base+"/", http.StatusMovedPermanently)
		case strings.HasPrefix(r.URL.Path, base+"/"):
			below.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// WhileWaiting serves health and metrics of a service that has not begun. To all other requests
// it answers that it is not ready, and why. The options Gatherer and Ready are required.
func WhileWaiting(o Options) http.Handler {
	s, mux := newSite(&o), http.NewServeMux()
	s.probed(mux)
	mux.HandleFunc("GET /", s.ready)
	return harden(under(o.Base, guarded(o.Guard, mux)))
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
	return &site{Options: *o}
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

// policy admits the pages' own style sheet and the one inside each picture. It admits the pages' own script,
// what that asks for, and a form that leads back here.
var policy = "default-src 'none'; style-src 'self' " + picture.StyleHash() +
	"; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

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
