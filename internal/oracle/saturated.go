package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// Levels below snapshot isolation that are defined by what the order of commits
// must not contradict (Biswas and Enea, figure 2), each with its strong-session and
// strong twins. In the latter what ended comes before what began later, and is in the
// past of that as what it follows in its session is.
const (
	AtomicView = "monotonic-atomic-view" // figure 2a
	ReadAtomic = "read-atomic"           // figure 2b
	Causal     = "causal"                // figure 2c
)

// SaturatedLevels are their names.
func SaturatedLevels() []Level {
	var ls []Level
	for _, base := range []string{AtomicView, ReadAtomic, Causal} {
		ls = append(ls, Level(base), Level("strong-session-"+base), Level("strong-"+base))
	}
	return ls
}

// seenBy holds what an operation of a transaction saw that others left: the state of
// its key, as the writer of the latest version in it, -1 for nobody's, or
// ambiguousWriter, with a list.
type seenBy struct {
	at     int // operation
	key    string
	writer int
	list   []int64
	from   []int // in the trial of orders: whose versions it showed
}

// ambiguousWriter is for a value that several may have written.
const ambiguousWriter = -2

// externalReads returns what i's reads saw before it wrote their keys. ok is false when
// one saw what nobody installed, or one that should see i's own write does not:
// then no level here holds.
func (g *Graph) externalReads(i int) (observations []seenBy, ok bool) {
	ok = true
	own := map[string][]int64{}
	for at, o := range g.History[i].Ops {
		if o.Kind != event.Read {
			own[o.Key] = append(own[o.Key], o.Value)
			continue
		}
		if o.Nothing() && g.History[i].Status == event.Unknown {
			continue
		}
		mine := own[o.Key]
		s := seenBy{at: at, key: o.Key, writer: -1}
		last, some := o.Value, !o.Absent
		if g.lists[o.Key] {
			list := o.List
			if len(list) < len(mine) || !slices.Equal(list[len(list)-len(mine):], mine) {
				ok = false
				continue
			}
			if list = list[:len(list)-len(mine)]; len(list) > 0 {
				last, some, s.list = list[len(list)-1], true, list
			} else {
				some = false
			}
		} else if len(mine) > 0 {
			ok = ok && some && last == mine[len(mine)-1]
			continue
		}
		if some {
			w, known := g.installer(version{o.Key, last})
			if !known && len(g.notAborted(version{o.Key, last})) > 1 {
				if s.writer = ambiguousWriter; s.list != nil {
					observations = append(observations, s)
				}
				continue // any of them
			}
			if !known || w == i {
				ok = false
				continue
			}
			s.writer = w
		}
		observations = append(observations, s)
	}
	return observations, ok
}

// Torn says whether [AtomicView] is decided by less than all that reads show: a
// transaction read a list twice and saw two states of it, of which the second one's
// last element alone counts; or one appended to a list twice, and a read may show
// the one element without the other.
func (g *Graph) Torn() bool {
	for _, a := range g.Anomalies {
		if a.Name == "internal" && g.lists[a.Key] {
			return true
		}
	}
	for i := range g.History {
		appended := map[string]bool{}
		for _, o := range g.History[i].Ops {
			if o.Kind == event.Append && appended[o.Key] {
				return true
			}
			appended[o.Key] = appended[o.Key] || o.Kind == event.Append
		}
	}
	return false
}

// Forces says of each of SaturatedLevels whether h contradicts it: the order of commits
// that its axiom forces has a cycle.
func (g *Graph) Forces() map[Level]bool {
	n := len(g.History)
	violated := map[Level]bool{}
	for _, l := range SaturatedLevels() {
		violated[l] = g.refutesSaturated(l, n)
	}
	return violated
}

