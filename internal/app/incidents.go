package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/window"
)

// incident tells an event of the monitor. The pages show it beside transactions of its time.
type incident struct {
	Source string `json:"source,omitempty"` // "": of all
	finding.Mark
}

const (
	keepIncidents = 90 * 24 * time.Hour
	longIncident  = 24 * time.Hour // one that began earlier is not looked for
	maxBeside     = 8              // that a page shows
)

// note stores an incident. One that cannot be stored is not worth an end.
func (a *App) note(x *incident, at time.Time) {
	text, err := json.Marshal(x)
	if err == nil {
		err = engine.Reader{Store: a.store}.AddIncident(at.UnixNano(), at.Add(-keepIncidents).UnixNano(), text)
	}
	if err != nil {
		a.log.Warn("an event cannot be stored: pages will not show it", "what", x.Name, "err", err)
	}
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// noteRestart notes from when to when nobody watched. It began with the last step before.
func (a *App) noteRestart(context.Context) error {
	tick, err := engine.Reader{Store: a.store}.LastTick()
	if err != nil || tick == 0 {
		return err
	}
	began, now := time.Unix(0, tick), a.options.Now()
	a.note(&incident{Mark: finding.Mark{Name: "the monitor did not run", Start: stamp(began), End: stamp(now)}}, began)
	return nil
}

// noteLevels notes that a source has other levels from now on.
func (a *App) noteLevels(source string, c *window.Config) {
	now, expected := a.options.Now(), c.Setting
	if expected == "" {
		expected = c.Expect.String()
	}
	text := fmt.Sprintf("expected %s, watched %s", expected, strings.Join(isolation.LevelNames(c.Levels), ", "))
	a.note(&incident{source, finding.Mark{Name: "other levels", Text: text, Start: stamp(now), End: stamp(now)}}, now)
}

// incidentsBeside tells incidents and lost input of a source between two instants.
func (a *App) incidentsBeside(source string, from, to time.Time) (all []finding.Mark) {
	add := func(m finding.Mark) {
		start, err := time.Parse(time.RFC3339Nano, m.Start)
		end, open := time.Parse(time.RFC3339Nano, m.End)
		if err == nil && start.Before(to) && (open != nil || !end.Before(from)) && len(all) < maxBeside {
			all = append(all, m)
		}
	}
	err := engine.Reader{Store: a.store}.Incidents(from.Add(-longIncident).UnixNano(), to.UnixNano(), func(text []byte) error {
		var x incident
		if err := json.Unmarshal(text, &x); err != nil {
			return err
		}
		if x.Source == "" || x.Source == source {
			add(x.Mark)
		}
		return nil
	})
	gaps, _, gapErr := a.shelf.List(web.Query{Limit: 50, Source: source, Kind: finding.KindGap})
	for i := range gaps {
		g := &gaps[i]
		add(finding.Mark{Name: "lost input", Text: g.Headline, Start: g.FoundAt, End: g.DetectedAt})
	}
	for _, err := range []error{err, gapErr} {
		if err != nil {
			a.log.Warn("the events around a finding cannot be read", "source", source, "err", err)
		}
	}
	return all
}
