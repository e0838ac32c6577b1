package app

import (
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
	"github.com/isowatch/isowatch/internal/group/store/file"
)

// lonelyGroup is a group of one member over a folder, whose unit nobody runs.
func lonelyGroup(t *testing.T, id, dir string) *Group {
	t.Helper()
	s, err := file.Open(&url.URL{Scheme: "file", Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := config.DefaultService()
	c.Group = config.Group{Name: "g", State: "file://" + dir, Lease: time.Second, Member: id}
	c.Inputs = []config.Input{{NATS: &config.NATS{URLs: []string{"nats://127.0.0.1:1"}, Stream: "S"}}}
	g, err := NewGroup(Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	g.store = s
	return g
}

// TestGroupUnwatched: a member tells how long its unit was not watched. Another one tells nothing of it, until the first is gone.
func TestGroupUnwatched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := lonelyGroup(t, "a", dir), lonelyGroup(t, "b", dir)
	var log lockedBuffer
	a.log = slog.New(slog.NewTextHandler(&log, nil))
	start := func(g *Group, units []string) {
		g.member = drive.Start(drive.Options{ID: g.id, Lease: g.config.Group.Lease, Units: units, Store: g.store, Heed: func(group.Event) {}})
		t.Cleanup(func() { g.member.Stop() })
	}
	start(a, a.units)
	lacking := func(g *Group, now time.Time) map[string]time.Duration {
		g.lookAtUnits(now)
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.watched.lacking(now, time.Second)
	}
	eventually(t, "the unit is a's", func() bool { all := a.member.Units(); return len(all) == 1 && all[0].Mine })
	now := time.Now()
	lacking(a, now)
	if got := lacking(a, now.Add(10*time.Second)); got["nats:S"] < 9*time.Second {
		t.Errorf("a does not run its unit, and tells %v", got)
	}
	if err := a.readiness(); err == nil || !strings.Contains(err.Error(), "nats:S") || a.watched.owns != 1 {
		t.Errorf("a does not watch its unit: ready %v, %d units", err, a.watched.owns)
	}
	u := a.newUnit(group.Event{Unit: "nats:S", Term: 1})
	u.asking.Store(true)
	a.owned[u.name] = u
	a.watched.stuck = nil
	before := log.String()
	a.lookAtUnits(now.Add(11 * time.Second))
	if log.String() != before || len(a.stuck(now)) != 1 {
		t.Errorf("while others are asked to read the state: %s, %v", log.String(), a.watched.stuck)
	}
	u.asking.Store(false)
	a.watched.stuck["nats:S"] = true // it was told above
	a.lookAtUnits(now.Add(11 * time.Second))
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "unit=nats:S") {
		t.Errorf("it is told %d times: %s", n, log.String())
	}
	a.frame = &App{}
	a.tellAbout(t.Context())
	v, err := ReadGroup(t.Context(), a.store, time.Second)
	if err != nil || len(v.Units) != 1 || v.Units[0].State != UnitOwned || v.Units[0].UnwatchedSeconds == nil || v.Units[0].Owner != "a" {
		t.Errorf("a reader of the group sees %+v (%v)", v, err)
	}
	start(b, nil)
	eventually(t, "b sees a", func() bool { all := b.member.Units(); return len(all) == 1 && all[0].Alive && all[0].Owner == "a" })
	if got := lacking(b, now); len(got) != 0 {
		t.Errorf("b tells of the unit of a: %v", got)
	}
	a.member.Stop()
	b.member.Leave() // it takes no unit
	eventually(t, "b misses a", func() bool { return len(lacking(b, now.Add(5*time.Second))) == 1 })
	if got := lacking(b, now.Add(20*time.Second)); got["nats:S"] < 10*time.Second || b.watched.free != 1 {
		t.Errorf("b tells %v, and %d units are free", got, b.watched.free)
	}
}
