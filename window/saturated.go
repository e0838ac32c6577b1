package window

import (
	"slices"

	"fmt"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/saturation"
)

// saturated derives the orders that monotonic atomic view, read atomic and causal consistency force
// (package saturation). A transaction is taken in when the watermark passes its end. Then its
// dependencies have come, except for late ones. If it gets more dependencies later, it is taken in
// again. So are the transactions behind it whose past has grown by that.
type saturated struct {
	*core
	clock        *clock
	asking       *asking
	levelChanges *levelChanges

	on      bool
	idle    bool              // see saturated_idle.go
	odd     bool              // something has happened that ended this
	woken   bool              // that is over: what was let go of until then is not in keys
	clocked bool              // sessions keeps clocks
	views   incremental.Views // of the weak levels, without those that have real time in pasts
	// by are the views that take an edge of the rule: of the pasts with session
	// order, or without.
	by       [saturation.Causal + 1]incremental.Views
	unclosed incremental.Views // plain causal
	sessions *saturation.State
	byReads  [saturation.Causal + 1]incremental.Views // as by, of plain causal
	plain    *saturation.State                        // pasts by reads alone; nil when nobody asks for them
	timed    timed
	// lost counts dependencies that were taken back from pasts which had them.
	lost int64

	due    []dueTxn       // heap by end
	taken  []takenTxn     // by transaction
	late   []uint32       // to be taken in again
	void   []setAsideEdge // forced edges that nothing forces any more, to be removed
	keys   []dropped      // by key
	drops  uint32         // transactions that were let go of
	passed []passed       // by transaction and key
	partly partly         // follows from the orders
	listed bool           // a list was read that shows elements before its last one; no state, since it counts in whole histories only

	// Scratch.
	reads    []infer.ExternalRead // of the transaction in work
	readsOf  []infer.ExternalRead
	seenPast seenTxns
	pastEnds pastEnds
	back     []pastVisit
	given    []saturation.Read
	shown    []saturation.Shown
	reread   bool // it saw two versions of a key: read atomic and above are refuted by that
	writes   []uint32
	preds    []uint32
	edges    []saturation.Edge
	wrong    []wrongRead // of the transaction that is taken in
	stack    []uint32
}

// maxPlainChains bounds a causal past without session order: beyond it transactions
// that nobody orders are too many to keep a clock over them. Whole histories may
// take more.
const maxPlainChains, maxPlainChainsWhole = 1 << 8, 1 << 12

// bySaturation says whether l is about forced orders.
func bySaturation(l isolation.Level) bool {
	return l.Special == 0 && l.Base.Saturated()
}

// reset forgets all.
func (f *saturated) reset() {
	*f = saturated{core: f.core, clock: f.clock, asking: f.asking, levelChanges: f.levelChanges}
}

// share says which of the levels take what; clocked is whether any needs pasts with
// session order.
func (f *saturated) share(levels []isolation.Level) (clocked bool) {
	f.on, f.views, f.unclosed = false, 0, 0
	clear(f.by[:])
	atomic, causal := incremental.Views(0), incremental.Views(0) // of the strong levels
	for i, l := range levels {
		bit := incremental.Views(1) << i
		if !bySaturation(l) {
			continue
		}
		f.on = true
		f.by[saturation.AtomicView] |= bit
		if l.Base == isolation.MonotonicAtomicView {
			f.views |= bit
			continue
		}
		f.by[saturation.Atomic] |= bit
		switch {
		case l.Family == isolation.Strong && l.Base == isolation.ReadAtomic:
			atomic |= bit
		case l.Family == isolation.Strong:
			causal |= bit
		default:
			f.views |= bit
		}
		switch {
		case l.Family != isolation.Plain:
			clocked = true
			f.by[saturation.SessionAtomic] |= bit
			if l.Base == isolation.Causal {
				f.by[saturation.Causal] |= bit
			}
		case l.Base == isolation.Causal:
			f.unclosed |= bit
		}
	}
	f.byReads[saturation.Causal] = f.unclosed
	f.timed.share(atomic, causal)
	return clocked
}

func (f *saturated) init(levels []isolation.Level, unbounded bool) {
	f.clocked = f.share(levels)
	if !f.on {
		return
	}
	f.sessions = saturation.New(f.clocked)
	f.initPlain(unbounded)
	f.timed.init()
}

// initPlain begins the pasts without session order, if they are asked for.
func (f *saturated) initPlain(unbounded bool) {
	if f.unclosed == 0 {
		return
	}
	f.plain = saturation.New(true)
	f.plain.MaxChains = maxPlainChains
	if unbounded {
		f.plain.MaxChains = maxPlainChainsWhole
	}
}

