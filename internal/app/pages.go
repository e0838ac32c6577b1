package app

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/render/words"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// httpPatience is how long requests under way may go on at a stop.
const httpPatience = 2 * time.Second

// listen takes the port at once, so that a taken one shows before a long
// recovery; connections wait until the pages mean something.
func (a *App) listen(ctx context.Context) error {
	if a.config.HTTP.Address == config.Off {
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", a.config.HTTP.Address)
	if errors.Is(err, syscall.EADDRINUSE) && a.config.HTTP.Elsewhere {
		host, _, _ := net.SplitHostPort(a.config.HTTP.Address) // checked by Validate
		l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return fmt.Errorf("%w: http: %w\nName another address with --http HOST:PORT; port 0 takes any free one.", ErrConfig, err)
	}
	a.listener = l
	a.cleanups.push("http port", func(context.Context) error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return nil
}

func (a *App) servePages(context.Context) error {
	if a.listener == nil {
		return nil
	}
	listener, err := secure(a.listener, &a.config.HTTP)
	if err != nil {
		return err
	}
	if h := &a.config.HTTP; !h.Loopback() && !h.Guarded() {
		a.log.Warn("pages, API and metrics can be read by everybody who reaches the address: http has no user, token or client-ca-file", "address", h.Address)
	}
	a.serve("http", web.NewServer(a.reads.around(a.local(a.pagesBelow(a.config.HTTP.Base(), a.guarding))), a.log), listener)
	return nil
}

// pagesBelow are the pages with all paths below base.
func (a *App) pagesBelow(base string, guard func() web.Guard) http.Handler {
	return web.Handler(web.Options{
		Guard: guard, Profiles: a.config.HTTP.Profiles,
		Findings: a.shelf, Groups: a.shelf,
		Silences: a.silences,
		Overview: a.overview,
		Beside:   a.incidentsBeside,
		Reload:   a.reloadAsked,
		Contract: a.CheckContract,
		Now:      a.options.Now,
		External: a.config.HTTP.ExternalURL, Pages: a.linkedPages,
		Gatherer: a.registry,
		Ready:    a.readiness,
		Status:   func() any { return a.wholeStatus() },
		Facts:    a.facts,
		Advice:   a.advice,
		Nothing:  a.nothing,
		Base:     base,
		Trace:    a.config.HTTP.TraceURL,
		Changes:  a.changes,
		Log:      a.log,
		Group:    a.groupPage(),
	})
}

// CheckContract gives the contract for a check of the source's records, without defaults.
func (a *App) CheckContract(source string) string { return a.watchOf(source).Contract.ForCheck() }

// reloadAsked reads the settings of this process again. It goes on when the client leaves.
func (a *App) reloadAsked(ctx context.Context) (waiting []string, err error) {
	ctx = context.WithoutCancel(ctx)
	if u := a.options.unit; u != nil {
		return u.g.ReloadFile(ctx)
	}
	return a.ReloadFile(ctx)
}

// groupPage is the path of the page of the unit's group; "": there is none.
func (a *App) groupPage() string {
	if a.options.unit == nil {
		return ""
	}
	return a.options.unit.g.config.HTTP.Base() + "/"
}

// changes is a hash of what the pages show. It changes every minute at least, since pages tell ages. A step
// alone changes nothing: there is one a second without input.
func (a *App) changes() uint64 {
	s := a.Status()
	h := fnv.New64a()
	add := func(n int64) { fmt.Fprint(h, n, ";") } // to a hash: it does not fail
	for _, n := range []int64{s.Records, s.DeadLetters, a.shelf.version.Load(), int64(len(s.Waiting)), int64(len(s.Sources)), a.now() / int64(time.Minute)} {
		add(n)
	}
	for i := range s.Sources {
		add(int64(s.Sources[i].Live))
		add(int64(s.Sources[i].Waiting))
		fmt.Fprint(h, s.Sources[i].Stopped)
	}
	for _, i := range a.inputs {
		x := i.health()
		fmt.Fprint(h, x.up, x.caughtUp, x.unmatched)
	}
	return h.Sum64()
}

// local keeps web sites away from pages that ask for nothing.
func (a *App) local(handler http.Handler) http.Handler {
	if h := &a.config.HTTP; h.Loopback() && !h.Guarded() {
		return web.Local(h.Names(), handler)
	}
	return handler
}

// guarding says who may read the pages now.
func (a *App) guarding() web.Guard { return *a.guard.Load() }

// readGuard reads the secrets that clients must show.
func (a *App) readGuard() (g web.Guard, err error) {
	h := &a.config.HTTP
	g.User, g.Certificate = h.User, h.ClientCAFile != ""
	var faults []error
	for _, x := range []struct {
		to   *[]byte
		from config.Secret
	}{{&g.Password, h.Password}, {&g.Token, h.Token}} {
		if *x.to, err = readSecret(x.from); err != nil {
			faults = append(faults, fmt.Errorf("%w: http: %w", ErrConfig, err))
		}
	}
	return g, errors.Join(faults...)
}

// serve runs server until the app stops.
func (a *App) serve(name string, server *http.Server, l net.Listener) {
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("server ended", "server", name, "err", err)
		}
	}()
	a.cleanups.push(name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, httpPatience)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close() // requests under way are cut off; nothing of ours is lost by that
		}
		a.reads.close()
		return nil
	})
}

// wholeStatus is the status of the engine and of its probes.
func (a *App) wholeStatus() any {
	whole := struct {
		*engine.Status
		Probes []ProbeStatus `json:"probes,omitempty"`
	}{Status: a.Status()}
	for _, p := range a.probes {
		whole.Probes = append(whole.Probes, p.watch.status(p.source))
	}
	return whole
}

