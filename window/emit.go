package window

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/docs"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/zeebo/xxh3"
)

// countFound counts a finding that is new. An uncertain one is counted again once it is certain: see countCertain.
func (s *reports) countFound(f *finding.Finding) {
	n := s.found[f.Anomaly]
	switch {
	case uncertain(f):
		n[2]++
		s.noteUnsure(f.ID)
	case f.Expected:
		n[1]++
	default:
		n[0]++
	}
	s.found[f.Anomaly] = n
}

// uncertain says whether sinks get f only where they ask for what is uncertain. A horizon finding is a question by itself.
func uncertain(f *finding.Finding) bool { return !f.Certain && f.Kind != finding.KindHorizon }

func (s *reports) noteUnsure(id string) {
	if s.unsure == nil {
		s.unsure = map[string]struct{}{}
	}
	s.unsure[id] = struct{}{}
}

// countCertain counts a finding that was uncertain when it was told, and is certain by now.
func (s *reports) countCertain(f *finding.Finding) {
	if _, ok := s.unsure[f.ID]; ok && !uncertain(f) && f.State != finding.Withdrawn {
		delete(s.unsure, f.ID)
		s.countFound(f)
	}
}

func (s *reports) emit(f *openFinding) {
	f.Finding.DetectedAt = s.clock.detectedAt()
	if len(s.marks) > 0 {
		f.Finding.During = s.during(f.members, f.Finding.Epoch)
	}
	if f.Finding.FoundAt == "" {
		f.Finding.FoundAt = f.Finding.DetectedAt
	}
	f.Finding.WithdrawnBy = ""
	if f.Finding.State == finding.Withdrawn {
		f.Finding.WithdrawnBy = cmp.Or(s.work.cause, finding.OtherRecord)
	}
	s.emitWhenDue(&f.Finding, f.shares, f.due, f.sooner, len(f.lacked) > 0)
}

// fall notes that a finding that waited is none.
func (o *core) fall(id string) {
	if _, fell := o.fallen[id]; fell {
		return
	}
	if o.fallen == nil {
		o.fallen = map[string]struct{}{}
	}
	o.fallen[id] = struct{}{}
	o.results.Fallen = append(o.results.Fallen, id)
}

// hand gives f out, with what it prints cut to its bounds. The machine goes on with the
// whole of it.
func (o *core) hand(f finding.Finding) {
	isolation.Bound(&f)
	o.advise(&f)
	if _, fell := o.fallen[f.ID]; fell {
		delete(o.fallen, f.ID)
		o.results.Fallen = slices.DeleteFunc(o.results.Fallen, func(id string) bool { return id == f.ID })
	}
	o.handAgain(&f)
	o.results.Findings = append(o.results.Findings, f)
}

// handAgain drops the withdrawal of f if the same call has handed it out. f holds by other evidence, so nobody is
// told that it fell.
func (o *core) handAgain(f *finding.Finding) {
	if f.State == finding.Withdrawn {
		if o.gone == nil {
			o.gone = map[string]struct{}{}
		}
		o.gone[f.ID] = struct{}{}
		return
	}
	if _, gone := o.gone[f.ID]; !gone || f.State == finding.Waiting || uncertain(f) {
		return
	}
	delete(o.gone, f.ID)
	at := slices.IndexFunc(o.results.Findings, func(x finding.Finding) bool { return x.ID == f.ID && x.State == finding.Withdrawn })
	if was := &o.results.Findings[at]; was.Certain {
		*o.Counters.withdrawn(was.WithdrawnBy)--
	}
	o.results.Findings = slices.Delete(o.results.Findings, at, at+1)
}

// advised are the facts that the advice on a finding depends on.
type advised struct {
	anomaly  string
	expected docs.Expected
}

