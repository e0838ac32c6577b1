package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// class orders cycles by how much they refute, worst first.
type class uint8

const (
	classG0 class = iota + 1
	classG1c
	classSingle
	classNonadjacent
	classG2
)

var classNames = [...]string{
	classG0: "G0", classG1c: "G1c", classSingle: "G-single-item",
	classNonadjacent: "G-nonadjacent-item", classG2: "G2-item",
}

// severity orders classes over the families: data, then session order, then real
// time.
func severity(c class, f Family) int { return int(c) + 10*int(f) }

// classify names the cycle with these labels as Elle's elle.txn/cycle-type does. The name
// depends on the number of anti-dependencies and on whether two of them are adjacent. It also
// depends on whether real time or session order takes part.
func classify(labels []finding.Label) (c class, f Family) {
	n := len(labels)
	rw, wr, adjacent := 0, 0, false
	for i, l := range labels {
		switch {
		case l&finding.RW != 0:
			rw++
			adjacent = adjacent || labels[(i+1)%n]&finding.RW != 0
		case l&finding.Realtime != 0:
			f = Strong
		case l&finding.Process != 0:
			f = max(f, StrongSession)
		case l&(finding.WW|finding.OtherRow) == 0:
			wr++
		}
	}
	switch {
	case rw == 0 && wr > 0:
		return classG1c, f
	case rw == 0:
		return classG0, f
	case rw == 1:
		return classSingle, f
	case adjacent:
		return classG2, f
	}
	return classNonadjacent, f
}

var familySuffix = [...]string{Plain: "", StrongSession: "-process", Strong: "-realtime"}

func cycleName(c class, f Family) string { return classNames[c] + familySuffix[f] }

// weakest are the weakest levels that a cycle refutes by itself, by the encodings
// of docs/proofs.md with only the cycle's edges in them:
//   - without anti-dependency: read-uncommitted if every edge is ww, otherwise
//     read-committed
//   - one anti-dependency T1 -> T2 closed by reads: T2 is in the past of T1,
//     whose read missed it. One read: read-atomic (dbcop, figure 2b); a chain:
//     causal (figure 2c)
//   - every anti-dependency follows a read, session order or real time: prefix,
//     whose graph has ww from commit to commit
//   - one in all, and no write of another row of the key: consistent view
//   - no two adjacent, and none behind a write of another row of the key: snapshot isolation;
//     otherwise serializable
//
// of the family that the cycle needs. Take a cycle with real time and without sessions. If
// every anti-dependency follows a read or a write, it also refutes generalized snapshot
// isolation: real time leads from commit to commit there.
func weakest(labels []finding.Label) []Level {
	c, f := classify(labels)
	l := Level{Base: Serializable, Family: f}
	switch c {
	case classG0:
		l.Base = ReadUncommitted
	case classG1c:
		l.Base = ReadCommitted
	case classSingle, classNonadjacent:
		l.Base = weakestSnapshot(labels, c)
	}
	ls := []Level{l}
	if c == classSingle && !rowsApart(labels) {
		ls = joined(ls, Level{Base: ConsistentView, Family: f})
	}
	if f == Strong && c != classG2 && l.Base != Serializable && refutesGeneralized(labels) {
		ls = append(ls, Level{Special: GeneralizedSI})
	}
	return ls
}

// joined adds l to the weakest levels, and takes those out that imply it.
func joined(weakest []Level, l Level) []Level {
	if l.Refuted(weakest) {
		return weakest
	}
	return append(slices.DeleteFunc(slices.Clone(weakest), func(x Level) bool { return x.Implies(l) }), l)
}

// rowsApart says whether a write of another row of a key is on the cycle. Its writer need not have
// seen the row before.
func rowsApart(labels []finding.Label) bool {
	return slices.ContainsFunc(labels, func(l finding.Label) bool { return l&finding.OtherRow != 0 })
}

