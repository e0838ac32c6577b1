package isolation

import "github.com/isowatch/isowatch/infer"

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

// severity orders classes over both families: data before session order.
func severity(c class, session bool) int {
	if session {
		return int(c) + 10
	}
	return int(c)
}

// classify names the cycle with these labels as Elle's elle.txn/cycle-type does:
// by the number of anti-dependencies and whether two of them are adjacent, and
// by whether session order takes part.
func classify(labels []infer.Label) (c class, session bool) {
	n := len(labels)
	rw, wr, adjacent := 0, 0, false
	for i, l := range labels {
		switch {
		case l&infer.RW != 0:
			rw++
			adjacent = adjacent || labels[(i+1)%n]&infer.RW != 0
		case l&infer.Process != 0:
			session = true
		case l&infer.WW == 0:
			wr++
		}
	}
	switch {
	case rw == 0 && wr > 0:
		return classG1c, session
	case rw == 0:
		return classG0, session
	case rw == 1:
		return classSingle, session
	case adjacent:
		return classG2, session
	}
	return classNonadjacent, session
}

func cycleName(c class, session bool) string {
	if session {
		return classNames[c] + "-process"
	}
	return classNames[c]
}

// weakest is the weakest level that a cycle refutes by itself, by the encodings
// of docs/semantics.md with only the cycle's edges in them:
//   - without anti-dependency: read-uncommitted if every edge is ww, otherwise
//     read-committed
//   - one anti-dependency T1 -> T2 closed by reads: T2 is in the past of T1,
//     whose read missed it. One read: read-atomic (dbcop, figure 2b); a chain:
//     causal (figure 2c)
//   - every anti-dependency follows a read or session order: prefix, whose graph
//     has ww from commit to commit
//   - no two adjacent: snapshot isolation; otherwise serializable
func weakest(labels []infer.Label) Level {
	c, session := classify(labels)
	l := Level{Base: Serializable}
	if session {
		l.Family = StrongSession
	}
	switch c {
	case classG0:
		l.Base = ReadUncommitted
	case classG1c:
		l.Base = ReadCommitted
	case classSingle, classNonadjacent:
		l.Base = weakestSnapshot(labels, c)
	}
	return l
}

func weakestSnapshot(labels []infer.Label, c class) Base {
	n := len(labels)
	visible := func(l infer.Label) bool { return l&(infer.WR|infer.Process) != 0 }
	allVisible, beforeAnti := true, true
	for i, l := range labels {
		if l&infer.RW == 0 {
			allVisible = allVisible && visible(l)
		} else if !visible(labels[(i+n-1)%n]) {
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

// cycleTitle is the plain name of a cycle, where it has one.
func cycleTitle(labels []infer.Label, name string) string {
	c, session := classify(labels)
	if session {
		return anomalies[name].title
	}
	switch base := weakest(labels).Base; {
	case c == classSingle && base == ReadAtomic:
		return "fractured read"
	case c == classSingle && base == Causal:
		return "causality violation"
	case c == classG2 && len(labels) == 2:
		return "write skew"
	}
	return anomalies[name].title
}