func (a *App) readiness() error {
	switch {
	case !a.ready.Load():
		return errors.New("starting or stopping")
	case a.Err() != nil:
		return a.Err()
	}
	for _, x := range a.Status().Sources {
		if x.Stopped != "" {
			return fmt.Errorf("source %s: %s", x.Source, words.Visible(x.Stopped))
		}
	}
	for _, p := range a.probes {
		if s := p.watch.status(p.source); !s.Reached {
			return fmt.Errorf("the database of source %s was not reached yet: %s", s.Source, s.Problem)
		}
	}
	return nil
}

// advice says what the records of the sources cannot show, in at most maxAdvice sentences.
func (a *App) advice() (all []string) {
	const maxAdvice = 50
	sources := a.Status().Sources
	for _, x := range sources {
		of := ""
		if x.Source != config.DefaultSource {
			of = "Source " + x.Source + ": "
		}
		for i := range x.Repeating {
			if r := &x.Repeating[i]; !r.ByVersion() {
				all = append(all, of+r.String())
			}
		}
		// The fact "not decided" of a single source says it too, behind the reads of counters.
		if why := x.Reads.Why; x.TotalsOff != nil && (len(sources) > 1 || len(why) == 0 || !strings.Contains(why[0].Text, x.TotalsOff.Reason)) {
			all = append(all, of+x.TotalsOff.String())
		}
	}
	if n := len(all) - maxAdvice; n > 0 {
		all = append(all[:maxAdvice], fmt.Sprintf("And %d more, which the status lists.", n))
	}
	return all
}

// facts are the figures on top of the pages.
func (a *App) facts() []web.Fact {
	s := a.Status()
	var txns, live int64
	verdict, since, decided := "", int64(0), window.Decided{}
	names := make([]string, 0, len(s.Sources))
	for i := range s.Sources {
		x := s.Sources[i]
		names = append(names, x.Source)
		txns += x.Counters.Committed + x.Counters.Aborted + x.Counters.Unknown
		live += int64(x.Live)
		v := x.Verdicts[a.watchOf(x.Source).Expect.String()]
		verdict, since = whole.Worse(verdict, v.Verdict), max(since, v.Since)
		decided = decided.With(v.Decided)
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], "and "+strconv.Itoa(len(names)-most)+" more")
	}
	var facts []web.Fact
	if u := a.options.unit; u != nil {
		facts = append(facts, web.Fact{Name: "unit", Value: u.name}, web.Fact{Name: "watched by", Value: u.g.id}, web.Fact{Name: "group", Value: u.g.config.Group.Name})
	}
	facts = append(facts, web.Fact{Name: "expected", Value: a.expected()})
	if paused, free := a.diskSpace.state(); paused {
		facts = append(facts, web.Fact{Name: "paused", Value: "the disk is nearly full, " + config.Size(free).String() + " bytes free"})
	}
	if n := len(s.Waiting); n > 0 {
		value := s.Waiting[0].Partition
		if since := longestWait(s); since > 0 {
			value += ", silent for " + finding.Lasting(since.Round(time.Second))
		}
		if n > 1 {
			value += ", and " + strconv.Itoa(n-1) + " more"
		}
		facts = append(facts, web.Fact{Name: "waits for", Value: value})
	}
	for _, x := range s.Sources {
		if x.Stopped != "" {
			facts = append(facts, web.Fact{Name: "stopped", Value: "source " + x.Source + ": " + x.Stopped})
		}
	}
	for _, p := range a.probes {
		if x := p.watch.status(p.source); x.Problem != "" {
			facts = append(facts, web.Fact{Name: "probe " + x.Source, Value: "the database does not answer: " + x.Problem})
		}
	}
	if n := s.DeadLetters; n > 0 {
		facts = append(facts, web.Fact{Name: "bad records", Value: strconv.FormatInt(n, 10)})
	}
	if len(names) == 0 {
		if s.DeadLetters > 0 {
			facts = append(facts, web.Fact{Name: "verdict", Value: window.Unknown})
		}
		return append(facts, web.Fact{Name: "sources", Value: "none yet"})
	}
	if verdict == window.Unknown && decided.Reads > 0 {
		verdict = "no violation found: " + decided.Percent() + " of reads decided"
	}
	facts = append(facts, web.Fact{Name: "verdict", Value: verdict})
	if len(decided.Why) > 0 {
		w := decided.Why[0]
		facts = append(facts, web.Fact{Name: "not decided", Value: whole.Plural(w.Reads, "read", "reads") + ": " + w.Text})
	}
	if since > 0 {
		facts = append(facts, web.Fact{Name: "watched since", Value: time.Unix(0, since).UTC().Format(time.RFC3339)})
	}
	return append(facts,
		web.Fact{Name: "sources", Value: strings.Join(names, ", ")},
		web.Fact{Name: "transactions", Value: strconv.FormatInt(txns, 10)},
		web.Fact{Name: "in the window", Value: strconv.FormatInt(live, 10)},
	)
}

// nothing is the text in place of an empty list of findings.
func (a *App) nothing() string {
	s := a.Status()
	n := whole.Plural(s.DeadLetters, "bad record", "bad records")
	switch {
	case s.DeadLetters == 0:
		return "No anomaly found so far."
	case len(s.Sources) == 0:
		return "Nothing is checked: no record could be read so far (" + n + ")."
	}
	return "No anomaly found so far (" + n + ")."
}

// expected is the level that all sources promise. If they promise different ones, it lists each source
// with its level.
func (a *App) expected() string {
	c := a.current.Load()
	if !c.Differ() {
		return c.WatchOf(c.SourceNames()[0]).Expect.String()
	}
	var each []string
	for _, name := range c.SourceNames() {
		each = append(each, name+" "+c.WatchOf(name).Expect.String())
	}
	return strings.Join(each, ", ")
}