func (g *Graph) refutesSaturated(l Level, n int) bool {
	base, sessions := l.base(), l.sessions()
	for _, a := range g.Anomalies {
		if a.Name != "lost-update" && (a.Name != "internal" || base != AtomicView) {
			return true
		}
	}
	so, wr, order := square(n), square(n), square(n)
	for _, e := range g.Edges {
		switch {
		case e.Type == SO && sessions:
			so[e.From][e.To] = true
		case e.Type == WW:
			order[e.From][e.To] = true
		case e.Type == WR && !g.readsAnything(e.To):
			wr[e.From][e.To] = true
		}
	}
	close3(so)
	observations := make([][]seenBy, n)
	for i := range g.History {
		if !g.Counts[i] {
			continue
		}
		seen, ok := g.externalReads(i)
		if less := g.asksLess(g.History[i].ID, base); !ok && !less {
			return true
		} else if !less {
			observations[i] = seen
		}
		if g.readsAnything(i) {
			continue
		}
		for _, s := range seen {
			for _, w := range g.readFrom(s) {
				wr[w][i] = true
			}
		}
	}
	past := square(n)
	for a := range n {
		for b := range n {
			late := l.realTime() && g.Counts[a] && g.Counts[b] && ended(&g.History[a], &g.History[b], g.Drift)
			past[a][b] = so[a][b] || wr[a][b] || late
			order[a][b] = order[a][b] || past[a][b]
		}
	}
	if base == Causal {
		close3(past)
	}
	for t3 := range n {
		for _, s := range observations[t3] {
			if base != AtomicView && s.writer >= 0 && g.lists[s.key] && !g.showsAll(s) {
				return true // the writer is in the past, and not all of what it did
			}
			for _, t2 := range g.users[s.key] {
				if t2 == t3 || t2 == s.writer || !g.Counts[t2] || !g.writes(t2, s.key) {
					continue
				}
				before := past[t2][t3]
				if base == AtomicView {
					before = slices.ContainsFunc(observations[t3], func(r seenBy) bool { return slices.Contains(g.readFrom(r), t2) && r.at < s.at })
				}
				switch {
				case !before:
				case s.writer == ambiguousWriter:
					if !g.shows(t2, s) {
						return true
					}
				case s.writer < 0:
					return true
				default:
					order[t2][s.writer] = true
				}
			}
		}
	}
	close3(order)
	for i := range n {
		if order[i][i] {
			return true
		}
	}
	return false
}

// readFrom are the transactions that a read shows versions of: of a list, who
// appended any of its elements.
func (g *Graph) readFrom(s seenBy) []int {
	var ws []int
	if s.writer >= 0 {
		ws = append(ws, s.writer)
	}
	for _, v := range s.list {
		if w, ok := g.installer(version{s.key, v}); ok {
			ws = append(ws, w)
		}
	}
	return ws
}

// showsAll says whether a list read that ends with an append of s.writer shows all
// its appends.
func (g *Graph) showsAll(s seenBy) bool { return g.shows(s.writer, s) }

// shows says whether a list read shows all that i appended to the key.
func (g *Graph) shows(i int, s seenBy) bool {
	for _, o := range g.History[i].Ops {
		if o.Key == s.key && o.Kind == event.Append && !slices.Contains(s.list, o.Value) {
			return false
		}
	}
	return true
}

func square(n int) [][]bool {
	m := make([][]bool, n)
	for i := range m {
		m[i] = make([]bool, n)
	}
	return m
}

// close3 is the transitive closure (Warshall).
func close3(m [][]bool) {
	for k := range m {
		for i := range m {
			for j := range m {
				m[i][j] = m[i][j] || m[i][k] && m[k][j]
			}
		}
	}
}

// PossibleSaturated says by trial whether some order of commits explains h at one of
// SaturatedLevels: it contains who read from whom, in the strong-session twin the
// session order, and satisfies the level's axiom; lists grow in it. Like [Possible]
// it knows nothing of dependencies.
func PossibleSaturated(h History, l Level) (bool, error) {
	return someOutcome(h, func(txns []*workload.Txn) bool {
		return someOrder(txns, nil, func(order []*workload.Txn) bool { return explains(order, l) })
	})
}

func someOrder(rest, order []*workload.Txn, fits func([]*workload.Txn) bool) bool {
	if len(rest) == 0 {
		return fits(order)
	}
	for i, t := range rest {
		if someOrder(slices.Concat(rest[:i], rest[i+1:]), append(slices.Clone(order), t), fits) {
			return true
		}
	}
	return false
}

// contents returns what the versions of a key up to and with that of order[p] show: a
// register's value, a list's elements.
func contents(order []*workload.Txn, p int, key string) []int64 {
	var now []int64
	for _, t := range order[:p+1] {
		for _, o := range t.Ops {
			if o.Key == key && o.Kind == event.Write {
				now = []int64{o.Value}
			} else if o.Key == key && o.Kind == event.Append {
				now = append(slices.Clone(now), o.Value)
			}
		}
	}
	return now
}

