package web

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/render/page"
)

// markJSON is a mark in the API.
type markJSON struct {
	Who   string `json:"who"`
	Why   string `json:"why"`
	At    string `json:"at"`
	Until string `json:"until,omitempty"`
	Over  bool   `json:"over,omitempty"` // its end has passed
}

// marksJSON are the marks of a group in the API.
type marksJSON struct {
	Acknowledged *markJSON `json:"acknowledged,omitempty"`
	Silenced     *markJSON `json:"silenced,omitempty"`
}

func newMarksJSON(m catalog.Marks, now time.Time) marksJSON {
	one := func(m *catalog.Mark) *markJSON {
		if m == nil {
			return nil
		}
		return &markJSON{m.Who, m.Why, rfc3339(m.At), rfc3339(m.Until), !m.Holds(now.UnixNano())}
	}
	return marksJSON{one(m.Acknowledged), one(m.Silenced)}
}

func rfc3339(ns int64) string {
	if ns == 0 {
		return ""
	}
	return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
}

// findingWithGroup is a finding in the API: its record, and what is not of the record.
type findingWithGroup struct {
	finding.Finding
	Group string `json:"group"`
	// Beside has the restarts, lost input and other levels about the time of its transactions. Lists leave it out.
	Beside []finding.Mark `json:"beside,omitempty"`
	marksJSON
}

func (s *site) withGroup(f finding.Finding) findingWithGroup {
	g := catalog.GroupOf(&f)
	x := findingWithGroup{Finding: f, Group: g.Key()}
	x.PageURL = s.pageURL(f.ID)
	if s.Groups != nil {
		x.marksJSON = newMarksJSON(s.Groups.Marks(x.Group), s.Now())
	}
	return x
}

// whole is a finding in the API by itself.
func (s *site) whole(f finding.Finding) findingWithGroup {
	x := s.withGroup(f)
	x.Beside = page.Beside(&f, s.Beside)
	return x
}

// pageURL is the address of the finding's page, as sinks have it; its path where no address is known.
func (s *site) pageURL(id string) string {
	at := s.Base
	if s.Pages != nil {
		at = cmp.Or(s.Pages(), at)
	}
	return at + "/findings/" + url.PathEscape(id)
}

// groupJSON is a group in the API.
type groupJSON struct {
	Key string `json:"group"`
	catalog.Group
	Title    string                `json:"title"`
	Findings int                   `json:"findings"`
	Stands   int64                 `json:"stands_for"`
	States   map[finding.State]int `json:"states"`
	Expected int                   `json:"expected"`
	Certain  int                   `json:"certain"`
	First    string                `json:"first_seen,omitempty"`
	Last     string                `json:"last_seen,omitempty"`
	Trend    []int                 `json:"trend"`
	marksJSON
	Since    int    `json:"since_acknowledged,omitempty"`
	Silences []Link `json:"silences,omitempty"`
}

// groupsJSON is the answer of /api/v1/groups.
type groupsJSON struct {
	Groups   []groupJSON `json:"groups"`
	Total    int         `json:"total"`
	Findings int         `json:"findings"`
	Width    int64       `json:"bar_seconds"` // of the trends
	End      string      `json:"bars_end"`
	Before   int         `json:"before_bars"` // findings that ended before all bars
	Index    Index       `json:"index"`
}

func (s *site) groupsJSON(w http.ResponseWriter, r *http.Request) {
	q, by, skip, err := groupQuery(r, defaultLimit)
	if err != nil {
		s.failJSON(w, http.StatusBadRequest, err.Error())
		return
	}
	found, index, err := s.Groups.Groups(q, by, skip, q.Limit)
	if err != nil {
		s.Log.Error("web: groups of findings failed", "err", err)
		s.failJSON(w, http.StatusInternalServerError, "findings cannot be read")
		return
	}
	now := s.Now()
	out := groupsJSON{
		Groups: []groupJSON{}, Total: found.Total, Findings: found.Findings, Index: index,
		Width: found.Width / int64(time.Second), End: rfc3339(found.End), Before: found.Before,
	}
	for i := range found.Rows {
		x := &found.Rows[i]
		g := groupJSON{
			Key: x.Key, Group: x.Group, Title: titleOf(x.Anomaly), Findings: x.Findings, Stands: x.Stands, States: x.States,
			Expected: x.Expected, Certain: x.Certain, First: rfc3339(x.First), Last: rfc3339(x.Last), Trend: x.Trend[:],
			marksJSON: newMarksJSON(x.Marks, now), Since: x.Since,
		}
		if s.Silences != nil {
			g.Silences = s.Silences(&x.Group)
		}
		out.Groups = append(out.Groups, g)
	}
	s.writeJSON(w, http.StatusOK, &out)
}