// noteSaturation takes in what a step of inference gave: transactions to wait for, and
// dependencies of those that did not wait for them.
func (s *reports) noteSaturation(o *infer.Out) {
	f := s.saturated
	if f.idle {
		for i := range o.Edges {
			if e := &o.Edges[i]; e.Label&infer.RW != 0 {
				s.missedRetired(e)
			}
		}
		return
	}
	for _, n := range o.Nodes {
		_, end, _ := s.infer.Span(n)
		f.wait(n, s.infer.Generation(n), end)
		for int(n) >= len(f.taken) {
			f.taken = flat.Push(f.taken, takenTxn{})
		}
		f.taken[n] = takenTxn{drops: f.drops}
	}
	for i := range o.Edges {
		e := &o.Edges[i]
		switch {
		case e.Label&(infer.WR|infer.Process|infer.Reread) != 0:
			if f.isTaken(e.To, s.infer.Generation(e.To)) {
				f.late = append(f.late, e.To)
			}
		case e.Label&infer.RW != 0:
			s.missedRetired(e)
		}
	}
	for i := range o.Anomalies {
		if a := &o.Anomalies[i]; a.Kind == infer.Divergence {
			s.missedDiverged(a)
		}
	}
}

// saturate takes in what the watermark has passed.
func (h *finder) saturate() {
	f := h.saturated
	if h.saturated.addsNothing() {
		return
	}
	for len(f.due) > 0 && f.due[0].end < h.clock.watermark {
		d := f.pop()
		h.saturateDue(d)
		if f.timed.views != 0 {
			h.saturated.overInTime(d.n, d.gen)
		}
	}
	h.saturateLate()
	h.retrySetAside()
}

// saturateDue takes in the transaction that is due, and before it the transactions that it depends on.
// If a dependency came after it, the transaction would be taken in again, with all that depend on it. A
// dependency that ended after the limit is taken in if its outcome is known. It committed earlier, so
// its own dependencies have come, except for late ones.
func (h *finder) saturateDue(d dueTxn) {
	f := h.saturated
	if !h.saturated.enter(d.n, d.gen) {
		return
	}
	f.stack = append(f.stack[:0], d.n)
	for len(f.stack) > 0 {
		n := f.stack[len(f.stack)-1]
		if before := h.saturated.notTaken(n); before != 0 {
			f.stack = append(f.stack, before)
			continue
		}
		f.stack = f.stack[:len(f.stack)-1]
		h.saturateOne(n)
	}
}

// enter notes that n is about to be taken in. It skips n if n does not count, is taken in
// already, or has left: the live cap takes transactions in before they are due.
func (f *saturated) enter(n, gen uint32) bool {
	if !f.infer.Counts(n) || f.infer.Generation(n) != gen || f.isTaken(n, gen) || !f.graph.Known(incremental.Vertex(n)) {
		return false
	}
	f.taken[n].gen = gen
	return true
}

// notTaken enters one that n depends on and that was not taken in; 0 if there is none.
func (f *saturated) notTaken(n uint32) uint32 {
	for id := f.graph.FirstIn(incremental.Vertex(n)); id != 0; id = f.graph.NextIn(id) {
		e := f.graph.Edge(id)
		if infer.Label(e.Labels)&(infer.WR|infer.Reread|infer.Process) == 0 {
			continue
		}
		p := uint32(e.From)
		if int(p) < len(f.taken) && f.taken[p].gen != 0 {
			continue
		}
		if _, end, unsure := f.infer.Span(p); (end < f.clock.watermark || !unsure) && f.enter(p, f.infer.Generation(p)) {
			return p
		}
	}
	return 0
}

// saturateOne takes n in, which was entered.
func (h *finder) saturateOne(n uint32) {
	f := h.saturated
	t := h.saturated.describe(n)
	t.Behind = h.saturated.readRetired() || t.Session != 0 && t.After == 0 && h.infer.SessionRetired(t.Session)
	h.checkFrozen(n, true)
	f.taken[n].drops = f.drops
	f.writes = h.infer.WrittenKeys(f.writes[:0], n)
	f.sessions.Add(&t, f.writes)
	h.takeSaturated(n, f.sessions.Out, &f.by)
	if f.timed.views != 0 {
		h.saturateInTime(n, t, false)
	}
	if f.plain != nil && !f.plain.TooWide {
		t.Session, t.After, t.Preds = 0, 0, nil
		f.plain.Add(&t, f.writes)
		h.takeSaturated(n, f.plain.Out, &f.byReads)
	}
	h.saturateTorn(n)
	h.saturated.renewBehind(n)
}

