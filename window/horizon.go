package window

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Horizon findings say that an edge could not be placed, and name the range to replay. One
// stale replica gives millions of them. So they are counted per class of keys and pane, with
// the first and last position and ten examples.

const (
	maxExamples = 10
	maxExample  = 4 << 10 // bytes
	maxNamed    = 2 * maxExamples
	maxArgument = 1 << 10 // bytes of an id in a command
)

type horizonKey struct {
	class string
	pane  int64
}

type horizonGroup struct {
	Finding  finding.Finding
	Pane     int64
	Count    int64
	Examples []string
	// Named are the transactions that the replay is asked about, at most maxNamed, and Unnamed
	// the edges that have others. A transaction of another epoch than the first one's is not
	// named.
	Named   []string
	Unnamed int64
	// Early are the edges to what left for want of memory.
	Early    int64 `json:",omitempty"`
	From, To int64 // event times that it reaches over: see note
	Older    bool  // one reaches back to a transaction without a kept time
}

type horizon struct {
	groups  map[horizonKey]*horizonGroup
	order   []horizonKey
	waiting []waitingEdge   // see horizon_wait.go
	noticed map[string]bool // classes with unattributed reads
}

// maxClasses bounds the classes of keys that a pane tells apart, and the classes that are
// noticed. Keys without a prefix in common, say UUIDs, are each a class.
const maxClasses = 64

// otherClasses stands for the classes beyond maxClasses.
const otherClasses = "(others)"

// crowded says whether the pane tells maxClasses apart already.
func (h *horizon) crowded(pane int64) bool {
	if len(h.order) < maxClasses {
		return false
	}
	n := 0
	for _, k := range h.order {
		if k.pane == pane {
			n++
		}
	}
	return n >= maxClasses
}

func (h *horizon) init() {
	h.groups = map[horizonKey]*horizonGroup{}
	h.noticed = map[string]bool{}
}

// behind reports an edge whose head is retired in these views: rule (d).
func (s *reports) behind(e *infer.Edge, in incremental.Views) {
	s.saturated.odd = true
	if in = s.saturated.toTell(in); in == 0 {
		return
	}
	if s.infer.OrderedAgain(e) { // its order held before by visits that are gone, or is undecided
		s.countOnly(in, s.clock.noted(e.From), s.clock.noted(e.To))
		return
	}
	if s.infer.OrderGuessed(e) && !s.clock.againstSession(e.From, e.To) && !s.saturated.forces(e.To, e.From) ||
		s.shownLate(e.From) { // undecided, as a misfit of blind writes is: see runFrozen
		s.countOnly(in, s.clock.noted(e.From), s.clock.noted(e.To))
		return
	}
	what := fmt.Sprintf("%s of the session", e.Label)
	class := "session"
	if e.Version != 0 {
		key := s.infer.Key(e.Version)
		what, class = fmt.Sprintf("%s on %s", e.Label, isolation.KeyName(key)), keyClass(key)
	}
	if s.infer.Readded(e) {
		s.countOnly(in, s.clock.noted(e.From), s.clock.noted(e.To))
		return
	}
	if n := s.infer.MissedUnseen(e); n != 0 {
		s.noteUnshown(in, e, n, class, what)
		return
	}
	basis := edgeBasis{version: e.Version, label: e.Label}
	if e.Label&infer.RW != 0 && e.Version != 0 {
		basis.found = s.infer.FoundBy(e.From, e.Version)
	}
	s.noteIn(in, basis, class, what, s.clock.noted(e.From), s.clock.noted(e.To))
}

// againstSession says whether the records of both transactions name one session, and do not show that
// it ran a before b.
func (k *clock) againstSession(a, b uint32) bool {
	x, y := k.record(a), k.record(b)
	if x.Session == "" || x.Session != y.Session || x.Epoch != y.Epoch {
		return false
	}
	if x.Flags&y.Flags&event.HasSeq != 0 {
		return x.Seq >= y.Seq
	}
	return x.End > y.Start
}

// behindGuess is behind for an edge that contradicts no order that was known.
func (s *reports) behindGuess(e *infer.Edge, in incremental.Views) {
	s.saturated.odd = true
	if in = s.saturated.toTell(in); in != 0 {
		s.countOnly(in, s.clock.noted(e.From), s.clock.noted(e.To))
	}
}

