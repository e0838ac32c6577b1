package window

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/saturation"
)

// timed keeps real time in the pasts of transactions, for strong-read-atomic and strong-causal.
// A transaction that was over before another one began is in the other's past. It is off where
// neither is watched.
//
// Take the transactions that were over, and of these the ones after whose end no other of them began.
// Their own pasts contain all the others. They ran at one time, and a causal past joins them all.
// Direct pasts are not transitive. For them, the writers of a key that were over are looked at, the
// latest first. The search ends at a writer that surely comes before the writer that was read from.
//
// With a window pasts hold what is in memory. Their evidence is true; a lack of evidence proves
// nothing.
type timed struct {
	views  incremental.Views // of the two levels
	causal incremental.Views // strong-causal's
	// beside and behind are by rule the views that take an edge of direct pasts, and of
	// causal ones.
	beside, behind [saturation.Causal + 1]incremental.Views
	pasts          *saturation.State // causal ones; nil when nobody asks for them

	overs  []overs     // by epoch
	passed int64       // that all of these hold
	writes []overWrite // of keys, linked; at 0 there is none
	latest []uint32    // by key: its write with the greatest until
	begun  int64       // greatest start that a past was made for
	late   int64       // transactions that were over before begun, and whose records came later
	wide   bool        // in some past, more than maxBeside transactions ran at one time

	edges []saturation.Edge // scratch
	preds []uint32
}

// overs are the transactions of one epoch that have ended. Time orders the transactions of two
// epochs too, and nothing follows. A past may leave an epoch and come back. Either one step in
// time leads past the other epoch, or the other epoch goes back in time by itself.
type overs struct {
	epoch uint64 // as infer.Epoch has it
	list  []over // in the order of until
}

// over is a transaction that has ended, from when to when it ran, the drift of clocks
// included.
type over struct {
	from, until int64
	begun       int64 // greatest from up to here; until of one that ended before it began
	n, gen      uint32
}

// overWrite is a write by one that has ended.
type overWrite struct {
	from, until int64
	n, gen      uint32
	prev        uint32 // the one of the key before it in the order of until
}

// maxBeside bounds the transactions that ran at one time in a past.
const maxBeside = 1 << 12

// share gives x to the views of the two levels.
func (x *timed) share(atomic, causal incremental.Views) {
	x.views, x.causal = atomic|causal, causal
	clear(x.beside[:])
	clear(x.behind[:])
	x.beside[saturation.Atomic] = x.views
	x.behind[saturation.SessionAtomic], x.behind[saturation.Causal] = causal, causal
}

func (x *timed) init() {
	if x.views == 0 {
		return
	}
	x.writes, x.begun = make([]overWrite, 1), math.MinInt64
	if x.causal != 0 {
		x.pasts = saturation.New(true)
	}
}

// anew() is x before any transaction was taken in.
func (x *timed) anew() timed {
	y := timed{views: x.views, causal: x.causal, beside: x.beside, behind: x.behind}
	y.init()
	return y
}

// saturateInTime derives the orders that n's reads force by real time. It says whether n's
// past has grown; again says that n was taken in before.
func (h *finder) saturateInTime(n uint32, t saturation.Txn, again bool) (grown bool) {
	f := h.saturated
	x := &f.timed
	from, _, _ := h.timesOf(n)
	x.begun = max(x.begun, from)
	if x.pasts != nil && !x.pasts.TooWide {
		x.preds = h.saturated.overBefore(append(x.preds[:0], t.Preds...), n, from)
		t.Preds = x.preds
		if again {
			grown = x.pasts.Renew(&t)
		} else {
			x.pasts.Add(&t, f.writes)
		}
		h.takeSaturated(n, x.pasts.Out, &x.behind)
	}
	h.saturated.besideInTime(n, from, t.Reads)
	h.takeSaturated(n, x.edges, &x.beside)
	return grown
}

// overBefore appends transactions of n's epoch that were over before from, the latest first. It leaves
// out each one that another of them began after.
func (f *saturated) overBefore(dst []uint32, n uint32, from int64) []uint32 {
	x := &f.timed
	list := x.of(f.infer.Epoch(n))
	k := sort.Search(len(list), func(i int) bool { return list[i].until >= from })
	if k == 0 {
		return dst
	}
	begun := list[k-1].begun
	for i := k - 1; i >= 0 && list[i].until >= begun; i-- {
		if k-i > maxBeside {
			x.wide = true
			return dst
		}
		if o := &list[i]; f.stillIn(o.n, o.gen) {
			dst = append(dst, o.n)
		}
	}
	return dst
}

