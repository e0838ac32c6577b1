package window

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Transactions may ask for a level (`isolation` in their records). They are promised this level
// and no more, unless the contract says isolation=ignore.

// baseAsked is the level that the name stands for, 0 if it stands for none or is not to be
// looked at.
func (a *asking) baseAsked(name []byte) isolation.Base {
	if a.cfg.Contract.IgnoreIsolation {
		return 0
	}
	if !bytes.Equal(name, a.lastName) || a.lastProduct != a.cfg.Product {
		a.lastName, a.lastProduct = append(a.lastName[:0], name...), a.cfg.Product
		a.lastBase = isolation.AskedOf(a.cfg.Product, name)
	}
	return a.lastBase
}

// ask notes the level that transaction n, t in the batch b, asked for.
func (h *finder) ask(n uint32, b *event.Batch, t *event.Txn, end int64) {
	name := b.Bytes(t.Isolation)
	base := h.asking.baseAsked(name)
	h.setAsked(n, base)
	if base == 0 || h.out.Again {
		return // it was counted when its outcome was not known
	}
	h.reports.noteWeaker(b, t, base, end)
	if t.Status == event.Aborted {
		return // nothing is promised to it
	}
	h.asking.askedFor = countAsked(h.asking.askedFor, base)
	h.asking.mixed = h.asking.mixed || base != isolation.Serializable
	x := h.reports.panes.at(end)
	x.asked = countAsked(x.asked, base)
	h.asking.asManyMeanings = h.asking.asManyMeanings || h.cfg.Product == "" && isolation.Ambiguous(name)
}

// untracked is for conflicts that are tracked among serializable transactions only. It says
// whether an anti-dependency may not be tracked. Then the transaction that it leads to asked
// for less, or did not replace what was read. For a list that is not known while another append
// may stand between. The writer of that append asked for less or has no record (docs/proofs.md,
// section 12).
func (a *asking) untracked(e *incremental.Edge) bool {
	if !a.cfg.Rules.Tracked {
		return false
	}
	if asked := a.askedBy(uint32(e.To)); asked != 0 && asked != isolation.Serializable {
		return true
	}
	return a.losesTrack() && a.infer.BehindUnseen(e.Note[0], uint32(e.From))
}

// losesTrack says whether an append that nobody tracks may stand between a read and a later append.
func (a *asking) losesTrack() bool {
	return a.cfg.Rules.Tracked && (a.mixed || a.cfg.Contract.UnmonitoredWriters)
}

// tracking is untracked where it can be true.
func (a *asking) tracking() func(*incremental.Edge) bool {
	if !a.cfg.Rules.Tracked {
		return nil
	}
	return a.untracked
}

// isMixed says whether some of those counted asked for less than serializable.
func (a *asking) isMixed() bool {
	for b, n := range a.askedFor {
		if n > 0 && isolation.Base(b) != isolation.Serializable {
			return true
		}
	}
	return false
}

// loseTrack takes from the serializable orders the edges that are not tracked any more: some
// transactions ask for less now, or the settings have changed. Findings that rest on them fall.
// Contradictions of the edges at other levels are told again. O(edges), once.
func (h *finder) loseTrack() {
	was := h.asking.losing
	if h.asking.losing = h.asking.losesTrack(); was || !h.asking.losing {
		return
	}
	var lost []incremental.Edge
	for n := range h.infer.Slots() {
		v := incremental.Vertex(n)
		if !h.graph.Known(v) {
			continue
		}
		for id := h.graph.FirstOut(v); id != 0; id = h.graph.NextOut(id) {
			if e := h.graph.Edge(id); infer.Label(e.Labels)&infer.RW != 0 && h.asking.untracked(e) {
				lost = append(lost, incremental.Edge{From: e.From, To: e.To, Labels: e.Labels, Note: e.Note})
				h.removeEdge(id)
			}
		}
	}
	h.withdrawDoomed()
	for i := range lost {
		if e := &lost[i]; h.graph.Live(e.From) && h.graph.Live(e.To) { // otherwise the edge has left the orders
			h.insert(e, h.asking.viewsOf(e))
		}
	}
	h.retrySetAside()
}

// readsAnything says whether transaction n asked for read uncommitted.
func (a *asking) readsAnything(n uint32) bool { return a.askedBy(n) == isolation.ReadUncommitted }

// countAsked counts one more in the counts by base.
func countAsked(by []int64, base isolation.Base) []int64 {
	for int(base) >= len(by) {
		by = append(by, 0)
	}
	by[base]++
	return by
}

func (h *finder) setAsked(n uint32, base isolation.Base) {
	if base == 0 && len(h.asking.asked) == 0 {
		return
	}
	for int(n) >= len(h.asking.asked) {
		h.asking.asked = append(h.asking.asked, 0)
	}
	if h.searcher.Asked == nil {
		h.searcher.Asked = h.asking.askedOf
	}
	h.asking.asked[n] = base
}

// asksFor says whether every transaction asked for l or more. by counts them by what they asked for.
func (a *asking) asksFor(l isolation.Level, by []int64) bool {
	for b, asked := range by {
		if asked > 0 && isolation.Base(b).Lacks(l.Underlying()) {
			return false
		}
	}
	return true
}

// withoutLess is the verdict on l, given the verdict over what each transaction asked for. It is not ok
// if some transactions asked for less than l. by counts them by what they asked for.
func (a *asking) withoutLess(l isolation.Level, by []int64, verdict, reason string) (string, string) {
	less, n := []string{}, int64(0)
	for b, asked := range by {
		if b := isolation.Base(b); asked > 0 && b.Lacks(l.Underlying()) {
			n += asked
			less = append(less, isolation.Level{Base: b}.String())
		}
	}
	if n == 0 || verdict == Violated || verdict == "" {
		return verdict, reason
	}
	why := fmt.Sprintf("%s (%s)", finding.Counted(n, "transaction asked for less", "transactions asked for less"), strings.Join(less, ", "))
	if a.asManyMeanings {
		why += ", by a name that different products use for different levels. It is taken as the weakest of them: name the product, as in --expect postgresql/repeatable-read"
	}
	if reason != "" {
		why = reason + "; " + why
	}
	return Unknown, why
}