// toTell are the views that are told when an edge has no place. With a window, a level with
// real time in pasts is ok only where another level is, and that level is told as well.
func (f *saturated) toTell(in incremental.Views) incremental.Views {
	if f.cfg.Unbounded {
		return in
	}
	return in &^ f.timed.views
}

// beyond reports a read of what is no longer kept, or a write of what a retired
// transaction had read.
func (h *finder) beyond(a *infer.Anomaly) {
	what, class := "read of an old state", ""
	if a.Version != 0 {
		key := h.infer.Key(a.Version)
		what, class = "read of an old version of "+key, keyClass(key)
		if a.Kind == infer.RetiredReader {
			what = "write of what a retired transaction had read of " + key
		}
	} else if r := h.record(a.A); int(a.OpA) < len(r.Ops) {
		key := r.Ops[a.OpA].Key
		what, class = "read of an old state of "+key, keyClass(key)
		h.reports.contradict(key) // of a list; whether it agrees with those that have retired is not known
	}
	_, guess := h.infer.Overtaken(a.Version)
	if guess && a.Kind == infer.RetiredRead || h.reports.shownLate(a.A) {
		h.reports.countOnly(1<<len(h.views)-1, h.clock.noted(a.A))
		return
	}
	basis := edgeBasis{version: a.Version, label: infer.WR | infer.RW}
	if a.Version == 0 {
		basis.version = a.Other
	}
	h.reports.noteResting(basis, class, what, h.clock.noted(a.A))
}

// conflictBeyond reports an append that replaced a state which another transaction had read, if that
// shows only after both have retired. The conflict is tracked. It was in no serializable order while it
// could have been an untracked one (see untracked).
func (s *reports) conflictBeyond(a *infer.Anomaly) {
	if !s.asking.losesTrack() {
		return
	}
	in := incremental.Views(0)
	for i, l := range s.views {
		if l.Underlying() == isolation.Serializable {
			in |= 1 << i
		}
	}
	key := s.infer.Key(a.Version)
	s.noteIn(in, edgeBasis{}, keyClass(key), "write of what a retired transaction had read of "+key, s.clock.noted(a.A))
}

// noted is a transaction as a horizon finding names it.
type noted struct {
	ID, Epoch  string
	Hash       uint64 `json:",omitempty"` // of the id (infer.Info.ID)
	Start, End int64
	Reached    int64 // greatest event time of its partition so far
	Position   string
}

func (k *clock) noted(n uint32) noted {
	x, r := k.infer.Info(n), k.record(n)
	reached := x.End
	if int(x.Partition) < len(k.partitions) {
		reached = max(reached, k.partitions[x.Partition].Max)
	}
	return noted{r.ID, r.Epoch, x.ID, x.Start, x.End, reached, k.position(x)}
}

// note counts an edge between two transactions that could not be placed, or that could not be
// derived for one.
//
// Take a cycle through the edge u -> v, and through no other that was reported. It leads from v
// to u over transactions ranked between the two. A transaction that is ranked below u lives now
// or has lived beside it, also where u came late. So the range reaches from v's start to how
// far events had come when the edge was met. Where only u is given, nothing is kept of v: the
// range begins where the input does.
func (s *reports) note(class, what string, txns ...noted) {
	s.noteResting(edgeBasis{}, class, what, txns...)
}

// noteResting is note for an edge that a record on its way may take back.
func (s *reports) noteResting(b edgeBasis, class, what string, txns ...noted) {
	if s.work.outcomeOnly {
		s.countOnly(1<<len(s.views)-1, txns...)
		return
	}
	s.Counters.Horizon++
	s.tellWhenDue(b, class, what, txns)
}

// noteIn is noteResting for what concerns these views only. Levels that have been watched from
// the beginning on are not concerned by what those have not seen that began later.
func (s *reports) noteIn(in incremental.Views, basis edgeBasis, class, what string, txns ...noted) {
	if s.work.outcomeOnly {
		s.countOnly(in, txns...)
		return
	}
	if s.countIn(in, txns) {
		class = classOfBegun + class
	}
	s.tellWhenDue(basis, class, what, txns)
}

