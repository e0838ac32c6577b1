package window

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/pattern"
)

// A publisher that drops a record now and then leaves a gap in the numbers of a session each time. All
// such gaps of the sessions of one pattern are one finding. Input that a broker has lost is told by
// range: see gap.go.

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
		s.missed.Groups = append(s.missed.Groups, &missedGroup{ongoing: s.begin(infer.SequenceGap, name, epoch, r.ID, info.End, at), Pattern: name})
	}
	g := s.missed.Groups[i]
	f := &g.Finding
	f.LastPosition = at
	g.Places++
	if len(f.Txns) < maxMissedTxns && g.add(r.ID, r.Name) {
		g.Where = append(g.Where, finding.OneLine(fmt.Sprintf("session %s, before #%d (%s)", isolation.Cut(r.Session, maxSessionText), r.Seq, r.ID)))
	}
	s.missed.grow(s, g, missing, info.End)
}

func (g *missedGroup) sessions() (pattern, epoch string) { return g.Pattern, g.Finding.Epoch }

func (g *missedGroup) says(s *reports) (headline, explanation string) {
	headline = finding.Counted(g.Count, "record is missing.", "records are missing.")
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%s missing, in %s: the numbers (seq) of their sessions are not in a row.",
		finding.Counted(g.Count, "record is", "records are"),
		finding.Counted(g.Places, "place", "places"),
	)
	b.WriteString(g.who(s, g.Pattern, "of no session", maxMissedGroups))
	for _, where := range g.Where {
		b.WriteString("\n  - " + where)
	}
	if n := g.Places - int64(len(g.Where)); n > 0 {
		b.WriteString("\n  - " + finding.Counted(n, "more place", "more places"))
	}
	return headline, b.String()
}
