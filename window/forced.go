package window

import (
	"fmt"
	"math"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/saturation"
)

// forcing derives the orders that monotonic atomic view, read atomic and causal
// consistency force (package saturation). A transaction is taken in when the
// watermark passes its end: then what it depends on has come, but for what is late.
// One that turns out later to depend on more is taken in anew, and so are those
// behind it whose past has grown by that.
type forcing struct {
	on    bool
	views incremental.Views // the weak levels'
	// by are the views that take an edge of the rule: of the pasts with session
	// order, or without.
	by       [saturation.Causal + 1]incremental.Views
	unclosed incremental.Views // plain causal
	sessions *saturation.State
	plain    *saturation.State // pasts by reads alone; nil when nobody asks for them
	// lost counts dependencies that were taken back from pasts which had them.
	lost int64

	due   []dueTxn   // heap by end
	taken []takenTxn // by transaction
	late  []uint32   // to be taken in anew
	void  []aside    // forced edges that nothing forces any more, to be removed
	keys  []uint32   // by key: drops when a writer of it was let go of last
	drops uint32     // transactions that were let go of

	// Scratch.
	reads   []infer.ExternalRead // of the transaction in work
	readsOf []infer.ExternalRead
	given   []saturation.Read
	shown   []saturation.Shown
	reread  bool // it saw two versions of a key: read atomic and above are refuted by that
	writes  []uint32
	preds   []uint32
	edges   []saturation.Edge
	stack   []uint32
}

// dueTxn waits for the watermark.
type dueTxn struct {
	end int64
	n   uint32
	gen uint32
}

// takenTxn is a transaction that was taken in.
type takenTxn struct {
	gen   uint32 // 0: it was not
	drops uint32 // forcing.drops then
}

// maxPlainChains bounds a causal past without session order: beyond it transactions
// that nobody orders are too many to keep a clock over them. Whole histories may
// take more.
const maxPlainChains, maxPlainChainsWhole = 1 << 8, 1 << 12

