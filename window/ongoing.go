package window

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// Some faults of a service go on for hours: its transactions ask for less than is expected, or records
// get lost. Each such fault is one finding with a count. It is revised while it goes on, and resolved
// when it has stopped.

const (
	ongoingRevised  = int64(time.Minute) // revisions of a finding lie this far apart, or further
	ongoingResolved = int64(time.Hour)   // without another one
)

// ongoing is one such finding. It is persisted as JSON.
type ongoing struct {
	Finding     finding.Finding // without its explanation
	Count, Told int64
	Since, Last int64 // event times, ns
	LastTick    int64
	ToldAt      int64 // the clock then: see ongoingClock
}

func (g *ongoing) state() *ongoing { return g }

// add adds the transaction to those that the finding names. It says whether the finding did not name it before.
func (g *ongoing) add(id, name string) bool {
	f := &g.Finding
	if slices.Contains(f.Txns, id) {
		return false
	}
	f.Txns = append(f.Txns, id)
	if name != "" {
		if f.Names == nil {
			f.Names = map[string]string{}
		}
		f.Names[id] = name
	}
	return true
}

// who says which sessions the group is of, and since when it has happened. most is how many
// patterns have groups of their own, and none stands for sessions without a name.
func (g *ongoing) who(s *reports, sessions, none string, most int) string {
	var text string
	switch sessions {
	case otherSessions:
		text = fmt.Sprintf("\n  - sessions: others than the first %d patterns of them", most)
	case "":
		text = "\n  - " + none
	default:
		text = "\n  - sessions: " + finding.OneLine(sessions)
	}
	if !s.untimed {
		at := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
		text += fmt.Sprintf("\n  - since %s, the latest at %s", at(g.Since), at(g.Last))
	}
	return text
}

// group is an ongoing finding of some kind.
type group interface {
	state() *ongoing
	// says tells the finding as it is now.
	says(s *reports) (headline, explanation string)
}

// news are the groups of one kind.
type news[G group] struct {
	Groups []G // in the order in which they began
	// Untold groups have grown since they were told.
	Untold int
}

// grow adds n to the group, which happened at the event time end.
func (x *news[G]) grow(s *reports, g G, n, end int64) {
	o := g.state()
	if o.Count == o.Told {
		x.Untold++
	}
	o.Count += n
	o.Since, o.Last, o.LastTick = min(o.Since, end), max(o.Last, end), s.clock.tick
	if o.Told == 0 || s.clock.ongoingClock(o)-o.ToldAt >= ongoingRevised {
		x.tell(s, g, finding.Provisional)
	}
}

// tell hands out the group as it is now.
func (x *news[G]) tell(s *reports, g G, state finding.State) {
	o := g.state()
	if o.Count != o.Told {
		x.Untold--
	}
	f := &o.Finding
	f.State, f.DetectedAt = state, s.clock.detectedAt()
	f.Revision++
	o.Told, o.ToldAt = o.Count, s.clock.ongoingClock(o)
	out := *f
	out.Txns, out.Levels = slices.Clone(f.Txns), maps.Clone(f.Levels)
	out.Names, out.Endpoints = maps.Clone(f.Names), maps.Clone(f.Endpoints)
	out.Positions, out.SecondPositions = maps.Clone(f.Positions), maps.Clone(f.SecondPositions)
	out.Headline, out.Explanation = g.says(s)
	out.Hidden = s.cfg.Hide != "" // they tell no values
	if o.Count > 1 && !s.untimed && o.Last > 0 {
		out.LastAt = wallTime(o.Last)
	}
	if f.Revision == 1 {
		s.countFound(f)
	}
	s.hand(out)
}

// revise hands out groups that have grown and were not told for a minute by the wall clock. It
// forgets groups of sources without times that have stopped. It is asked when the clock has
// moved, before the records of a step.
func (x *news[G]) revise(s *reports) {
	if s.clock.tick == 0 || len(x.Groups) == 0 {
		return
	}
	for _, g := range x.Groups {
		if o := g.state(); x.Untold > 0 && o.Count != o.Told && s.clock.tick-o.ToldAt >= ongoingRevised {
			x.tell(s, g, finding.Provisional)
		}
	}
	if s.untimed {
		x.resolve(s, func(o *ongoing) bool { return s.clock.tick-o.LastTick >= ongoingResolved })
	}
}

// end resolves the groups without another one for an hour.
func (x *news[G]) end(s *reports) {
	if len(x.Groups) > 0 && !s.untimed {
		x.resolve(s, s.clock.hasEnded)
	}
}

func (x *news[G]) resolve(s *reports, stopped func(*ongoing) bool) {
	x.Groups = slices.DeleteFunc(x.Groups, func(g G) bool {
		if !stopped(g.state()) {
			return false
		}
		x.tell(s, g, finding.ResolvedOK)
		return true
	})
}

// close tells at the end of the input what the groups have come to. A final finding is not
// delivered by itself, so one that has grown goes out as provisional too, with the same revision.
func (x *news[G]) close(s *reports) {
	for _, g := range x.Groups {
		o := g.state()
		grown := o.Count != o.Told
		if o.Finding.State == finding.Final && !grown {
			continue
		}
		if grown {
			x.tell(s, g, finding.Provisional)
			o.Finding.Revision--
		}
		x.tell(s, g, finding.Final)
	}
}

// pause tells how far the groups have grown: nobody knows when the service starts again.
func (x *news[G]) pause(s *reports) {
	for _, g := range x.Groups {
		if o := g.state(); o.Count != o.Told {
			x.tell(s, g, finding.Provisional)
		}
	}
}

// groupOf is the index of the group of a pattern of sessions and an epoch, and what names it; -1 where it is
// new. Beyond most groups the rest share one.
func groupOf[G interface {
	sessions() (pattern, epoch string)
}](groups []G, most int, pattern, epoch string) (int, string, string) {
	at := func(pattern, epoch string) int {
		return slices.IndexFunc(groups, func(g G) bool { p, e := g.sessions(); return p == pattern && e == epoch })
	}
	i := at(pattern, epoch)
	if i < 0 && len(groups) >= most {
		pattern, epoch = otherSessions, ""
		i = at(pattern, epoch)
	}
	return i, pattern, epoch
}
