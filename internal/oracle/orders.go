package oracle

// openKey is a key of which the operations leave the order of versions open: a
// register, or a list with appends that nobody read.
type openKey struct {
	key     string
	writers []int
	readers map[int][]int // by writer: who read what it installed
	initial []int         // who read the initial version
}

// open notes a register whose order is to be tried.
func (g *Graph) open(key string, writers []int) {
	k := openKey{key: key, writers: writers, readers: map[int][]int{}}
	for _, i := range g.users[key] {
		seen, ok := g.external[i][key]
		if !ok || !g.Counts[i] {
			continue
		}
		if seen.absent {
			k.initial = append(k.initial, i)
		} else if w, ok := g.installer(version{key, seen.value}); ok && w != i {
			k.readers[w] = append(k.readers[w], i)
		}
	}
	g.openKeys = append(g.openKeys, k)
}

// maxTried bounds the transactions of a history of which the orders of keys are tried, which
// takes the closure of its graph: 300 take some milliseconds. Beyond it the verdict
// rests on what the operations show.
const maxTried = 300

// orderable says by trial whether the versions of the open keys can be
// ordered such that the dependencies allow the level.
func (g *Graph) orderable(l Level) bool {
	if !g.holds(l) {
		return false
	}
	if l.limits() {
		return true // see Exact
	}
	if !l.chooses() {
		return true // any order of the transactions orders the writers, or none is asked for
	}
	if len(g.openKeys) == 0 || len(g.History) > maxTried {
		return true
	}
	t := g.trial(l)
	for i := range g.openKeys {
		k := &g.openKeys[i]
		for at, v := range k.writers {
			for _, r := range k.initial {
				if !t.add(g.arcsOf(l, Edge{r, v, RW, k.key})) {
					return false
				}
			}
			for _, u := range k.writers[:at] {
				t.pairs = append(t.pairs, pair{sides: [2][][2]int{g.before(l, k, u, v), g.before(l, k, v, u)}})
			}
		}
	}
	return t.complete()
}

// before are the arcs that say that u's version of k comes before v's: v replaced it
// sooner or later, and all that u's readers missed it.
func (g *Graph) before(l Level, k *openKey, u, v int) [][2]int {
	arcs := g.arcsOf(l, Edge{u, v, WW, k.key})
	for _, r := range k.readers[u] {
		arcs = append(arcs, g.arcsOf(l, Edge{r, v, RW, k.key})...)
	}
	return arcs
}

// pair are two writers of one key: the arcs if the one comes first, and if the other.
type pair struct {
	sides   [2][][2]int
	decided bool
	failed  int // how often neither side was possible: such pairs are decided first
}

// trial is a search for the sides of all pairs that close no cycle. The order of a key
// is one of its versions exactly if each two of them have one and no cycle closes.
type trial struct {
	leads [][]uint64 // by node: the set of those that it leads to, itself included
	pairs []pair
}

// trial begins with what is known at the level.
func (g *Graph) trial(l Level) *trial {
	n, arcs := g.arcs(l)
	t := &trial{leads: make([][]uint64, n)}
	for i := range t.leads {
		t.leads[i] = make([]uint64, (n+63)/64)
		t.leads[i][i/64] |= 1 << (i % 64)
	}
	t.add(arcs)
	return t
}

// to says whether a path leads from one node to the other.
func (t *trial) to(from, to int) bool { return t.leads[from][to/64]>>(to%64)&1 == 1 }

// possible says whether the arcs close no cycle. They all lead to one transaction, so
// that a cycle with two of them holds one with one.
func (t *trial) possible(arcs [][2]int) bool {
	for _, a := range arcs {
		if t.to(a[1], a[0]) {
			return false
		}
	}
	return true
}

// add puts the arcs in, and says whether none closes a cycle.
func (t *trial) add(arcs [][2]int) bool {
	for _, a := range arcs {
		if t.to(a[1], a[0]) {
			return false
		}
		if t.to(a[0], a[1]) {
			continue
		}
		for from := range t.leads {
			if t.to(from, a[0]) {
				for w, bits := range t.leads[a[1]] {
					t.leads[from][w] |= bits
				}
			}
		}
	}
	return true
}

// force decides each pair with only one possible side, until no such pair is left. It returns false
// when both sides of a pair are impossible.
func (t *trial) force() bool {
	for again := true; again; {
		again = false
		for i := range t.pairs {
			p := &t.pairs[i]
			if p.decided {
				continue
			}
			first, second := t.possible(p.sides[0]), t.possible(p.sides[1])
			switch {
			case !first && !second:
				p.failed++
				return false
			case first != second:
				side := p.sides[0]
				if second {
					side = p.sides[1]
				}
				p.decided, again = true, true
				t.add(side)
			}
		}
	}
	return true
}

// complete says whether the pairs can be decided.
func (t *trial) complete() bool {
	if !t.force() {
		return false
	}
	next := -1
	for i := range t.pairs {
		if !t.pairs[i].decided && (next < 0 || t.pairs[i].failed > t.pairs[next].failed) {
			next = i
		}
	}
	if next < 0 {
		return true
	}
	for side := range 2 {
		was, decided := t.copied()
		t.pairs[next].decided = true
		t.add(t.pairs[next].sides[side])
		if t.complete() {
			return true
		}
		t.leads = was
		for i := range t.pairs {
			t.pairs[i].decided = decided[i]
		}
	}
	return false
}

// copied holds what add and force change.
func (t *trial) copied() (leads [][]uint64, decided []bool) {
	for i := range t.leads {
		leads = append(leads, append([]uint64(nil), t.leads[i]...))
	}
	for i := range t.pairs {
		decided = append(decided, t.pairs[i].decided)
	}
	return leads, decided
}
