package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// sessionOrder adds, within each session, the step from each committed
// transaction to the next. Aborted ones are bypassed. An unknown outcome may
// take effect at any later time: an edge leads into it if it counts, none leads
// out, even if it counts, and the order of the others bypasses it.
func (g *Graph) sessionOrder() {
	members := map[string][]int{}
	var names []string
	for i := range g.History {
		name := g.History[i].Session
		if name == "" {
			continue
		}
		if members[name] == nil {
			names = append(names, name)
		}
		members[name] = append(members[name], i)
	}
	for _, name := range names {
		last := -1
		for _, i := range g.inOrder(name, members[name]) {
			if last >= 0 && g.Counts[i] {
				g.add(last, i, SO, "")
			}
			if g.History[i].Status == event.Committed {
				last = i
			}
		}
	}
}

// inOrder sorts a session's members by seq where all have one, else by start,
// and cuts the sequence where it cannot be one client's: a member overlaps the
// one before it, or neither seq nor times tell them apart.
func (g *Graph) inOrder(name string, members []int) []int {
	h := g.History
	bySeq := !slices.ContainsFunc(members, func(i int) bool { return h[i].Seq == 0 })
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b int) int {
		if bySeq {
			return int(h[a].Seq - h[b].Seq)
		}
		return int(h[a].Start - h[b].Start)
	})
	for n := 1; n < len(sorted); n++ {
		a, b := h[sorted[n-1]], h[sorted[n]]
		timed := a.End != 0 && b.End != 0
		if timed && a.End > b.Start || !timed && !bySeq || bySeq && a.Seq == b.Seq {
			g.NotSequential = append(g.NotSequential, name)
			return sorted[:n]
		}
	}
	return sorted
}