// saturateTorn reports list reads of n that end with an append of a transaction and
// lack another one of the same: read atomic forbids it.
func (h *finder) saturateTorn(n uint32) {
	f := h.saturated
	in := f.by[saturation.Atomic]
	if asked := h.asking.askedBy(n); asked != 0 {
		in = h.without(in, asked)
	}
	for i := 0; in != 0 && i < len(f.reads); i++ {
		if r := f.reads[i]; r.Writer != 0 && h.infer.Missed(r.Writer, r.Version) != 0 {
			h.missed(&saturation.Edge{From: r.Writer, To: r.Writer, By: n, Key: r.Key}, r.Version, 0, in)
		}
	}
}

// without takes out of in the views of levels above the one that was asked for.
func (h *finder) without(in incremental.Views, asked isolation.Base) incremental.Views {
	for i, level := range h.views {
		if asked.Lacks(level.Base) {
			in &^= 1 << i
		}
	}
	return in
}

// renewBehind queues those behind n that were taken in before.
func (f *saturated) renewBehind(n uint32) {
	for id := f.graph.FirstOut(incremental.Vertex(n)); id != 0; id = f.graph.NextOut(id) {
		e := f.graph.Edge(id)
		to := uint32(e.To)
		if infer.Label(e.Labels)&(infer.WR|infer.Reread|infer.Process) != 0 && f.isTaken(to, f.infer.Generation(to)) {
			f.late = append(f.late, to)
		}
		if infer.Label(e.Labels) == infer.WW {
			f.renewShown(e)
		}
	}
}

// renewShown queues the transactions that read a list up to an element behind an element of e.From.
// Their reads showed that element, too. If elements are linked, each is linked with the next one.
func (f *saturated) renewShown(e *incremental.Edge) {
	for n := 0; e != nil && n < infer.MaxShown; n++ {
		key := f.infer.KeyOfVersion(e.Note[0])
		var next *incremental.Edge
		for id := f.graph.FirstOut(e.To); id != 0; id = f.graph.NextOut(id) {
			x := f.graph.Edge(id)
			to, l := uint32(x.To), infer.Label(x.Labels)
			if l&(infer.WR|infer.WW) == 0 || f.infer.KeyOfVersion(x.Note[0]) != key {
				continue
			}
			if l&infer.WR != 0 && f.isTaken(to, f.infer.Generation(to)) {
				f.late = append(f.late, to)
			}
			if l == infer.WW && next == nil {
				next = x
			}
		}
		e = next
	}
}

// saturateLate takes in again the transactions that depend on more than they were taken in
// with.
func (h *finder) saturateLate() {
	f := h.saturated
	for len(f.late) > 0 {
		n := f.late[len(f.late)-1]
		f.late = f.late[:len(f.late)-1]
		if !h.infer.Counts(n) || !f.isTaken(n, h.infer.Generation(n)) {
			continue
		}
		t := h.saturated.describe(n)
		grown := f.sessions.Renew(&t)
		missed := f.sessions.Missed
		h.takeSaturated(n, f.sessions.Out, &f.by)
		if f.timed.views != 0 {
			grown = h.saturateInTime(n, t, true) || grown
		}
		if f.plain != nil && !f.plain.TooWide {
			t.Session, t.After, t.Preds = 0, 0, nil
			grown = f.plain.Renew(&t) || grown
			missed = missed || f.plain.Missed
			h.takeSaturated(n, f.plain.Out, &f.byReads)
		}
		h.checkFrozen(n, missed)
		h.saturateTorn(n)
		if grown {
			h.saturated.renewBehind(n)
		}
	}
}

// describe is n as package saturation wants it.
func (f *saturated) describe(n uint32) saturation.Txn {
	f.reads = f.infer.ExternalReads(f.reads[:0], n)
	f.given, f.shown, f.reread = f.given[:0], f.shown[:0], false
	for i := range f.reads {
		r := &f.reads[i]
		f.reread = f.reread || r.Reread
		if !f.infer.Shown(r.Version, func(w uint32) {
			if f.listed = true; w != n {
				f.shown = append(f.shown, saturation.Shown{Writer: w, First: r.First})
			}
		}) {
			f.lost++
		}
		f.given = append(f.given, saturation.Read{Key: r.Key, Writer: r.Writer, First: r.First, Last: r.Last})
	}
	t := saturation.Txn{Number: n, Reads: f.given, Shown: f.shown}
	if f.asking.askedBy(n) == isolation.ReadUncommitted {
		t.Reads, t.Shown = nil, nil // the version that it saw need not have been there
	}
	t.Session, t.Open = f.infer.Session(n)
	f.preds = f.preds[:0]
	for id := f.graph.FirstIn(incremental.Vertex(n)); id != 0; id = f.graph.NextIn(id) {
		e := f.graph.Edge(id)
		if infer.Label(e.Labels)&infer.Process == 0 {
			continue
		}
		if from := uint32(e.From); t.After == 0 || f.infer.Follows(t.After, from) {
			t.After = from
		}
		f.preds = append(f.preds, uint32(e.From))
	}
	t.Preds = f.preds
	return t
}