func (f *saturated) stillIn(n, gen uint32) bool { return f.isTaken(n, gen) && f.infer.Counts(n) }

// besideInTime gives the edges of direct pasts. A writer of a key that n read, which was over
// before n began, comes before the writer W that n read from. Writers that were over before W
// began do so anyway. A writer that began when W was over contradicts the read, and is the last
// that has to be looked at.
func (f *saturated) besideInTime(n uint32, from int64, reads []saturation.Read) {
	x := &f.timed
	x.edges = x.edges[:0]
	for i := range reads {
		r := &reads[i]
		if r.Writer == n || int(r.Key) >= len(x.latest) {
			continue
		}
		began, ended := int64(math.MinInt64), int64(math.MinInt64)
		if r.Writer != 0 {
			began, ended, _ = f.timesOf(r.Writer)
		}
		most := len(x.edges) + maxBeside
		for id := x.latest[r.Key]; id != 0; id = x.writes[id].prev {
			w := &x.writes[id]
			if len(x.edges) == most {
				x.wide = true
				break
			}
			if w.until >= from || w.n == r.Writer || w.n == n || !f.stillIn(w.n, w.gen) {
				continue
			}
			if r.Writer != 0 && w.until < began {
				break
			}
			x.edges = append(x.edges, saturation.Edge{From: w.n, To: r.Writer, By: n, Key: r.Key, Rule: saturation.Atomic})
			if ended < w.from {
				break
			}
		}
	}
}

// overInTime notes that the watermark has passed the end of a transaction.
func (f *saturated) overInTime(n, gen uint32) {
	if _, until, _ := f.timesOf(n); until < f.timed.begun && f.stillIn(n, gen) {
		f.timed.late++
	}
	f.passInTime(n, gen)
}

// maxRenewals bounds how often the pasts of a whole history are made again.
const maxRenewals = 8

// renewInTime makes the pasts of a whole history again where a transaction was taken in after
// one that began behind its end. A transaction of unknown outcome can have read from the one
// behind it. It goes on until no past grows, and says nothing is missing then.
func (h *finder) renewInTime() {
	f := h.saturated
	if !h.cfg.Unbounded || f.timed.late == 0 {
		return
	}
	var taken []uint32
	for n := range f.taken {
		if t := uint32(n); h.saturated.stillIn(t, h.infer.Generation(t)) {
			taken = append(taken, t)
		}
	}
	slices.SortFunc(taken, func(a, b uint32) int {
		x, _, _ := h.timesOf(a)
		y, _, _ := h.timesOf(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(h.infer.Generation(a), h.infer.Generation(b)))
	})
	for range maxRenewals {
		grown := false
		for _, n := range taken {
			grown = h.saturateInTime(n, h.saturated.describe(n), true) || grown
		}
		if !grown {
			f.timed.late = 0
			break
		}
	}
	h.retrySetAside()
}

// passInTime takes one that is over and still in memory into the lists.
func (f *saturated) passInTime(n, gen uint32) {
	x := &f.timed
	from, until, _ := f.timesOf(n)
	if until == math.MaxInt64 || !f.stillIn(n, gen) {
		return
	}
	x.pass(f.infer.Epoch(n), over{from: from, until: until, n: n, gen: gen})
	f.writes = f.infer.WrittenKeys(f.writes[:0], n)
	for _, k := range f.writes {
		for int(k) >= len(x.latest) {
			x.latest = flat.Push(x.latest, 0)
		}
		x.writes = flat.Push(x.writes, overWrite{from: from, until: until, n: n, gen: gen})
		link := &x.latest[k]
		for *link != 0 && x.writes[*link].until > until {
			link = &x.writes[*link].prev
		}
		w := uint32(len(x.writes) - 1)
		x.writes[w].prev, *link = *link, w
	}
}

// of is the list of an epoch.
func (x *timed) of(epoch uint64) []over {
	if at := x.at(epoch); at >= 0 {
		return x.overs[at].list
	}
	return nil
}

// at is where the epoch's list is, -1 if there is none.
func (x *timed) at(epoch uint64) int {
	at := len(x.overs) - 1
	for at >= 0 && x.overs[at].epoch != epoch {
		at--
	}
	return at
}

