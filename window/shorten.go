package window

import (
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// The cycle that closes is often longer than needed. Steps of one session in a row become one step.
// Steps in session and real time become one if the first transaction was over before the last one
// began. Where session order or real time is on the cycle anyway, one such step replaces all steps
// between two transactions that it orders. Writes of one key in a row are one order, and a read that
// missed the first of them missed the last. The shorter form is told if the verifier accepts it, and if
// it refutes all that the whole cycle does.

// step is one step of a cycle. It may be a stored edge, or a step in session order or real time
// that no edge stands for. Or a chain of stored edges of its key shows it.
type step struct {
	infer.Edge
	id    incremental.EdgeID   // 0 where none is stored
	chain []incremental.EdgeID // for a derived one
}

const (
	maxSteps   = 256  // of a cycle that is looked at pair by pair
	maxChain   = 512  // writes of a key that are followed from one that a read missed
	maxTighten = 4096 // edges looked at for a shorter way back from them
)

// steps are the steps of the cycle. The closing step is last, so the text tells it as the
// contradiction. One that does not begin at the end of the one before it follows a step in real time.
func (h *finder) steps(ids []incremental.EdgeID) (all []step) {
	for _, id := range append(slices.Clone(ids[1:]), ids[0]) {
		all = append(all, step{Edge: *inferred(h.graph.Edge(id)), id: id})
	}
	return h.ofOneEpoch(inTime(all))
}

// ofOneEpoch is the cycle within one epoch. Only time joins the transactions of two epochs. So
// one step in time leads past the other epoch, or that epoch has a cycle by itself
// (docs/proofs.md, section 4, *real time in pasts*).
func (h *finder) ofOneEpoch(steps []step) []step {
	for i := range steps {
		if of := h.infer.Epoch(steps[i].From); i == 0 || of != h.infer.Epoch(steps[i-1].From) {
			if own := h.within(of, steps, i); own != nil {
				return own
			}
		}
	}
	return steps
}

// within is the cycle with a step in time in the place of each stretch that leaves the epoch.
// The epoch is the one of the first-th step's begin. nil where no step leads past a stretch.
func (h *finder) within(epoch uint64, steps []step, first int) (own []step) {
	left := -1 // which step leaves the epoch
	for k := range steps {
		at := (first + k) % len(steps)
		stays := h.infer.Epoch(steps[at].To) == epoch
		switch {
		case left < 0 && stays:
			own = append(own, steps[at])
		case left < 0:
			left = at
		case stays && !h.wasOver(steps[left].From, steps[at].To):
			return nil
		case stays:
			own = append(own, step{Edge: infer.Edge{From: steps[left].From, To: steps[at].To, Label: infer.Realtime}})
			left = -1
		}
	}
	return lastly(own, &steps[len(steps)-1])
}

// inTime adds the steps in real time between those that do not meet.
func inTime(of []step) (all []step) {
	for i := range of {
		all = append(all, of[i])
		if next := of[(i+1)%len(of)].From; next != of[i].To {
			all = append(all, step{Edge: infer.Edge{From: of[i].To, To: next, Label: infer.Realtime}})
		}
	}
	return all
}

// followsBy is the label of a step in session order or real time that leads from one to the
// other, 0 if none does.
func (h *finder) followsBy(from, to uint32, allowed infer.Label) infer.Label {
	switch {
	case from == to:
	case allowed&infer.Process != 0 && h.infer.Follows(from, to):
		return infer.Process
	case allowed&infer.Realtime != 0 && h.wasOver(from, to):
		return infer.Realtime
	}
	return 0
}

// joined makes one step of consecutive steps in session order or in real time.
func (h *finder) joined(steps []step) []step {
	const ordered = infer.Process | infer.Realtime
	out := slices.Clone(steps)
	for i := 0; i < len(out) && len(out) > 2; {
		k := (i + 1) % len(out)
		a, b := &out[i], &out[k]
		label := infer.Label(0)
		if a.Label&ordered != 0 && b.Label&ordered != 0 {
			label = h.followsBy(a.From, b.To, a.Label|b.Label)
		}
		if label == 0 {
			i++
			continue
		}
		out[k] = step{Edge: infer.Edge{From: a.From, To: b.To, Label: label}}
		out = slices.Delete(out, i, i+1)
		i = max(0, i-1)
	}
	return out
}

// chorded uses steps in session order or real time, where such are on the cycle. Each replaces
// all steps between two transactions that it orders, the longest stretch first, if no less is
// refuted.
func (h *finder) chorded(steps []step) []step {
	allowed := infer.Label(0)
	for i := range steps {
		allowed |= steps[i].Label & (infer.Process | infer.Realtime)
	}
	if allowed == 0 || len(steps) > maxSteps {
		return steps
	}
	for n := len(steps) - 1; n > 1; n-- {
		for i := range steps {
			if short := h.chord(steps, i, n, allowed); short != nil {
				return h.chorded(short)
			}
		}
	}
	return steps
}

// chord is the cycle with one step for the n from the i-th on, nil where that is none or
// refutes less.
func (h *finder) chord(steps []step, i, n int, allowed infer.Label) []step {
	from, to := steps[i].From, steps[(i+n-1)%len(steps)].To
	label := h.followsBy(from, to, allowed)
	if label == 0 {
		return nil
	}
	short := []step{{Edge: infer.Edge{From: from, To: to, Label: label}}}
	for j := n; j < len(steps); j++ {
		short = append(short, steps[(i+j)%len(steps)])
	}
	if !isolation.AsTelling(labelsOf(short), labelsOf(steps)) {
		return nil
	}
	return lastly(short, &steps[len(steps)-1])
}

// lastly is the cycle, rotated so that the step that closed it is last. If that step was joined into
// another one, the step whose reader missed a write is last.
func lastly(steps []step, closing *step) []step {
	at := slices.IndexFunc(steps, func(s step) bool { return s.From == closing.From && s.To == closing.To && s.Label == closing.Label })
	if at < 0 {
		at = slices.IndexFunc(steps, func(s step) bool { return s.Label&infer.RW != 0 })
	}
	return append(slices.Clone(steps[at+1:]), steps[:at+1]...)
}

func labelsOf(steps []step) (all []infer.Label) {
	for i := range steps {
		all = append(all, steps[i].Label)
	}
	return all
}

// chained joins steps into one: writes of one key that follow one another, and a read that missed the
// first of them.
func (h *finder) chained(steps []step) []step {
	if !slices.ContainsFunc(steps, func(s step) bool { return s.Label&infer.WW == 0 || !h.ofOneKey(s.Version, steps[0].Version) }) {
		return steps // a cycle of writes of one key is about all of them
	}
	out := slices.Clone(steps)
	for i := 0; i < len(out) && len(out) > 2; {
		k := (i + 1) % len(out)
		a, b := &out[i], &out[k]
		if a.Label&(infer.WW|infer.RW) == 0 || b.Label&infer.WW == 0 || b.chain != nil || a.From == b.To || !h.ofOneKey(a.Version, b.Version) {
			i++
			continue
		}
		out[k] = h.chainStep(a, append(slices.Clone(a.links()), b.id))
		out = slices.Delete(out, i, i+1)
		i = max(0, i-1)
	}
	if len(out) == len(steps) || !isolation.AsTelling(labelsOf(out), labelsOf(steps)) {
		return steps
	}
	return lastly(out, &steps[len(steps)-1])
}

// links are the stored edges that s stands for.
func (s *step) links() []incremental.EdgeID {
	if s.chain != nil {
		return s.chain
	}
	return []incremental.EdgeID{s.id}
}

// chainStep is the step from where s begins along these edges of its key.
func (o *core) chainStep(s *step, links []incremental.EdgeID) step {
	last := o.graph.Edge(links[len(links)-1])
	x := step{Edge: infer.Edge{From: s.From, To: uint32(last.To), Label: infer.WW, Version: last.Note[0]}, chain: links}
	if s.Label&infer.RW != 0 {
		x.Label = infer.RW
	}
	if infer.Label(last.Labels)&infer.WR != 0 { // it tells the version that was replaced
		x.Version = o.infer.Left(x.To, o.infer.KeyOfVersion(last.Note[0]))
	}
	return x
}

// ofOneKey says whether two versions are of one key that is not an element of a set.
func (o *core) ofOneKey(a, b uint32) bool {
	if a == 0 || b == 0 || o.infer.KeyOfVersion(a) != o.infer.KeyOfVersion(b) {
		return false
	}
	return o.infer.Key(a) == o.infer.KeyName(o.infer.KeyOfVersion(a))
}

// tightened is a cycle of one anti-dependency with the shortest way back. The way back may
// begin at any transaction that wrote the key behind the missed write.
func (a *asking) tightened(steps []step) []step {
	at, allowed := -1, infer.WW|infer.WR
	for i := range steps {
		switch s := &steps[i]; {
		case s.Label&infer.RW != 0 && at >= 0:
			return steps
		case s.Label&infer.RW != 0:
			at = i
		case s.Label&(infer.Realtime|infer.Saturated|infer.Reread) != 0:
			return steps
		}
		allowed |= steps[i].Label & infer.Process
	}
	if at < 0 || len(steps) < 3 || a.cfg.Rules.Tracked && len(a.asked) > 0 {
		return steps
	}
	missed := &steps[at]
	links := a.writesBehind(missed)
	for _, labels := range []infer.Label{infer.WR | allowed&infer.Process, allowed} {
		back, k := a.wayBack(missed, links, labels, len(steps)-2)
		if back == nil {
			continue
		}
		short := append(back, *missed)
		if k > 0 {
			short[len(back)] = a.chainStep(missed, append(missed.links(), links[:k]...))
		}
		if isolation.AsTelling(labelsOf(short), labelsOf(steps)) {
			return short
		}
	}
	return steps
}

// writesBehind are the edges from the missed write on, each to the next write of the key.
func (o *core) writesBehind(missed *step) (links []incremental.EdgeID) {
	at := incremental.Vertex(missed.To)
next:
	for len(links) < maxChain {
		for id := o.graph.FirstOut(at); id != 0; id = o.graph.NextOut(id) {
			e := o.graph.Edge(id)
			if infer.Label(e.Labels)&infer.WW != 0 && uint32(e.To) != missed.From && o.ofOneKey(e.Note[0], missed.Version) {
				links, at = append(links, id), e.To
				continue next
			}
		}
		break
	}
	return links
}

// wayBack is the shortest way of at most so many steps to the transaction that missed a write:
// nil if there is none. It leads from the missed write, or from one that the links lead to. It
// begins behind the k-th link.
func (a *asking) wayBack(missed *step, links []incremental.EdgeID, labels infer.Label, most int) (way []step, k int) {
	behind := map[uint32]int{missed.To: 0}
	for i, id := range links {
		behind[uint32(a.graph.Edge(id).To)] = i + 1
	}
	type visit struct {
		n, depth, by int
		id           incremental.EdgeID
	}
	seen := map[uint32]bool{missed.From: true}
	queue := []visit{{n: int(missed.From), by: -1}}
	budget := maxTighten
	for i := 0; i < len(queue) && queue[i].depth < most; i++ {
		for id := a.graph.FirstIn(incremental.Vertex(queue[i].n)); id != 0; id = a.graph.NextIn(id) {
			if budget--; budget < 0 {
				return nil, 0
			}
			e := a.graph.Edge(id)
			from := uint32(e.From)
			if infer.Label(e.Labels)&labels == 0 || infer.Label(e.Labels)&(infer.RW|infer.Saturated|infer.Reread) != 0 || seen[from] || !a.graph.Known(e.From) {
				continue
			}
			seen[from] = true
			queue = append(queue, visit{int(from), queue[i].depth + 1, i, id})
			at, ok := behind[from]
			if !ok {
				continue
			}
			for v := queue[len(queue)-1]; v.by >= 0; v = queue[v.by] {
				way = append(way, step{Edge: *inferred(a.graph.Edge(v.id)), id: v.id})
			}
			return way, at
		}
	}
	return nil, 0
}

// kept are the stored edges that the steps rest on.
func kept(steps []step) (ids []incremental.EdgeID) {
	for i := range steps {
		switch s := &steps[i]; {
		case s.chain != nil:
			ids = append(ids, s.chain...)
		case s.id != 0:
			ids = append(ids, s.id)
		}
	}
	return ids
}

func isSaturated(s step) bool { return s.Label&infer.Saturated != 0 }

// derived says whether a step is shown by a chain.
func derived(s step) bool { return s.chain != nil }
