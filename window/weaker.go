package window

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/pattern"
)

// A transaction that asked for less than the source is expected to give gets that. No anomaly that its
// level allows is alerted. A pool that runs at its driver's default would so be silent. So it is a
// finding of its own, one for all sessions of one pattern that ask for one level. It is revised while
// they go on, and resolved when they have stopped.

const (
	maxWeaker       = 64 // groups told apart; the rest share one
	maxWeakerTxns   = 10 // of a group that its finding names
	maxWeakerTotals = 64 // pairs of levels that are counted apart
	maxSessionText  = 200
)

// otherSessions stands for the patterns beyond maxWeaker.
const otherSessions = "(others)"

// weaker is persisted as JSON.
type weaker struct {
	news[*weakerGroup]
	Totals []WeakerTotal
}

// WeakerTotal counts the transactions since the beginning that asked for one level where
// another one was expected.
type WeakerTotal struct {
	Asked    string `json:"asked"`
	Expected string `json:"expected"`
	Count    int64  `json:"count"`
}

type weakerGroup struct {
	ongoing
	Pattern  string         // of sessions
	Asked    isolation.Base // 0: several
	Name     string         // the name of the level, as the first transaction wrote it
	Expected string
}

// Weaker counts the transactions that asked for less than was expected, by both levels. The
// pairs come in the order in which they were met. Possible pairs that were not met follow, with
// 0.
func (m *Machine) Weaker() []WeakerTotal {
	return WeakerThan(m.cfg.Expect, slices.Clone(m.reports.weaker.Totals))
}

// WeakerThan adds to the totals, with 0, the levels weaker than l that are not among them.
func WeakerThan(l isolation.Level, totals []WeakerTotal) []WeakerTotal {
	for b := isolation.ReadUncommitted; b < l.Underlying(); b++ {
		x := WeakerTotal{isolation.Level{Base: b}.String(), l.String(), 0}
		if !slices.ContainsFunc(totals, func(y WeakerTotal) bool { return y.Asked == x.Asked && y.Expected == x.Expected }) {
			totals = append(totals, x)
		}
	}
	return totals
}

// noteWeaker counts t, which asked for base, if less was asked for than is expected.
func (s *reports) noteWeaker(b *event.Batch, t *event.Txn, base isolation.Base, end int64) {
	if s.cfg.Asking || !base.Lacks(s.cfg.Expect.Underlying()) {
		return
	}
	expected := s.cfg.Expect.String()
	s.weaker.count(isolation.Level{Base: base}.String(), expected)
	s.normal = pattern.AppendNormal(s.normal[:0], b.Bytes(t.Session))
	g := s.weaker.group(b.Bytes(t.Epoch), isolation.Cut(string(s.normal), maxSessionText), base, expected)
	if g == nil {
		g = s.newWeaker(b, t, base, end)
	}
	f := &g.Finding
	f.LastPosition = positionText(s.clock.partitions[t.Pos.Partition].Name, t.Pos.Offset)
	if len(f.Txns) < maxWeakerTxns {
		s.nameWeaker(g, b, t)
	}
	s.weaker.grow(s, g, 1, end)
}

// nameWeaker takes t among the transactions that the finding names.
func (s *reports) nameWeaker(g *weakerGroup, b *event.Batch, t *event.Txn) {
	f, id := &g.Finding, b.Text(t.ID)
	if !g.add(id, b.Text(t.Name)) {
		return
	}
	f.Levels[id] = b.Text(t.Isolation)
	if on := b.Label(t, finding.EndpointLabel); on != "" {
		if f.Endpoints == nil {
			f.Endpoints = map[string]string{}
		}
		f.Endpoints[id] = on
	}
}

func (w *weaker) count(asked, expected string) {
	i := slices.IndexFunc(w.Totals, func(x WeakerTotal) bool { return x.Asked == asked && x.Expected == expected })
	if i < 0 {
		if i = len(w.Totals); i >= maxWeakerTotals {
			return // after dozens of changes of what is expected
		}
		w.Totals = append(w.Totals, WeakerTotal{asked, expected, 0})
	}
	w.Totals[i].Count++
}

