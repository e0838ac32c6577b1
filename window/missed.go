package window

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/pattern"
)

// A publisher that drops a record now and then leaves a gap in the numbers of a session each
// time. That is one finding for the sessions of one pattern. Input that a broker has lost is
// told by its range, each: see gap.go.

const (
	maxMissedGroups = 64 // groups told apart; the rest share one
	maxMissedTxns   = 10 // of a group that its finding names
)

// missedGroup are records that the numbers of sessions show to be missing. It is persisted as
// JSON.
type missedGroup struct {
	ongoing
	Pattern string   // of sessions
	Places  int64    // gaps
	Where   []string // the first ones
}

// noteMissed takes in that so many records of n's session are missing before n.
func (h *finder) noteMissed(n uint32, missing int64) {
	s, r := h.reports, h.record(n)
	info := h.infer.Info(n)
	s.normal = pattern.AppendNormal(s.normal[:0], []byte(r.Session))
	name := isolation.Cut(string(s.normal), maxSessionText)
	i, name, epoch := groupOf(s.missed.Groups, maxMissedGroups, name, r.Epoch)
	at := positionText(s.clock.partitions[info.Partition].Name, info.Offset)
	if i < 0 {
		i = len(s.missed.Groups)
		s.missed.Groups = append(s.missed.Groups, s.newMissed(name, epoch, &r, info.End, at))
	}
	g := s.missed.Groups[i]
	f := &g.Finding
	f.LastPosition = at
	g.Places++
	if len(f.Txns) < maxMissedTxns && !slices.Contains(f.Txns, r.ID) {
		f.Txns = append(f.Txns, r.ID)
		if r.Name != "" {
			if f.Names == nil {
				f.Names = map[string]string{}
			}
			f.Names[r.ID] = r.Name
		}
		g.Where = append(g.Where, finding.OneLine(fmt.Sprintf("session %s, before #%d (%s)", isolation.Cut(r.Session, maxSessionText), r.Seq, r.ID)))
	}
	s.missed.grow(s, g, missing, info.End)
}

func (s *reports) newMissed(name, epoch string, r *event.Record, end int64, at string) *missedGroup {
	g := &missedGroup{ongoing: ongoing{Since: end, Last: end}, Pattern: name}
	kind := isolation.NameOf(infer.SequenceGap)
	f := &g.Finding
	f.Source, f.Epoch, f.Certain = s.cfg.Source, epoch, true
	f.Kind, f.Anomaly, f.Title = kind.Kind, kind.Anomaly, kind.Title
	f.Refutes, f.AlsoRefutes, f.FirstPosition = []string{}, []string{}, at
	id := *f
	id.Txns = []string{name, r.ID, fmt.Sprint(end)}
	f.ID = s.identity(&id, identified{members: id.Txns, anomaly: f.Anomaly})
	return g
}

func (g *missedGroup) sessions() (pattern, epoch string) { return g.Pattern, g.Finding.Epoch }

func (g *missedGroup) says(s *reports) (headline, explanation string) {
	headline = finding.Counted(g.Count, "record is missing.", "records are missing.")
	var b strings.Builder
	fmt.Fprintf(&b, "%s missing, in %s: the numbers (seq) of their sessions are not in a row.", finding.Counted(g.Count, "record is", "records are"), finding.Counted(g.Places, "place", "places"))
	if g.Pattern == otherSessions {
		fmt.Fprintf(&b, "\n  - sessions: others than the first %d patterns of them", maxMissedGroups)
	} else {
		fmt.Fprintf(&b, "\n  - sessions: %s", finding.OneLine(g.Pattern))
	}
	if !s.untimed {
		at := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
		fmt.Fprintf(&b, "\n  - since %s, the latest at %s", at(g.Since), at(g.Last))
	}
	for _, where := range g.Where {
		b.WriteString("\n  - " + where)
	}
	if n := g.Places - int64(len(g.Where)); n > 0 {
		b.WriteString("\n  - " + finding.Counted(n, "more place", "more places"))
	}
	return headline, b.String()
}