// countOnly is noteIn without a finding: the dependency excludes no order.
func (s *reports) countOnly(in incremental.Views, txns ...noted) {
	if p := s.panes.at(txns[0].End); !s.countIn(in, txns) && p.Horizon == 0 {
		p.Horizon++ // once, as for a group
	}
}

// countIn counts an edge for what concerns these views, and says whether all of them began later.
func (s *reports) countIn(in incremental.Views, txns []noted) (begun bool) {
	s.Counters.Horizon++
	for i, l := range s.views {
		if in&(1<<i) != 0 && s.levelChanges.begunOf(l) == nil {
			return false
		}
	}
	s.levelChanges.apart++
	for i, l := range s.views {
		if b := s.levelChanges.begunOf(l); b != nil && in&(1<<i) != 0 {
			b.Horizon++
			b.Reached = max(b.Reached, (s.panes.index(txns[0].End)+1)*s.panes.length)
		}
	}
	return true
}

// classOfBegun stands before the class of what concerns only levels that began later.
const classOfBegun = "levels begun later: "

// shownLate says whether n is of unknown outcome, or was, and counts only since the window has passed
// it, or since this step. It was in no order when the transactions froze that come behind it. So their
// order does not contradict it.
func (s *reports) shownLate(n uint32) bool {
	if s.work.outcomeOnly || s.infer.ToldLate(n) {
		return true
	}
	_, end, unknown := s.infer.Span(n)
	if !unknown || s.clock.watermark == math.MaxInt64 {
		return false
	}
	return end < s.clock.watermark-s.window() || end < s.clock.watermark && s.infer.CountsSinceNow(n)
}

// noteGroup is note for what is counted elsewhere.
func (s *reports) noteGroup(class, what string, txns ...noted) {
	at := int64(math.MinInt64) // the pane that is open where the watermark stands
	if s.clock.watermark != math.MaxInt64 {
		at = s.clock.watermark
	}
	s.noteGroupAt(at, false, class, what, txns...)
}

// noteGroupAt is noteGroup in the pane of this time, or of the live transaction's end, if that
// is later. The pane that holds the transaction knows of edges that have waited.
func (s *reports) noteGroupAt(at int64, waited bool, class, what string, txns ...noted) {
	live := txns[0]
	at = max(at, live.End)
	key := horizonKey{class, s.panes.index(at)}
	g := s.horizon.groups[key]
	if g == nil && s.horizon.crowded(key.pane) {
		key.class = otherClasses
		g = s.horizon.groups[key]
	}
	if g == nil {
		g = &horizonGroup{Pane: key.pane, From: live.Start, To: live.End, Named: []string{}}
		s.horizon.groups[key] = g
		s.horizon.order = append(s.horizon.order, key)
	}
	g.Count++
	if len(txns) > 1 && s.outOfMemory(txns[1:]) {
		g.Early++
	}
	var names []string
	for _, x := range txns {
		names = append(names, x.ID)
		g.From, g.To = min(g.From, x.Start), max(g.To, x.End)
	}
	g.Older = g.Older || len(txns) == 1
	g.To = max(g.To, live.Reached)
	if s.clock.watermark != math.MaxInt64 {
		g.To = max(g.To, s.clock.watermark)
	}
	if len(g.Examples) < maxExamples {
		g.Examples = append(g.Examples, isolation.Cut(finding.OneLine(fmt.Sprintf("%s: %s", what, strings.Join(names, " -> "))), maxExample))
	}
	g.Finding.LastPosition = live.Position
	if g.Count == 1 {
		g.Finding.Txns = names
		g.Finding.Source, g.Finding.Epoch = s.cfg.Source, live.Epoch
		g.Finding.FirstPosition = live.Position
		n := isolation.NameOf(infer.RetiredRead)
		g.Finding.Kind, g.Finding.Anomaly, g.Finding.Title = n.Kind, n.Anomaly, n.Title
		g.Finding.Refutes, g.Finding.AlsoRefutes = []string{}, []string{}
		g.Finding.State = finding.Provisional
		g.Finding.ID = s.groupID(key.class, key.pane)
		g.name(txns)
		s.publishGroup(g)
		s.countFound(&g.Finding)
		if !waited && !strings.HasPrefix(class, classOfBegun) {
			s.panes.horizon(live.End)
		}
		return
	}
	g.name(txns)
}