func (f *forcing) init(levels []isolation.Level, unbounded bool) {
	clocked := false
	for i, l := range levels {
		bit := incremental.Views(1) << i
		if l.Special != 0 || l.Base < isolation.MonotonicAtomicView || l.Base > isolation.Causal {
			continue
		}
		f.on = true
		f.views |= bit
		f.by[saturation.AtomicView] |= bit
		if l.Base == isolation.MonotonicAtomicView {
			continue
		}
		f.by[saturation.Atomic] |= bit
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
	if !f.on {
		return
	}
	f.sessions = saturation.New(clocked)
	if f.unclosed != 0 {
		f.plain = saturation.New(true)
		f.plain.MaxChains = maxPlainChains
		if unbounded {
			f.plain.MaxChains = maxPlainChainsWhole
		}
	}
}

// wait queues the transactions that count from now on.
func (f *forcing) wait(n, gen uint32, end int64) {
	h := append(f.due, dueTxn{end, n, gen})
	for i := len(h) - 1; i > 0 && h[i].before(&h[(i-1)/2]); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
	f.due = h
}

func (d *dueTxn) before(e *dueTxn) bool { return d.end < e.end || d.end == e.end && d.gen < e.gen }

func (f *forcing) pop() dueTxn {
	h := f.due
	top, k := h[0], len(h)-1
	h[0] = h[k]
	h = h[:k]
	for i := 0; ; {
		c := 2*i + 1
		if c >= k {
			break
		}
		if c+1 < k && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&h[i]) {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	f.due = h
	return top
}

func (f *forcing) isTaken(n, gen uint32) bool {
	return int(n) < len(f.taken) && f.taken[n].gen == gen && gen != 0
}

// noteForced takes in what a step of inference gave: transactions to wait for, and
// dependencies of those that did not wait for them.
func (m *Machine) noteForced(o *infer.Out) {
	f := &m.forced
	for _, n := range o.Nodes {
		_, end, _ := m.infer.Span(n)
		f.wait(n, m.infer.Generation(n), end)
	}
	for i := range o.Edges {
		e := &o.Edges[i]
		switch {
		case e.Label&(infer.WR|infer.Process|infer.Reread) != 0:
			if f.isTaken(e.To, m.infer.Generation(e.To)) {
				f.late = append(f.late, e.To)
			}
		case e.Label&infer.RW != 0:
			m.missedRetired(e)
		}
	}
}

// missedRetired reports a read of what a transaction overwrote that has retired:
// whether the reader has it in its past is not known any more.
func (m *Machine) missedRetired(e *infer.Edge) {
	v := incremental.Vertex(e.To)
	for i := range m.views {
		if m.forced.views&(1<<i) != 0 && !m.graph.Retired(i, v) {
			return
		}
	}
	m.behind(e)
}

// force takes in what the watermark has passed.
func (m *Machine) force() {
	f := &m.forced
	for len(f.due) > 0 && f.due[0].end < m.watermark {
		m.forceDue(f.pop(), m.watermark)
	}
	m.forceLate()
	m.retryAsides()
}

// forceDue takes in the one that is due, and before it those that it depends on, as
// far as they ended before the limit: to take in anew costs more, and all that
// depends on it is then taken in anew as well.
func (m *Machine) forceDue(d dueTxn, limit int64) {
	f := &m.forced
	if !m.enterForced(d.n, d.gen) {
		return
	}
	f.stack = append(f.stack[:0], d.n)
	for len(f.stack) > 0 {
		n := f.stack[len(f.stack)-1]
		if before := m.notTaken(n, limit); before != 0 {
			f.stack = append(f.stack, before)
			continue
		}
		f.stack = f.stack[:len(f.stack)-1]
		m.forceOne(n)
	}
}

// enterForced notes that n is about to be taken in, unless it does not count or is
// taken in already.
func (m *Machine) enterForced(n, gen uint32) bool {
	f := &m.forced
	if !m.infer.Counts(n) || m.infer.Generation(n) != gen || f.isTaken(n, gen) {
		return false
	}
	for int(n) >= len(f.taken) {
		f.taken = flat.Push(f.taken, takenTxn{})
	}
	f.taken[n] = takenTxn{gen, f.drops}
	return true
}

// notTaken enters one that n depends on, has ended before the limit and was not taken
// in; 0 if there is none.
func (m *Machine) notTaken(n uint32, limit int64) uint32 {
	f := &m.forced
	for id := m.graph.FirstIn(incremental.Vertex(n)); id != 0; id = m.graph.NextIn(id) {
		e := m.graph.Edge(id)
		if infer.Label(e.Labels)&(infer.WR|infer.Process) == 0 {
			continue
		}
		p := uint32(e.From)
		if int(p) < len(f.taken) && f.taken[p].gen != 0 {
			continue
		}
		if _, end, _ := m.infer.Span(p); end < limit && m.enterForced(p, m.infer.Generation(p)) {
			return p
		}
	}
	return 0
}

// forceOne takes n in, which was entered.
func (m *Machine) forceOne(n uint32) {
	f := &m.forced
	t := m.describe(n)
	m.checkFrozen(n, false)
	f.writes = m.infer.WrittenKeys(f.writes[:0], n)
	f.sessions.Add(&t, f.writes)
	m.takeForced(n, f.sessions.Out, false)
	if f.plain != nil && !f.plain.TooWide {
		t.Session, t.After, t.Preds = 0, 0, nil
		f.plain.Add(&t, f.writes)
		m.takeForced(n, f.plain.Out, true)
	}
	m.forceTorn(n)
	m.renewBehind(n)
}

// forceTorn reports list reads of n that end with an append of a transaction and
// lack another one of the same: read atomic forbids it.
func (m *Machine) forceTorn(n uint32) {
	f := &m.forced
	in := f.by[saturation.Atomic]
	if asked := m.askedBy(n); asked != 0 {
		in = m.without(in, asked)
	}
	for i := 0; in != 0 && i < len(f.reads); i++ {
		if r := f.reads[i]; r.Writer != 0 && m.infer.Missed(r.Writer, r.Version) != 0 {
			m.missed(&saturation.Edge{From: r.Writer, To: r.Writer, By: n, Key: r.Key}, r.Version, 0, in)
		}
	}
}

// without takes out of in the views of levels above the one that was asked for.
func (m *Machine) without(in incremental.Views, asked isolation.Base) incremental.Views {
	for i, level := range m.views {
		if asked < level.Base {
			in &^= 1 << i
		}
	}
	return in
}

// renewBehind queues those behind n that were taken in before.
func (m *Machine) renewBehind(n uint32) {
	f := &m.forced
	for id := m.graph.FirstOut(incremental.Vertex(n)); id != 0; id = m.graph.NextOut(id) {
		e := m.graph.Edge(id)
		to := uint32(e.To)
		if infer.Label(e.Labels)&(infer.WR|infer.Process) != 0 && f.isTaken(to, m.infer.Generation(to)) {
			f.late = append(f.late, to)
		}
		if infer.Label(e.Labels) == infer.WW {
			m.renewShown(e)
		}
	}
}

// renewShown queues those that read a list up to an element behind one of e.From's,
// which showed them that, too. Where elements are linked, each is with the next one.
func (m *Machine) renewShown(e *incremental.Edge) {
	f := &m.forced
	for n := 0; e != nil && n < infer.MaxShown; n++ {
		key := m.infer.KeyOfVersion(e.Note[0])
		var next *incremental.Edge
		for id := m.graph.FirstOut(e.To); id != 0; id = m.graph.NextOut(id) {
			x := m.graph.Edge(id)
			to, l := uint32(x.To), infer.Label(x.Labels)
			if l&(infer.WR|infer.WW) == 0 || m.infer.KeyOfVersion(x.Note[0]) != key {
				continue
			}
			if l&infer.WR != 0 && f.isTaken(to, m.infer.Generation(to)) {
				f.late = append(f.late, to)
			}
			if l == infer.WW && next == nil {
				next = x
			}
		}
		e = next
	}
}

// forceLate takes in anew what depends on more than it was taken in with.
func (m *Machine) forceLate() {
	f := &m.forced
	for len(f.late) > 0 {
		n := f.late[len(f.late)-1]
		f.late = f.late[:len(f.late)-1]
		if !m.infer.Counts(n) || !f.isTaken(n, m.infer.Generation(n)) {
			continue
		}
		t := m.describe(n)
		m.checkFrozen(n, true)
		grown := f.sessions.Renew(&t)
		m.takeForced(n, f.sessions.Out, false)
		if f.plain != nil && !f.plain.TooWide {
			t.Session, t.After, t.Preds = 0, 0, nil
			grown = f.plain.Renew(&t) || grown
			m.takeForced(n, f.plain.Out, true)
		}
		if grown {
			m.renewBehind(n)
		}
	}
}

// describe is n as package saturation wants it.
func (m *Machine) describe(n uint32) saturation.Txn {
	f := &m.forced
	f.reads = m.infer.ExternalReads(f.reads[:0], n)
	f.given, f.shown, f.reread = f.given[:0], f.shown[:0], false
	for i := range f.reads {
		r := &f.reads[i]
		f.reread = f.reread || r.Reread
		if !m.infer.Shown(r.Version, func(w uint32) {
			if w != n {
				f.shown = append(f.shown, saturation.Shown{Writer: w, First: r.First})
			}
		}) {
			f.lost++
		}
		f.given = append(f.given, saturation.Read{Key: r.Key, Writer: r.Writer, First: r.First, Last: r.Last})
	}
	t := saturation.Txn{Number: n, Reads: f.given, Shown: f.shown}
	t.Session, t.Open = m.infer.Session(n)
	f.preds = f.preds[:0]
	for id := m.graph.FirstIn(incremental.Vertex(n)); id != 0; id = m.graph.NextIn(id) {
		e := m.graph.Edge(id)
		if infer.Label(e.Labels)&infer.Process == 0 {
			continue
		}
		if from := uint32(e.From); t.After == 0 || m.infer.Follows(t.After, from) {
			t.After = from
		}
		f.preds = append(f.preds, uint32(e.From))
	}
	t.Preds = f.preds
	return t
}

// takeForced puts edges that n's reads force into the orders. bare says that they
// rest on reads alone.
func (m *Machine) takeForced(n uint32, es []saturation.Edge, bare bool) {
	f := &m.forced
	if len(es) == 0 {
		return
	}
	f.edges = append(f.edges[:0], es...)
	for i := range f.edges {
		e := &f.edges[i]
		in := f.by[e.Rule]
		if bare {
			if in = 0; e.Rule == saturation.Causal {
				in = f.unclosed
			}
		}
		if asked := m.askedBy(n); asked != 0 {
			in = m.without(in, asked)
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
		if version != 0 {
			m.forceEdge(e, version, in)
		}
	}
}

// forceEdge offers the edge to the orders of the views, and reports what refuses it.
func (m *Machine) forceEdge(e *saturation.Edge, version uint32, in incremental.Views) {
	if e.To == 0 {
		m.missed(e, version, 0, in)
		return
	}
	from, to := incremental.Vertex(e.From), incremental.Vertex(e.To)
	if !m.graph.Known(from) {
		return // retired: rule (b), or behind the writer in the order that it froze in
	}
	if !m.graph.Known(to) {
		m.behind(&infer.Edge{From: e.From, To: e.To, Label: infer.Forced, Version: version, Witness: e.By})
		return
	}
	if in = m.forcedAlready(from, to, in); in == 0 {
		return
	}
	x := incremental.Edge{From: from, To: to, Labels: incremental.Labels(infer.Forced)}
	x.Note[0], x.Note[1] = version, e.By
	id, ref := m.graph.AddEdgeIn(&x, in)
	if ref.Cycle != 0 && !m.missed(e, version, id, ref.Cycle) {
		m.cycle(id, ref.Cycle)
	}
	if ref.Behind|ref.Past != 0 {
		m.behind(&infer.Edge{From: e.From, To: e.To, Label: infer.Forced, Version: version, Witness: e.By})
	}
}

// forcedAlready takes out of in the views that have such an edge. It looks at the
// latest ones only: a second one does no harm.
func (m *Machine) forcedAlready(from, to incremental.Vertex, in incremental.Views) incremental.Views {
	looks := 32
	for id := m.graph.FirstOut(from); id != 0 && looks > 0; id = m.graph.NextOut(id) {
		if e := m.graph.Edge(id); e.To == to && infer.Label(e.Labels)&infer.Forced != 0 {
			in &^= e.In | e.Aside
		}
		looks--
	}
	return in
}

// checkFrozen reports reads by n of what has retired where what retired behind it may
// be in n's past: something of the key did since n was taken in, and n depends on more
// than it did then; or n saw another version before, of which no edge tells.
func (m *Machine) checkFrozen(n uint32, late bool) {
	f := &m.forced
	for i := range f.reads {
		r := &f.reads[i]
		drops := f.droppedAt(r.Key)
		if drops == 0 {
			continue
		}
		if r.Writer != 0 && m.graph.Live(incremental.Vertex(r.Writer)) {
			continue // rule (b)
		}
		if r.Reread || late && int32(drops-f.taken[n].drops) > 0 {
			m.anomaly(&infer.Anomaly{Kind: infer.RetiredRead, A: n, OpA: r.First, Version: r.Version})
		}
	}
}

// dropForced lets go of transactions that have left every order. What has arrived is
// taken in before, since it may have read what they wrote.
func (m *Machine) dropForced(retired []incremental.Vertex) {
	f := &m.forced
	if len(retired) == 0 {
		return
	}
	for len(f.due) > 0 {
		m.forceDue(f.pop(), math.MaxInt64)
	}
	m.forceLate()
	for _, v := range retired {
		n := uint32(v)
		f.drops++
		f.writes = m.infer.WrittenKeys(f.writes[:0], n)
		for _, k := range f.writes {
			f.setDropped(k, f.drops)
		}
		f.sessions.Drop(n)
		if f.plain != nil {
			f.plain.Drop(n)
		}
		if int(n) < len(f.taken) {
			f.taken[n] = takenTxn{}
		}
	}
}

// droppedAt is when a writer of k was let go of last, 0 if none was.
func (f *forcing) droppedAt(k uint32) uint32 {
	if int(k) >= len(f.keys) {
		return 0
	}
	return f.keys[k]
}

func (f *forcing) setDropped(k, drops uint32) {
	if drops == 0 && int(k) >= len(f.keys) {
		return
	}
	for int(k) >= len(f.keys) {
		f.keys = flat.Push(f.keys, 0)
	}
	f.keys[k] = drops
}

// freezeBehind notes that n retires behind other writers of registers that it wrote:
// whoever reads what these left from now on has missed n, or has it before them. Where
// a view has one of them behind n, that is not known of n either.
func (m *Machine) freezeBehind(n uint32) {
	f := &m.forced
	f.writes = m.infer.WrittenKeys(f.writes[:0], n)
	for _, k := range f.writes {
		mixed := false
		m.infer.EachKept(k, func(v, w uint32) {
			if w == n {
				return
			}
			m.infer.Overtake(v)
			for i := range m.views {
				if f.views&(1<<i) != 0 && m.graph.CompareCommits(i, incremental.Vertex(w), incremental.Vertex(n)) > 0 {
					mixed = true
				}
			}
		})
		if mixed {
			m.infer.OvertakeLast(n, k)
		}
	}
}

// loseForced notes that a dependency is taken back: pasts may hold more than is
// known now.
func (m *Machine) loseForced(e *incremental.Edge) {
	f := &m.forced
	if f.on && infer.Label(e.Labels)&(infer.WR|infer.Process) != 0 && f.isTaken(uint32(e.To), m.infer.Generation(uint32(e.To))) {
		f.lost++
	}
}

// dropVoid removes the edges that nothing forces any more. Until then a path that was
// found may lead over them.
func (m *Machine) dropVoid() {
	f := &m.forced
	for _, a := range f.void {
		if e := m.graph.Edge(a.ID); e.From == a.From && e.To == a.To && infer.Label(e.Labels)&infer.Forced != 0 && m.graph.Known(a.From) && m.graph.Known(a.To) {
			m.graph.RemoveEdge(a.ID)
		}
	}
	f.void = f.void[:0]
}

// removeForced takes n, which does not count any more, out of the pasts.
func (m *Machine) removeForced(n uint32) {
	f := &m.forced
	if !f.on || int(n) >= len(f.taken) || f.taken[n].gen == 0 {
		return
	}
	f.lost++
	f.sessions.Drop(n)
	if f.plain != nil {
		f.plain.Drop(n)
	}
	f.taken[n] = takenTxn{}
}

// forcedShortfall says why the level, one of the weak ones, cannot be ok.
func (m *Machine) forcedShortfall(l isolation.Level) string {
	f := &m.forced
	if l.Special != 0 || l.Base < isolation.MonotonicAtomicView || l.Base > isolation.Causal {
		return ""
	}
	wide := f.sessions != nil && f.sessions.TooWide && l.Family != isolation.Plain && l.Base > isolation.MonotonicAtomicView
	if l.Family == isolation.Plain && l.Base == isolation.Causal && f.plain != nil && f.plain.TooWide {
		wide = m.weakerUnsure(l)
	}
	switch {
	case wide:
		return "too many transactions that nobody orders for causal pasts"
	case f.lost > 0:
		return counted(f.lost, "dependency that was taken back", "dependencies that were taken back")
	}
	return ""
}

// weakerUnsure says whether plain causal consistency is not known to hold by its
// twin with session order, whose pasts are larger.
func (m *Machine) weakerUnsure(l isolation.Level) bool {
	twin := l
	twin.Family = isolation.StrongSession
	if !m.watches(twin) || m.forced.sessions.TooWide || m.infer.Counters.Overlapping > 0 {
		return true
	}
	return refuted(m.verdicts.certain, twin) || refuted(m.verdicts.uncertain, twin)
}

func (f *forcing) appendState(dst []byte) []byte {
	if !f.on {
		return dst
	}
	dst = flat.Append(dst, f.due)
	dst = flat.Append(dst, f.taken)
	dst = flat.Append(dst, f.late)
	dst = flat.Append(dst, f.keys)
	dst = flat.AppendValue(dst, &f.drops)
	dst = flat.AppendValue(dst, &f.lost)
	dst = f.sessions.AppendState(dst)
	if f.plain != nil {
		dst = f.plain.AppendState(dst)
	}
	return dst
}

func (f *forcing) readState(r *flat.Reader) {
	if !f.on {
		return
	}
	flat.Read(r, &f.due)
	flat.Read(r, &f.taken)
	flat.Read(r, &f.late)
	flat.Read(r, &f.keys)
	flat.ReadValue(r, &f.drops)
	flat.ReadValue(r, &f.lost)
	f.sessions.ReadState(r)
	if f.plain != nil {
		f.plain.ReadState(r)
	}
}

func (f *forcing) check() error {
	for i := range f.due {
		if i > 0 && f.due[i].before(&f.due[(i-1)/2]) {
			return fmt.Errorf("what waits for the watermark is out of order at %d", i)
		}
	}
	return nil
}