// pass puts o in its place in the epoch's list.
func (x *timed) pass(epoch uint64, o over) {
	which := x.at(epoch)
	if which < 0 {
		which, x.overs = len(x.overs), append(x.overs, overs{epoch: epoch})
	}
	list := &x.overs[which].list
	at := len(*list)
	for at > 0 && (*list)[at-1].until > o.until {
		at--
	}
	*list = slices.Insert(*list, at, o)
	for ; at < len(*list); at++ {
		o := &(*list)[at]
		o.begun = min(o.from, o.until)
		if at > 0 {
			o.begun = max(o.begun, (*list)[at-1].begun)
		}
	}
	x.passed++
}

// forgetOvers forgets those that have left memory.
func (f *saturated) forgetOvers() {
	x := &f.timed
	all := x.overs
	x.overs, x.passed, x.writes = nil, 0, x.writes[:1]
	clear(x.latest)
	for i := range all {
		for _, o := range all[i].list {
			if f.stillIn(o.n, o.gen) {
				f.passInTime(o.n, o.gen)
			}
		}
	}
}

// wasOver says whether a was over before b began.
func (o *core) wasOver(a, b uint32) bool {
	_, until, _ := o.timesOf(a)
	from, _, _ := o.timesOf(b)
	return until < from
}

// overNear are transactions that were over before n began. They are from alone, if that was over.
// Otherwise they are the ones whose pasts contain all others.
func (f *saturated) overNear(from, n uint32) []uint32 {
	x := &f.timed
	if f.wasOver(from, n) {
		return append(x.preds[:0], from)
	}
	begin, _, _ := f.timesOf(n)
	x.preds = f.overBefore(x.preds[:0], n, begin)
	return x.preds
}

// inTime says whether a past that forces an edge in these views may have real time in it. Then
// no level takes the edge but the two.
func (f *saturated) inTime(in incremental.Views) bool {
	return in&f.timed.views != 0 && in&^f.timed.views == 0
}

// shortfall says why pasts may lack some real time, so that the level, if it is one of the
// two, is not known to hold.
func (x *timed) shortfall(l isolation.Level) string {
	switch {
	case l.Family != isolation.Strong || !l.Base.Implies(isolation.ReadAtomic):
		return ""
	case x.wide:
		return "too many transactions that ran at one time for pasts with real time"
	case x.late > 0:
		return finding.Counted(
			x.late,
			"transaction that ended before another one began, and arrived after it",
			"transactions that ended before others began, and arrived after them",
		)
	case x.pasts != nil && x.pasts.TooWide && l.Base == isolation.Causal:
		return "too many transactions without an order to follow what each one had seen"
	}
	return ""
}

func (x *timed) appendState(dst *flat.Writer) *flat.Writer {
	if x.views == 0 {
		return dst
	}
	count := uint64(len(x.overs))
	dst = flat.AppendValue(dst, "overs", &count)
	for i := range x.overs {
		dst = flat.AppendValue(dst, "epoch", &x.overs[i].epoch)
		dst = flat.Append(dst, "list", x.overs[i].list)
	}
	dst = flat.Append(dst, "writes", x.writes)
	dst = flat.Append(dst, "latest", x.latest)
	dst = flat.AppendValue(dst, "passed", &x.passed)
	dst = flat.AppendValue(dst, "begun", &x.begun)
	dst = flat.AppendValue(dst, "late", &x.late)
	dst = flat.AppendValue(dst, "wide", &x.wide)
	if x.pasts != nil {
		dst = x.pasts.AppendState(dst)
	}
	return dst
}

func (x *timed) readState(r *flat.Reader) {
	if x.views == 0 {
		return
	}
	var count uint64
	flat.ReadValue(r, "overs", &count)
	for x.overs = nil; count > 0 && r.Err == nil; count-- {
		var o overs
		flat.ReadValue(r, "epoch", &o.epoch)
		flat.Read(r, "list", &o.list)
		x.overs = append(x.overs, o)
	}
	flat.Read(r, "writes", &x.writes)
	flat.Read(r, "latest", &x.latest)
	flat.ReadValue(r, "passed", &x.passed)
	flat.ReadValue(r, "begun", &x.begun)
	flat.ReadValue(r, "late", &x.late)
	flat.ReadValue(r, "wide", &x.wide)
	if x.pasts != nil {
		x.pasts.ReadState(r)
	}
}