// name takes the transactions of an edge among those that the replay is asked about.
func (g *horizonGroup) name(txns []noted) {
	if len(g.Named)+len(txns) > maxNamed {
		g.Unnamed++
		return
	}
	for _, x := range txns {
		if x.Epoch != g.Finding.Epoch || !isArgument(x.Epoch) || !isArgument(x.ID) {
			g.Unnamed++
			return
		}
	}
	for _, x := range txns {
		if !slices.Contains(g.Named, x.ID) {
			g.Named = append(g.Named, x.ID)
		}
	}
}

func (s *reports) groupID(class string, pane int64) string {
	f := finding.Finding{Source: s.cfg.Source, Kind: finding.KindHorizon, Txns: []string{class, fmt.Sprint(pane)}}
	return s.identity(&f, identified{members: f.Txns})
}

func (s *reports) publishGroup(g *horizonGroup) {
	f := &g.Finding
	f.Revision++
	f.DetectedAt = s.clock.detectedAt()
	f.Command = s.replayCommand(g)
	edges := finding.Counted(g.Count, "edge could not be placed, because the window has passed what it leads to",
		"edges could not be placed, because the window has passed what they lead to")
	f.Headline = finding.Counted(g.Count, "read or write depends", "reads and writes depend") + " on transactions that had left the window."
	f.Explanation = fmt.Sprintf("%s:\n  - %s\nReplaying the range decides.",
		edges, strings.Join(g.Examples, "\n  - "))
	if g.Early > 0 {
		f.Explanation += fmt.Sprintf("\nReason: memory. %s before the window had passed, since the state takes more than --memory leaves to it.",
			finding.Counted(g.Early, "edge leads to what had to leave", "edges lead to what had to leave"))
	}
	out := *f
	out.Txns = slices.Clone(f.Txns)
	s.hand(out)
}

// replayCommand replays the range of g, widened by the possible distance of ranks and event
// times. That is a window, over which neighbours live together, with the longest transaction
// and the lateness.
func (s *reports) replayCommand(g *horizonGroup) string {
	if s.cfg.Replay == "" {
		return ""
	}
	command := s.cfg.Replay + " --source " + ShellQuote(s.cfg.Source)
	if !s.untimed {
		margin := int64(s.cfg.Window.D + s.cfg.MaxTxn + s.cfg.Lateness.D)
		at := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
		if !g.Older {
			command += " --from " + at(g.From-margin)
		}
		command += " --to " + at(g.To+margin+1)
	}
	return command + Question(g.Finding.ID, g.Finding.Epoch, g.Unnamed, g.Named)
}

// isArgument says whether text can stand in a command.
func isArgument(text string) bool { return len(text) <= maxArgument && !strings.ContainsRune(text, 0) }

// Question ends the command of a horizon finding: what the replay is asked about it.
func Question(id, epoch string, unnamed int64, named []string) string {
	text := " --finding " + id
	if epoch != "" && isArgument(epoch) {
		text += " --epoch " + ShellQuote(epoch)
	}
	if unnamed > 0 {
		text += fmt.Sprintf(" --unnamed %d", unnamed)
	}
	for _, txn := range named {
		text += " --txn " + ShellQuote(txn)
	}
	return text
}

// ShellQuote is text as one word of a POSIX shell.
func ShellQuote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// flushHorizon hands out the groups that have grown, and forgets groups of panes that are over.
func (h *finder) flushHorizon() {
	h.reports.tellDueEdges()
	h.reports.flushHorizonBefore(1<<63 - 1)
}

func (s *reports) flushHorizonBefore(pane int64) {
	if len(s.horizon.order) == 0 {
		return
	}
	kept := s.horizon.order[:0]
	for _, k := range s.horizon.order {
		g := s.horizon.groups[k]
		if k.pane >= pane {
			kept = append(kept, k)
			continue
		}
		g.Finding.State = finding.Final
		s.publishGroup(g)
		delete(s.horizon.groups, k)
	}
	s.horizon.order = kept
}
