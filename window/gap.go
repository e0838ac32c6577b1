package window

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Gap is input that was lost before it was read: offsets From to To, To
// exclusive, equal when the extent is unknown.
type Gap struct {
	Partition string
	From, To  int64
	Reason    string
	// Elsewhere: the records are read as another unit's, so this machine lacks them. It is not stored.
	Elsewhere bool
}

// texts are the headline and the explanation of a finding about g.
func (g *Gap) texts(source string) (headline, explanation string) {
	if g.Elsewhere {
		return fmt.Sprintf("Records of the source %s are read in another unit too: %s.", source, g.Partition), "not all records of the source are seen here: " + g.Reason
	}
	if strings.HasPrefix(g.Reason, StateLost) {
		return "The group has lost what it knew of the records of " + g.Partition + ".", g.Partition + ": " + g.Reason
	}
	lost := "are lost"
	if strings.Contains(g.Reason, Perhaps) {
		lost = "may be lost"
	}
	return fmt.Sprintf("Records of %s %s.", g.Partition, lost), fmt.Sprintf("records of %s %s: %s", g.Partition, lost, g.Reason)
}

// Perhaps is in the reason of a gap if it is not known whether the lost records were of the input.
const Perhaps = ", and may have "

const (
	apartCause = "Records of the source come by several streams, subjects or topics. Records without a source all have the source default, by whichever subject they come."
	apartNext  = "Let each client name its own source, and send all records of a source to one stream, subject or topic. Then give the group another name: the old one remembers the source."
)

// StateLost begins the reason of a gap that stands for a lost state, not for lost records.
const StateLost = "the state of the unit is lost"

// Lost is the input that was lost before it was read, beside what the sessions' own
// numbers show.
type Lost struct {
	Pieces int64 // told to Lose
	// Before is an event time behind all that was lost, ns; 0: none is known.
	Before int64
}

// Lost is the loss that Lose was told.
func (m *Machine) Lost() Lost { return m.reports.lost }

// Lose takes note of lost input. Edges may be missing from now on, and a finding that rests on
// the absence of a record is not certain any more.
func (m *Machine) Lose(g Gap, tick int64, eff *Effects) {
	defer m.handOver(eff)
	m.clock.tick = max(m.clock.tick, tick)
	m.infer.LostInput(max(1, g.To-g.From))
	m.reports.lost.Pieces++
	if m.clock.tick != 0 { // what is lost by now had ended by now
		m.reports.lost.Before = m.clock.tick + int64(m.cfg.Contract.ClockDrift) + 1
	}
	headline, explanation := g.texts(m.cfg.Source)
	n := isolation.NameOf(infer.SequenceGap)
	f := finding.Finding{
		Source: m.cfg.Source, Kind: n.Kind, State: finding.Final, Revision: 1, Certain: true,
		Anomaly: n.Anomaly, Title: n.Title, Txns: []string{}, Refutes: []string{}, AlsoRefutes: []string{},
		Explanation:   finding.OneLine(explanation),
		FirstPosition: positionText(g.Partition, g.From), LastPosition: positionText(g.Partition, g.To),
		DetectedAt: m.clock.detectedAt(),
	}
	f.Headline = finding.OneLine(headline)
	if g.Elsewhere { // what usually loses records has nothing to do with it
		f.Causes, f.Next = []string{apartCause}, []string{apartNext}
	}
	id := f
	id.Txns = []string{f.FirstPosition, f.LastPosition}
	if strings.HasPrefix(g.Reason, StateLost) { // the unit may begin at the same place again, later
		id.Txns = append(id.Txns, g.Reason)
	}
	f.ID = m.identity(&id, identified{members: id.Txns, anomaly: f.Anomaly})
	m.reports.countFound(&f)
	m.hand(f)
}

// BadRecords counts records that could not be decoded: they may have been this
// source's, so that no level is said to hold.
func (m *Machine) BadRecords(n int64) { m.infer.BadRecords(n) }
