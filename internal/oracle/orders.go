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

// orderable says by trial whether the versions of the open keys can be
// ordered such that the dependencies allow the level.
func (g *Graph) orderable(l Level) bool {
	was := len(g.Edges)
	defer func() { g.Edges = g.Edges[:was] }()
	switch l.base() {
	case "prefix", "snapshot-isolation", "serializable":
	default:
		return g.holds(l) // any order of the transactions orders the writers, or none is asked for
	}
	for i := range g.openKeys {
		if len(g.openKeys[i].writers) > maxTried {
			return g.holds(l)
		}
	}
	return g.holds(l) && g.orderFrom(0, l)
}

// maxTried bounds the writers of a key whose orders are tried; with more of them
// the verdict rests on what the operations show.
const maxTried = 8

// orderFrom tries the orders of the open keys from the i-th on.
func (g *Graph) orderFrom(i int, l Level) bool {
	if i == len(g.openKeys) {
		return true
	}
	k := &g.openKeys[i]
	placed := make([]bool, len(k.writers))
	var extend func(last, n int) bool
	extend = func(last, n int) bool {
		if n == len(k.writers) {
			return g.orderFrom(i+1, l)
		}
		for at, w := range k.writers {
			if placed[at] {
				continue
			}
			was := len(g.Edges)
			readers := k.initial
			if last >= 0 {
				readers = k.readers[last]
				g.Edges = append(g.Edges, Edge{last, w, WW, k.key})
			}
			for _, r := range readers {
				if r != w {
					g.Edges = append(g.Edges, Edge{r, w, RW, k.key})
				}
			}
			placed[at] = true
			if g.holds(l) && extend(w, n+1) {
				return true
			}
			placed[at] = false
			g.Edges = g.Edges[:was]
		}
		return false
	}
	return extend(-1, 0)
}
