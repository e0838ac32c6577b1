package oracle

import (
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// element is a place in a list key's order that one counting transaction holds.
type element struct{ at, txn int }

// listKey derives what the reads and appends of one list imply (Elle, section
// 4.3). The longest read is the spine: the order of all elements in it. An
// append that took effect and is not in the spine comes after all of it. A
// reader precedes whoever appended the first element that it lacks.
func (g *Graph) listKey(key string) {
	spine := g.spine(key)
	var placed []element
	for at, e := range spine {
		if w, ok := g.installer(version{key, e}); ok {
			placed = append(placed, element{at, w})
		}
	}
	unread := g.unread(key, spine)
	for n := 1; n < len(placed); n++ {
		g.add(placed[n-1].txn, placed[n].txn, WW, key)
	}
	if len(placed) > 0 {
		for _, i := range unread {
			g.add(placed[len(placed)-1].txn, i, WW, key)
		}
	}
	for _, i := range g.users[key] {
		if seen, ok := g.external[i][key]; ok && g.Counts[i] {
			g.listRead(i, key, seen.list)
			if slices.Equal(seen.list, spine[:min(len(seen.list), len(spine))]) {
				g.listNext(i, key, len(seen.list), placed, unread)
			} else {
				g.report("incompatible-order", key, g.readerOf(key, spine), i)
			}
		}
	}
	g.ownOrder(key, placed, spine)
	g.listDivergence(key)
	if len(unread) > 1 {
		g.Undecided++ // the order of appends that nobody read is open
		g.openKeys = append(g.openKeys, openKey{key: key, writers: unread})
	}
}

// spine is the longest read of key by a transaction that counts.
func (g *Graph) spine(key string) []int64 {
	var longest []int64
	for _, i := range g.users[key] {
		if seen, ok := g.external[i][key]; ok && g.Counts[i] && len(seen.list) > len(longest) {
			longest = seen.list
		}
	}
	return longest
}

// readerOf is the first transaction that counts and read exactly list.
func (g *Graph) readerOf(key string, list []int64) int {
	for _, i := range g.users[key] {
		if seen, ok := g.external[i][key]; ok && g.Counts[i] && slices.Equal(seen.list, list) {
			return i
		}
	}
	return -1
}

// unread are the transactions that count and appended something that is not in
// the spine. Ambiguous values are left out: their place may be in the spine.
func (g *Graph) unread(key string, spine []int64) []int {
	var txns []int
	for _, i := range g.users[key] {
		for _, o := range g.History[i].Ops {
			if !g.Counts[i] || o.Kind != event.Append || o.Key != key || slices.Contains(txns, i) {
				continue
			}
			if _, ok := g.sole(version{key, o.Value}); ok && !slices.Contains(spine, o.Value) {
				txns = append(txns, i)
			}
		}
	}
	return txns
}

// listRead adds reader i's dependency on the last identified element that it
// saw, and reports elements that it should not have seen.
func (g *Graph) listRead(i int, key string, list []int64) {
	last := -1
	for n, e := range list {
		v := version{key, e}
		if slices.Contains(list[:n], e) {
			if _, ok := g.sole(v); ok {
				g.report("duplicate-elements", key, i)
			}
			continue
		}
		if w, ok := g.sole(v); ok && w.txn == i && g.appendedBefore(i, key, e) {
			g.report("duplicate-elements", key, i) // once before the own end, and there
			continue
		}
		if g.reportSource(i, v) {
			if g.aborted(v) {
				g.dirtyUpdate(key, e, list[n+1:])
			}
			continue
		}
		if w, ok := g.installer(v); ok {
			last = w
		}
	}
	if last >= 0 {
		g.add(last, i, WR, key)
	}
	if len(list) > 0 {
		if w, ok := g.sole(version{key, list[len(list)-1]}); ok && !w.final && w.txn != i {
			g.report("G1b", key, w.txn, i)
		}
	}
}

// appendedBefore says whether transaction i appends e to key before its first read of it that is
// evidence (one of nothing by an unknown transaction is none).
func (g *Graph) appendedBefore(i int, key string, e int64) bool {
	for _, o := range g.History[i].Ops {
		switch {
		case o.Key != key, o.Nothing() && g.History[i].Status == event.Unknown:
		case o.Kind == event.Read:
			return false
		case o.Value == e:
			return true
		}
	}
	return false
}

// dirtyUpdate reports the first append that took effect on top of the aborted
// element e (Elle, section 4.1).
func (g *Graph) dirtyUpdate(key string, e int64, later []int64) {
	for _, x := range later {
		if w, ok := g.installer(version{key, x}); ok {
			g.report("dirty-update", key, g.writers[version{key, e}][0].txn, w)
			return
		}
	}
}

// listNext adds reader i's anti-dependency: i saw the first n elements, so it
// precedes whoever holds the next place, or all that are unread if none does.
func (g *Graph) listNext(i int, key string, n int, placed []element, unread []int) {
	for _, p := range placed {
		if p.at >= n && p.txn != i {
			g.add(i, p.txn, RW, key)
			return
		}
	}
	for _, j := range unread {
		g.add(i, j, RW, key)
	}
}

// ownOrder reports a transaction whose elements the spine shows in another
// order than it appended them, or one without one that it appended before.
func (g *Graph) ownOrder(key string, placed []element, spine []int64) {
	next := map[int]int{} // transaction -> how many of its operations are matched
	for _, p := range placed {
		ops := g.History[p.txn].Ops
		for at := next[p.txn]; ; at++ {
			if at == len(ops) {
				if !slices.Contains(spine[:p.at], spine[p.at]) { // else a duplicate
					g.report("incompatible-order", key, p.txn)
				}
				break
			}
			if ops[at].Kind != event.Append || ops[at].Key != key {
				continue
			}
			if ops[at].Value == spine[p.at] {
				next[p.txn] = at + 1
				break
			}
			if !slices.Contains(spine, ops[at].Value) && slices.ContainsFunc(ops[at:], func(o workload.Op) bool {
				return o.Kind == event.Append && o.Key == key && o.Value == spine[p.at]
			}) {
				g.report("incompatible-order", key, p.txn)
			}
		}
	}
}

// listDivergence reports transactions that saw the same list and appended to
// it: one of them did not see the other (MTC, definition 10).
func (g *Graph) listDivergence(key string) {
	groups := map[string][]int{}
	var order []string
	for _, i := range g.users[key] {
		seen, ok := g.external[i][key]
		if !ok || !g.Counts[i] || !g.writes(i, key) {
			continue
		}
		text := ""
		for _, e := range seen.list {
			text += strconv.FormatInt(e, 10) + ","
		}
		if groups[text] == nil {
			order = append(order, text)
		}
		groups[text] = append(groups[text], i)
	}
	for _, text := range order {
		if len(groups[text]) > 1 {
			g.report("lost-update", key, groups[text]...)
		}
	}
}
