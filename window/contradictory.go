package window

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/pattern"
)

// A client that uses ids again contradicts itself with each of its records. The sessions of one pattern
// have one such finding.

const (
	maxContradictoryGroups = 64       // groups told apart; the rest share one
	maxContradictoryTxns   = 10       // of a group that its finding names
	maxContradictoryBytes  = 32 << 10 // of records that its finding carries
)

// contradictoryGroup are records whose id was seen before, with other content. It is persisted as
// JSON.
type contradictoryGroup struct {
	ongoing
	Pattern string   // of the sessions of the second records
	Where   []string // the first ones
}

// contradicts takes in that t has the id of another record and other content.
func (s *reports) contradicts(b *event.Batch, t *event.Txn, end int64) {
	s.normal = pattern.AppendNormal(s.normal[:0], b.Bytes(t.Session))
	name, id, epoch := isolation.Cut(string(s.normal), maxSessionText), b.Text(t.ID), b.Text(t.Epoch)
	x := &s.contradictory
	i, name, epoch := groupOf(x.Groups, maxContradictoryGroups, name, epoch)
	at := positionText(s.clock.partitions[t.Pos.Partition].Name, t.Pos.Offset)
	if i < 0 {
		i = len(x.Groups)
		x.Groups = append(x.Groups, &contradictoryGroup{ongoing: s.begin(infer.Contradictory, name, epoch, id, end, at), Pattern: name})
		x.Groups[i].Finding.Hidden = s.cfg.Hide != "" // its texts tell no values
	}
	g := x.Groups[i]
	f := &g.Finding
	f.LastPosition = at
	if len(f.Txns) < maxContradictoryTxns && g.add(id, b.Text(t.Name)) {
		g.Where = append(g.Where, finding.OneLine(s.compare(g, b, t, at)))
	}
	x.grow(s, g, 1, end)
}

// compare gives the finding the two records of t's transaction, and says how they differ. The second one, t, is at at.
func (s *reports) compare(g *contradictoryGroup, b *event.Batch, t *event.Txn, at string) string {
	f, id, second := &g.Finding, b.Text(t.ID), b.Record(t)
	f.SecondPositions = with(f.SecondPositions, id, at)
	of := ""
	if second.Session != "" {
		of = ", of session " + isolation.Cut(second.Session, maxSessionText) + ","
	}
	n := s.infer.WithID(id, second.Epoch)
	if n == 0 || s.infer.Record(n) == nil {
		g.carry(&second)
		return fmt.Sprintf("%s: the second record%s is at %s. The first one has left memory", id, of, at)
	}
	first := s.record(n)
	before := s.clock.position(s.infer.Info(n))
	f.Positions = with(f.Positions, id, before)
	if len(f.Txns) == 1 {
		f.FirstPosition = before
	}
	g.carry(&first, &second)
	return fmt.Sprintf("%s: the first record is at %s, the second one%s at %s. They differ in %s", id, before, of, at, strings.Join(isolation.Differences(&first, &second), "; "))
}

// carry gives the finding the records of a transaction, all of them or none, within the bound.
func (g *contradictoryGroup) carry(records ...*event.Record) {
	left := maxContradictoryBytes
	for _, text := range g.Finding.History {
		left -= len(text)
	}
	history := slices.Clip(g.Finding.History) // the revisions before have it too
	for _, r := range records {
		text := event.AppendJSON(nil, r)
		if left -= len(text); left < 0 {
			return
		}
		history = append(history, text)
	}
	g.Finding.History = history
}

func with(of map[string]string, id, text string) map[string]string {
	if of == nil {
		of = map[string]string{}
	}
	of[id] = text
	return of
}

// begin begins the finding of a group of sessions with this pattern. Its first transaction is id, whose record is at.
func (s *reports) begin(kind finding.AnomalyKind, sessions, epoch, id string, end int64, at string) ongoing {
	g := ongoing{Since: end, Last: end}
	name := isolation.NameOf(kind)
	f := &g.Finding
	f.Source, f.Epoch, f.Certain = s.cfg.Source, epoch, true
	f.Kind, f.Anomaly, f.Title = name.Kind, name.Anomaly, name.Title
	f.Refutes, f.AlsoRefutes, f.FirstPosition = []string{}, []string{}, at
	of := *f
	of.Txns = []string{sessions, id, fmt.Sprint(end)}
	f.ID = s.identity(&of, identified{members: of.Txns, anomaly: f.Anomaly})
	return g
}

func (g *contradictoryGroup) sessions() (pattern, epoch string) { return g.Pattern, g.Finding.Epoch }

func (g *contradictoryGroup) says(s *reports) (headline, explanation string) {
	headline = finding.Counted(g.Count, "record contradicts an earlier one with its id.", "records contradict earlier ones with their ids.")
	var b strings.Builder
	fmt.Fprintf(&b, "%s, and other content. The first record of each transaction is kept.",
		finding.Counted(g.Count, "record has the id of an earlier one", "records have the ids of earlier ones"))
	b.WriteString(g.who(s, g.Pattern, "of no session", maxContradictoryGroups))
	for _, where := range g.Where {
		b.WriteString("\n  - " + where)
	}
	return headline, b.String()
}