// explains says whether the order of commits is one of the level's. Every read must
// show one version: which, is tried by its contents, in all ways where several had them.
func explains(order []*workload.Txn, l Level) bool {
	for way, ways := 0, 1; way < ways; way++ {
		ok, seen := explainsIn(way, order, l)
		if ok {
			return true
		}
		ways = max(ways, seen)
	}
	return false
}

// explainsIn is explains in one of the ways to choose among versions with the same
// contents, and how many ways there are, as far as it looked.
func explainsIn(way int, order []*workload.Txn, l Level) (ok bool, ways int) {
	base, sessions := l.base(), l.sessions()
	ways = 1
	n := len(order)
	so, wr := square(n), square(n)
	var observations [][]seenBy
	for i, t := range order {
		own := map[string]bool{}
		var mine []seenBy
		for at, o := range t.Ops {
			if o.Kind != event.Read {
				own[o.Key] = true
				continue
			}
			if o.Nothing() && t.Status == event.Unknown {
				continue
			}
			shown := o.List
			if !o.IsList && !o.Absent {
				shown = []int64{o.Value}
			}
			before := ownBefore(t, at)
			if own[o.Key] && !o.IsList && !(o.Absent && before.list[o.Key]) {
				if !slices.Equal(shown, before.values[o.Key]) {
					return false, ways
				}
				continue
			}
			if k := len(before.values[o.Key]); own[o.Key] {
				if len(shown) < k || !slices.Equal(shown[len(shown)-k:], before.values[o.Key]) {
					return false, ways
				}
				shown = shown[:len(shown)-k]
			}
			s := seenBy{at: at, key: o.Key, writer: -1}
			if len(shown) > 0 {
				var with []int
				for p, w := range order[:i] {
					if writesKey(w, o.Key) && slices.Equal(contents(order, p, o.Key), shown) {
						with = append(with, p)
					}
				}
				if len(with) == 0 {
					return false, ways
				}
				s.writer = with[way/ways%len(with)]
				ways *= len(with)
			}
			for p, w := range order {
				if p != i && slices.ContainsFunc(w.Ops, func(o workload.Op) bool {
					return o.Key == s.key && o.Kind == event.Append && slices.Contains(shown, o.Value)
				}) {
					wr[p][i] = true
					s.from = append(s.from, p)
				}
			}
			if s.writer >= 0 {
				wr[s.writer][i] = true
				s.from = append(s.from, s.writer)
			}
			mine = append(mine, s)
		}
		observations = append(observations, mine)
		for j, u := range order {
			if sessions && precedes(u, t) || l.realTime() && ended(u, t, 0) {
				so[j][i] = true
				if j > i {
					return false, ways
				}
			}
		}
	}
	past := square(n)
	for a := range n {
		for b := range n {
			past[a][b] = so[a][b] || wr[a][b]
		}
	}
	if base == Causal {
		close3(past)
	}
	for t3 := range n {
		for _, s := range observations[t3] {
			for t2 := range n {
				if t2 == t3 || t2 <= s.writer || !writesKey(order[t2], s.key) {
					continue // t2 before the writer is as it should be
				}
				before := past[t2][t3]
				if base == AtomicView {
					before = slices.ContainsFunc(observations[t3], func(r seenBy) bool { return slices.Contains(r.from, t2) && r.at < s.at })
				}
				if before {
					return false, ways
				}
			}
		}
	}
	return true, ways
}

func writesKey(t *workload.Txn, key string) bool {
	return slices.ContainsFunc(t.Ops, func(o workload.Op) bool { return o.Key == key && o.Kind != event.Read })
}

// ownWrites holds what a transaction has written before one of its operations.
type ownWrites struct {
	values map[string][]int64 // a register's last value, a list's appends
	list   map[string]bool
}

func ownBefore(t *workload.Txn, at int) ownWrites {
	w := ownWrites{map[string][]int64{}, map[string]bool{}}
	for _, o := range t.Ops[:at] {
		switch o.Kind {
		case event.Write:
			w.values[o.Key] = []int64{o.Value}
		case event.Append:
			w.values[o.Key] = append(w.values[o.Key], o.Value)
			w.list[o.Key] = true
		}
	}
	return w
}