// AsTelling says whether a cycle with these labels is of the class of one with the others, and
// refutes all that this one does.
func AsTelling(labels, others []finding.Label) bool {
	c, f := classify(labels)
	d, g := classify(others)
	by := weakest(labels)
	return c == d && f <= g && !slices.ContainsFunc(weakest(others), func(l Level) bool { return !l.Refuted(by) })
}

func refutesGeneralized(labels []finding.Label) bool {
	n := len(labels)
	for i, l := range labels {
		if l&finding.Process != 0 || l&finding.RW != 0 && labels[(i+n-1)%n]&finding.Realtime != 0 {
			return false
		}
	}
	return true
}

func weakestSnapshot(labels []finding.Label, c class) Base {
	n := len(labels)
	visible := func(l finding.Label) bool { return l&(finding.WR|finding.Process|finding.Realtime) != 0 }
	allVisible, beforeAnti := true, true
	for i, l := range labels {
		if l&finding.RW == 0 {
			allVisible = allVisible && visible(l)
		} else if before := labels[(i+n-1)%n]; before&finding.OtherRow != 0 {
			return Serializable
		} else if !visible(before) {
			beforeAnti = false
		}
	}
	switch {
	case c == classSingle && allVisible && n == 2:
		return ReadAtomic
	case c == classSingle && allVisible:
		return Causal
	case beforeAnti:
		return Prefix
	}
	return SnapshotIsolation
}

// losesUpdate looks at a cycle of one anti-dependency and writes of one key. It says whether
// the cycle ends in a write that names what it replaced, by a transaction that had read an
// older version. The writes between are lost (Berenson et al., P4).
func losesUpdate(p *witness, labels []finding.Label) bool {
	if c, f := classify(labels); c != classSingle || f != Plain {
		return false
	}
	n, last := len(labels), 0
	for i, l := range labels {
		switch {
		case p.Edges[i].Key != p.Edges[0].Key:
			return false
		case l&finding.RW != 0:
			last = (i + n - 1) % n
		}
	}
	for _, l := range labels {
		if l&finding.RW == 0 && l != finding.WW && l != finding.WW|finding.WR {
			return false
		}
	}
	return labels[last] == finding.WW && readsAnother(p, p.Edges[last].To, p.Edges[last].Key)
}

// cycleTitle is the plain name of a cycle, "" for a cycle without one.
func cycleTitle(labels []finding.Label, name string) string {
	c, f := classify(labels)
	base := weakest(labels)[0].Base
	switch {
	case f != Plain:
		return orderedTitle(labels, name, base)
	case c == classSingle && base == ReadAtomic:
		return "fractured read"
	case c == classSingle && base == Causal:
		return "causality violation"
	}
	return TitleOf(name)
}

// orderedTitle is the plain name of a cycle with session order or real time. The session
// guarantees are about two neighbours in a session (Terry et al., Session Guarantees for Weakly
// Consistent Replicated Data, PDIS 1994).
func orderedTitle(labels []finding.Label, name string, base Base) string {
	const so, rt = finding.Process, finding.Realtime
	at := func(want ...finding.Label) bool { return rotated(labels, want) }
	switch {
	case at(finding.RW, so):
		return "read your writes violated"
	case at(finding.RW, finding.WR, so):
		return "monotonic reads violated"
	case at(finding.WW, so):
		return "monotonic writes violated"
	case at(finding.WW, finding.WR, so):
		return "writes follow reads violated"
	case at(finding.RW, rt):
		return "stale read"
	case at(finding.RW, finding.WR, rt):
		return "non-monotonic reads in real time"
	case at(finding.WW, rt):
		return "writes against real time"
	case base == Causal && !slices.ContainsFunc(labels, func(l finding.Label) bool { return l&rt != 0 }):
		return "causality violation"
	}
	return TitleOf(name)
}

// rotated says whether the labels are want from some place on.
func rotated(labels, want []finding.Label) bool {
	n := len(labels)
	if n != len(want) {
		return false
	}
next:
	for i := range labels {
		for j := range want {
			if labels[(i+j)%n]&want[j] == 0 {
				continue next
			}
		}
		return true
	}
	return false
}