// advise writes what the finding means, what is likely to cause it at the expected setting, and
// what to do. There is nothing to do about one that is taken back.
func (o *core) advise(f *finding.Finding) {
	if f.State == finding.Withdrawn || f.State == finding.ResolvedOK {
		f.Causes, f.Next = nil, nil
		return
	}
	if f.Kind == finding.KindGap && len(f.Causes) > 0 { // it has its own: see Lose
		f.Meaning = isolation.MeaningOf(f.Anomaly)
		return
	}
	expected := docs.Expected{Setting: o.cfg.Setting, Level: o.cfg.Expect, Allowed: f.Expected}
	if o.cfg.Asking {
		expected = docs.Expected{}
	}
	advice, ok := o.advice[advised{f.Anomaly, expected}]
	if !ok {
		advice = o.cfg.Advise(f.Anomaly, expected)
		if o.advice == nil {
			o.advice = map[advised]docs.Advice{}
		}
		o.advice[advised{f.Anomaly, expected}] = advice
	}
	f.Meaning, f.Causes, f.Next = isolation.MeaningOf(f.Anomaly), slices.Clone(advice.Causes), slices.Clone(advice.Next)
	if strings.Contains(f.Explanation, ": "+StateLost) {
		f.Causes = []string{"The store of the group has lost the state of the unit: somebody has removed its records or objects, or they are damaged."}
		f.Next = []string{
			"Look who removes something in the store of the group: a retention, a purge, a script that cleans up.",
			"The records of the range may all be there. The monitor has forgotten them. To check them again: monitor replay.",
		}
	}
	for i := range f.Next {
		f.Next[i] = o.withRecords(f.Next[i], f.ID)
	}
}

// withRecords is a step with the command that prints the records of the finding, or without it
// where no folder holds them.
func (o *core) withRecords(step, id string) string {
	const command = "monitor findings --id ID --output history"
	if o.cfg.Data == "" {
		return strings.Replace(step, " Their records: "+command+".", "", 1)
	}
	return strings.Replace(step, command, "monitor findings --data "+ShellQuote(o.cfg.Data)+" --id "+id+" --output history", 1)
}

// detectedAt is the tick, or nothing where no clock is given.
func (k *clock) detectedAt() string {
	if k.tick == 0 {
		return ""
	}
	return wallTime(k.tick)
}

// identified tells a finding from others of its source, epoch and kind.
type identified struct {
	members []string // ids of transactions, in any order
	refutes []string // the weakest levels that it refutes
	anomaly string   // of a finding without a cycle
	about   string   // the key of a counter: one transaction can have misread several, and a register besides
}

// membersDigits are the digits of an id that are of the members.
const membersDigits = 16

// identity is the stable id. Its first 16 digits are a hash of source, epoch, kind, and sorted
// members as first reported. The last 8 also depend on the refuted levels, as first reported.
// So two cycles of the same members that refute different levels are two findings. And a
// finding refutes the same levels, whichever are watched.
func (o *core) identity(f *finding.Finding, of identified) string {
	kind := string(f.Kind)
	if of.anomaly != "" {
		kind += " " + of.anomaly
	}
	if of.about != "" {
		kind += " of " + of.about
	}
	txns := slices.Clone(of.members)
	slices.Sort(txns)
	h := xxh3.HashString128(fmt.Sprintf("%q %q %q %q", f.Source, f.Epoch, kind, txns))
	if len(of.refutes) > 0 {
		h.Lo ^= xxh3.HashString(fmt.Sprintf("%q", of.refutes))
	}
	return fmt.Sprintf("%016x%08x", h.Hi, uint32(h.Lo))
}

// locate sets the positions of the members, and of the first and the last in input order.
func (k *clock) locate(f *finding.Finding, members []uint32) {
	first, last := "", ""
	f.Positions = nil
	var lo, hi uint32
	for _, n := range members {
		x := k.infer.Info(n)
		if id, at := event.RecordID(k.infer.Record(n)), k.position(x); id != "" && at != "" {
			if f.Positions == nil {
				f.Positions = make(map[string]string, len(members))
			}
			f.Positions[id] = at
		}
		if first == "" || x.Gen < lo {
			first, lo = k.position(x), x.Gen
		}
		if last == "" || x.Gen > hi {
			last, hi = k.position(x), x.Gen
		}
	}
	f.FirstPosition, f.LastPosition = first, last
}

func (k *clock) position(x infer.Info) string {
	if int(x.Partition) >= len(k.partitions) {
		return ""
	}
	return positionText(k.partitions[x.Partition].Name, x.Offset)
}
