package window

import (
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
)

// A past is looked for from both ends, one distance at a time, from the end with fewer transactions at its
// rim. Both together look at far fewer edges than a search from the reader back, which may look at the whole
// history before it. When they have met, the length is known. Then the search from the reader is finished,
// with those transactions alone that are on a way of this length. They keep their order in it. So the way is
// the one that a search from the reader alone finds.

// pastVisit is a step of a past, and the index of the visit that led to it.
type pastVisit struct {
	pastStep
	at int
}

// pastEnds is how far transactions are from where a past begins.
type pastEnds struct {
	by    []farFrom // by transaction
	round uint32
	queue []uint32
}

// farFrom is the distance, if the round is the present one.
type farFrom struct{ round, far uint32 }

func (s *pastEnds) begin() {
	if s.round++; s.round == 0 {
		clear(s.by)
		s.round = 1
	}
	s.queue = s.queue[:0]
}

// has says whether n is known to be so far.
func (s *pastEnds) has(n, far uint32) bool {
	return int(n) < len(s.by) && s.by[n] == farFrom{s.round, far}
}

// enter notes how far n is, unless that is known.
func (s *pastEnds) enter(n, far uint32) {
	if int(n) >= len(s.by) {
		s.by = append(s.by, make([]farFrom, int(n)+1-len(s.by)+int(n)/2)...)
	}
	if s.by[n].round != s.round {
		s.by[n] = farFrom{s.round, far}
		s.queue = append(s.queue, n)
	}
}

// allStored says whether all steps of a past with these labels are stored edges. A list shows elements before
// its last one, and no edge stands for that.
func (f *saturated) allStored(labels infer.Label) bool {
	return f.cfg.Unbounded && !f.listed && labels&infer.Realtime == 0
}

// pastMeeting is pastBy where all steps are stored edges.
func (f *saturated) pastMeeting(from, by uint32, labels infer.Label) ([]pastStep, error) {
	seen, ends := &f.seenPast, &f.pastEnds
	seen.begin()
	seen.enter(by)
	ends.begin()
	ends.enter(from, 0)
	if from == by {
		return nil, nil
	}
	f.back = append(f.back[:0], pastVisit{pastStep{from: by}, -1})
	rim, forth, far, budget := 0, 0, uint32(0), maxPast
	for {
		n, m, met := len(f.back), len(ends.queue), false
		if rim == n || forth == m {
			return nil, nil
		}
		if n-rim <= m-forth {
			for i := rim; i < n; i++ {
				f.eachBefore(f.back[i].from, labels, func(s pastStep) bool {
					budget--
					if met = met || ends.has(s.from, far); seen.enter(s.from) {
						f.back = append(f.back, pastVisit{s, i})
					}
					return true
				})
			}
			if !met {
				rim = n
			}
		} else {
			for _, x := range ends.queue[forth:m] {
				for id := f.graph.FirstOut(incremental.Vertex(x)); id != 0; id = f.graph.NextOut(id) {
					budget--
					e := f.graph.Edge(id)
					if infer.Label(e.Labels)&labels == 0 {
						continue
					}
					met = met || seen.has(uint32(e.To))
					ends.enter(uint32(e.To), far+1)
				}
			}
			if !met {
				forth, far = m, far+1
			}
		}
		switch {
		case met:
			f.back = f.back[:n]
			return f.finishPast(from, rim, far, labels), nil
		case budget < 0:
			return nil, errLongPast
		}
	}
}

// finishPast goes on from the rim of the search back, over those that are so far from where the past begins, and
// then ever nearer.
func (f *saturated) finishPast(from uint32, rim int, far uint32, labels infer.Label) (steps []pastStep) {
	ends := &f.pastEnds
	for ; rim < len(f.back); far-- {
		end := len(f.back)
		for i := rim; i < end && steps == nil; i++ {
			f.eachBefore(f.back[i].from, labels, func(s pastStep) bool {
				if !ends.has(s.from, far) {
					return true
				}
				ends.by[s.from].round = 0 // once is enough
				f.back = append(f.back, pastVisit{s, i})
				if s.from == from {
					steps = wayFrom(f.back)
				}
				return steps == nil
			})
		}
		if rim = end; steps != nil {
			break
		}
	}
	return steps
}

// wayFrom are the steps from the latest visit on.
func wayFrom(visits []pastVisit) (steps []pastStep) {
	for v := visits[len(visits)-1]; v.at >= 0; v = visits[v.at] {
		steps = append(steps, v.pastStep)
	}
	return steps
}

// eachBefore calls fn with the steps to n that stored edges with one of the labels make, until it returns false.
func (f *saturated) eachBefore(n uint32, labels infer.Label, fn func(s pastStep) bool) {
	if !f.graph.Known(incremental.Vertex(n)) {
		return // it has left memory, or is being taken in
	}
	for id := f.graph.FirstIn(incremental.Vertex(n)); id != 0; id = f.graph.NextIn(id) {
		e := f.graph.Edge(id)
		s := pastStep{uint32(e.From), n, infer.Label(e.Labels) & labels, e.Note[0], id}
		if s.label == 0 {
			continue
		}
		if s.label&infer.WR != 0 {
			s.label = infer.WR
		}
		if !fn(s) {
			return
		}
	}
}
