package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"github.com/isowatch/isowatch/internal/web"
)

// listen takes the port of the pages.
func (g *Group) listen(ctx context.Context) error {
	g.frame = &App{config: g.config, options: g.options, log: g.log, registry: prometheus.NewRegistry()}
	g.cleanups.push("pages", func(ctx context.Context) error { return g.frame.cleanups.run(ctx) })
	return g.frame.listen(ctx)
}

// servePages serves metrics and health.
func (g *Group) servePages(context.Context) error {
	a := g.frame
	for _, x := range []prometheus.Collector{groupCollector{g}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := a.registry.Register(x); err != nil {
			return err
		}
	}
	if a.listener == nil {
		return nil
	}
	var err error
	if g.asks, err = askingClient(&g.config.Group); err != nil {
		return err
	}
	guard, err := a.readGuard()
	if err != nil {
		return err
	}
	a.guard.Store(&guard)
	listener, err := secure(a.listener, &g.config.HTTP)
	if err != nil {
		return err
	}
	handler := web.ForGroup(web.GroupOptions{
		Options: web.Options{
			Guard:    a.guarding,
			Profiles: a.config.HTTP.Profiles,
			Gatherer: prometheus.GathererFunc(g.gather),
			Ready:    g.readiness,
			Base:     a.config.HTTP.Base(),
			Log:      g.log,
			External: a.config.HTTP.ExternalURL,
			Reload:   func(ctx context.Context) ([]string, error) { return g.ReloadFile(context.WithoutCancel(ctx)) },
		},
		View:    g.view,
		List:    g.list,
		Units:   http.HandlerFunc(g.serveUnit),
		UnitsOf: g.unitsOf,
	})
	a.serve("http", web.NewServer(g.named(a.local(handler)), g.log), listener)
	return nil
}

// gather has the metrics of the member, and of each unit with a label of its name.
func (g *Group) gather() ([]*dto.MetricFamily, error) {
	all := prometheus.Gatherers{g.frame.registry}
	for _, u := range g.running() {
		u.mu.Lock()
		if u.app != nil {
			all = append(all, u.app.registry)
		}
		u.mu.Unlock()
	}
	return all.Gather()
}

// running are the units that this member owns.
func (g *Group) running() []*unit {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []*unit
	for _, name := range slices.Sorted(maps.Keys(g.owned)) {
		all = append(all, g.owned[name])
	}
	return all
}

func (g *Group) hasJoined() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.member != nil
}

// shareWait is how long a member that has joined is not ready, at most, since its share of the units has not come.
const shareWait = 2 * time.Minute

// readiness is nil once the member has had its share of the units, and while it watches all that it has. In a rolling update the next one leaves then. If it left before,
// units would move more than twice.
func (g *Group) readiness() error {
	g.mu.Lock()
	member, joined := g.member, g.joined
	g.mu.Unlock()
	stuck := slices.Sorted(maps.Keys(g.stuck(time.Now())))
	switch {
	case len(stuck) > 0:
		return fmt.Errorf("it has units that it does not watch: %s", strings.Join(stuck, ", "))
	case member == nil:
		return errors.New("it has not joined the group: other members watch with other settings")
	case g.shared.Load():
		return nil
	case !member.HasShare() && time.Since(joined) < shareWait:
		return errors.New("its share of the units has not come yet")
	}
	g.shared.Store(true)
	return nil
}

// HTTPAddr is where metrics are, "" for nowhere.
func (g *Group) HTTPAddr() string { return g.frame.HTTPAddr() }

// groupCollector has the metrics of the member.
type groupCollector struct{ g *Group }