// takeSaturated puts edges that n's reads force into the orders of the views that take
// them, by rule.
func (h *finder) takeSaturated(n uint32, es []saturation.Edge, by *[saturation.Causal + 1]incremental.Views) {
	f := h.saturated
	if len(es) == 0 {
		return
	}
	f.edges, f.wrong = append(f.edges[:0], es...), f.wrong[:0]
	for i := range f.edges {
		e := &f.edges[i]
		in := by[e.Rule]
		if asked := h.asking.askedBy(n); asked != 0 {
			in = h.without(in, asked)
		}
		if f.reread {
			in &^= f.by[saturation.Atomic]
		}
		if in == 0 {
			continue
		}
		version := uint32(0)
		for j := range f.reads {
			if r := &f.reads[j]; r.Key == e.Key && r.Writer == e.To {
				version = r.Version
			}
		}
		if version == 0 {
			continue
		}
		i := slices.IndexFunc(f.wrong, func(r wrongRead) bool { return r.version == version && in&^r.views == 0 })
		if i >= 0 {
			h.joinTold(e, &f.wrong[i], in)
		} else if t := h.addSaturated(e, version, in); t.views != 0 {
			f.wrong = append(f.wrong, wrongRead{version, t})
		}
	}
}

// saturationShortfall says why the level, one of the weak ones, cannot be ok.
func (s *reports) saturationShortfall(l isolation.Level) string {
	f := s.saturated
	if !bySaturation(l) {
		return ""
	}
	wide := f.sessions != nil && f.sessions.TooWide && l.Family != isolation.Plain && l.Base != isolation.MonotonicAtomicView
	if l.Family == isolation.Plain && l.Base == isolation.Causal && f.plain != nil && f.plain.TooWide {
		wide = s.weakerUnsure(l)
	}
	switch {
	case wide:
		return "too many transactions without an order to follow what each one had seen"
	case f.lost > 0:
		return finding.Counted(f.lost, "dependency that was taken back", "dependencies that were taken back")
	}
	return f.timed.shortfall(l)
}

// weakerUnsure says whether plain causal consistency is not known to hold by its
// twin with session order, whose pasts are larger.
func (s *reports) weakerUnsure(l isolation.Level) bool {
	twin := l
	twin.Family = isolation.StrongSession
	if !s.watches(twin) || s.saturated.sessions.TooWide || s.infer.Counters.Overlapping > 0 {
		return true
	}
	return refuted(s.verdicts.certain, twin) || refuted(s.verdicts.uncertain, twin)
}

func (f *saturated) appendState(dst *flat.Writer) *flat.Writer {
	if !f.on {
		return dst
	}
	dst = flat.AppendValue(dst, "idle", &f.idle)
	dst = flat.AppendValue(dst, "odd", &f.odd)
	dst = flat.AppendValue(dst, "woken", &f.woken)
	dst = flat.Append(dst, "due", f.due)
	dst = flat.Append(dst, "taken", f.taken)
	dst = flat.Append(dst, "late", f.late)
	dst = flat.Append(dst, "keys", f.keys)
	dst = flat.Append(dst, "passed", f.passed)
	dst = flat.AppendValue(dst, "drops", &f.drops)
	dst = flat.AppendValue(dst, "lost", &f.lost)
	dst = f.sessions.AppendState(dst)
	if f.plain != nil {
		dst = f.plain.AppendState(dst)
	}
	return f.timed.appendState(dst)
}

func (f *saturated) readState(r *flat.Reader) {
	if !f.on {
		return
	}
	flat.ReadValue(r, "idle", &f.idle)
	flat.ReadValue(r, "odd", &f.odd)
	flat.ReadValue(r, "woken", &f.woken)
	flat.Read(r, "due", &f.due)
	flat.Read(r, "taken", &f.taken)
	flat.Read(r, "late", &f.late)
	flat.Read(r, "keys", &f.keys)
	flat.Read(r, "passed", &f.passed)
	flat.ReadValue(r, "drops", &f.drops)
	flat.ReadValue(r, "lost", &f.lost)
	f.sessions.ReadState(r)
	if f.plain != nil {
		f.plain.ReadState(r)
	}
	f.timed.readState(r)
}

func (f *saturated) check() error {
	for i := range f.due {
		if i > 0 && f.due[i].before(&f.due[(i-1)/2]) {
			return fmt.Errorf("what waits for the watermark is out of order at %d", i)
		}
	}
	return nil
}