// group is the one that the transaction belongs to, nil if it is new.
func (w *weaker) group(epoch []byte, sessions string, asked isolation.Base, expected string) *weakerGroup {
	for _, g := range w.Groups {
		if g.Asked == asked && g.Pattern == sessions && g.Expected == expected && g.Finding.Epoch == string(epoch) {
			return g
		}
	}
	if len(w.Groups) >= maxWeaker {
		for _, g := range w.Groups {
			if g.Asked == 0 {
				return g
			}
		}
	}
	return nil
}

func (s *reports) newWeaker(b *event.Batch, t *event.Txn, base isolation.Base, end int64) *weakerGroup {
	g := &weakerGroup{
		ongoing{Since: end, Last: end},
		isolation.Cut(string(s.normal), maxSessionText),
		base,
		isolation.Cut(b.Text(t.Isolation), maxSessionText),
		s.cfg.Expect.String(),
	}
	f := &g.Finding
	f.Epoch = b.Text(t.Epoch)
	if len(s.weaker.Groups) >= maxWeaker {
		g.Pattern, g.Asked, f.Epoch = otherSessions, 0, ""
	}
	f.Source, f.Certain, f.Levels = s.cfg.Source, true, map[string]string{}
	f.Kind, f.Anomaly, f.Title = finding.KindRecord, finding.WeakerThanExpected, isolation.TitleOf(finding.WeakerThanExpected)
	f.Refutes, f.AlsoRefutes = []string{}, []string{}
	f.FirstPosition = positionText(s.clock.partitions[t.Pos.Partition].Name, t.Pos.Offset)
	id := *f
	id.Txns = []string{g.Pattern, isolation.Level{Base: g.Asked}.String(), g.Expected, b.Text(t.ID), fmt.Sprint(end)}
	f.ID = s.identity(&id, identified{members: id.Txns, anomaly: f.Anomaly})
	s.weaker.Groups = append(s.weaker.Groups, g)
	return g
}

func (g *weakerGroup) says(s *reports) (headline, explanation string) {
	return fmt.Sprintf("%s did not ask for %s.", finding.Counted(g.Count, "transaction", "transactions"), g.Expected), s.explainWeaker(g)
}

// explainWeaker says who asks for what, how many, and since when.
func (s *reports) explainWeaker(g *weakerGroup) string {
	asked := isolation.Level{Base: g.Asked}.String()
	switch {
	case g.Asked == 0:
		asked = "less than that"
	case !strings.EqualFold(asked, g.Name):
		asked = finding.OneLine(fmt.Sprintf("%s (%s)", g.Name, asked))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is expected, and %s asked for %s.", g.Expected, finding.Counted(g.Count, "transaction", "transactions"), asked)
	if s.cfg.Product == "" && isolation.Ambiguous([]byte(g.Name)) {
		b.WriteString(" The name means different levels in different products. It is taken as the weakest: name your product, as in --expect postgresql/repeatable-read.")
	}
	b.WriteString(g.who(s, g.Pattern, "sessions: they name none", maxWeaker))
	fmt.Fprintf(&b, "\n  - for example %s", finding.OneLine(strings.Join(g.Finding.Txns[:min(len(g.Finding.Txns), 3)], ", ")))
	b.WriteString(
		"\nThey get what they asked for. An anomaly among them that this level allows, such as a lost update, gives no finding and no alert. " + unpromised(s.Counters.Unpromised) +
			"`monitor check --contract isolation=ignore` tells them. Let them ask for the expected level. If the weaker level is meant, give them a source of their own " +
			"that expects it. If the records are wrong about it, declare isolation=ignore.",
	)
	return b.String()
}

// unpromised says how many anomalies of the source gave no finding, since a transaction asked for less.
func unpromised(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("This source has had %s of this kind so far. ", finding.Counted(n, "anomaly", "anomalies"))
}