var (
	groupUnits = prometheus.NewDesc("isowatch_group_units", "Units by state: owned and moving are this member's, free have no living owner.", []string{"state"}, nil)
	groupTerm  = prometheus.NewDesc("isowatch_group_term", "Term of a unit that this member owns.", []string{"unit"}, nil)
	groupMoves = prometheus.NewDesc("isowatch_group_moves_total", "Units that came to this member or left it.", []string{"reason"}, nil)
	groupLacks = prometheus.NewDesc(
		"isowatch_group_unwatched_seconds",
		"Time for which nobody has watched a unit; of units that no other living member has.",
		[]string{"unit"},
		nil,
	)
	groupHeld  = prometheus.NewDesc("isowatch_group_held_findings", "Findings that wait until the group's store has the state.", nil, nil)
	groupOdd   = prometheus.NewDesc("isowatch_group_other_settings", "1: this member takes no unit, since others watch with other levels, windows or inputs.", nil, nil)
	groupLag   = prometheus.NewDesc("isowatch_group_lag_records", "Messages that the broker has and the owner of the unit has not read.", []string{"unit"}, nil)
	groupAge   = prometheus.NewDesc("isowatch_group_state_age_seconds", "Time since the state of a unit was written.", []string{"unit"}, nil)
	groupSplit = prometheus.NewDesc("isowatch_group_split_sources", "Sources that are met in two units of the group.", nil, nil)
	groupPages = prometheus.NewDesc(
		"isowatch_pages_info",
		"Where people reach the pages, without a slash at its end. Always 1. An address such as 0.0.0.0 has none.",
		[]string{"url"},
		nil,
	)
	groupBuild = prometheus.NewDesc(
		"isowatch_build_info",
		"Version and revision of the program, and the Go version that built it. Always 1.",
		[]string{"version", "revision", "goversion"},
		nil,
	)
	groupReload = prometheus.NewDesc("isowatch_config_last_reload_successful", "Whether the last changed configuration was accepted: 1 or 0. 1 before any.", nil, nil)
	groupLoaded = prometheus.NewDesc("isowatch_config_last_reload_success_timestamp_seconds", "When a changed configuration was last accepted. 0 before the first.", nil, nil)
	groupLease  = prometheus.NewDesc("isowatch_group_lease_up", "1: this member knows that it has its lease, and may deliver findings.", nil, nil)
	groupFailed = prometheus.NewDesc("isowatch_group_state_up", "1: the state of a unit can be written.", []string{"unit"}, nil)
)

// Describe implements [prometheus.Collector].
func (c groupCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{groupUnits, groupTerm, groupMoves, groupLacks, groupHeld, groupAge, groupFailed, groupSplit, groupOdd, groupLag, groupPages, groupBuild, groupReload, groupLoaded, groupLease} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c groupCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	var held, runs, starts float64
	for _, u := range c.g.running() {
		gauge(groupTerm, float64(u.term), u.name)
		u.mu.Lock()
		keeper, app := u.keeper, u.app
		u.mu.Unlock()
		gauge(groupLag, float64(u.about().Lag), u.name)
		if app == nil {
			starts++
		} else {
			runs++
		}
		if keeper != nil {
			s := keeper.Status()
			held += float64(s.Held)
			gauge(groupAge, time.Since(s.At).Seconds(), u.name)
			gauge(groupFailed, truth(s.Failed == nil), u.name)
		}
	}
	gauge(groupUnits, runs, "owned")
	gauge(groupHeld, held)
	gauge(groupBuild, 1, BuildInfo()...)
	if at := c.g.pagesBase(); at != "" {
		gauge(groupPages, 1, at)
	}
	ok, at := c.g.frame.reloaded.state()
	gauge(groupReload, truth(ok))
	gauge(groupLoaded, seconds(at))
	gauge(groupOdd, truth(c.g.odd.Load()))
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	if m := c.g.member; m != nil {
		gauge(groupLease, truth(m.Left() > 0))
	}
	gauge(groupUnits, starts+float64(c.g.watched.owns), "moving")
	gauge(groupUnits, float64(c.g.watched.free), "free")
	for unit, lacks := range c.g.watched.lacking(time.Now(), c.g.config.Group.Lease) {
		gauge(groupLacks, lacks.Seconds(), unit)
	}
	gauge(groupSplit, float64(c.g.split))
	for _, reason := range []string{"gained", "handed", "lost"} {
		out <- prometheus.MustNewConstMetric(groupMoves, prometheus.CounterValue, float64(c.g.moves[reason]), reason)
	}
}
