package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// registerState is a version of a register as a read shows it.
type registerState struct {
	absent bool // the initial version
	value  int64
}

// registerKey derives what the reads and writes of one register imply.
//
// A transaction that read version v and then wrote the key installed a later
// version: v's installer -ww-> it, and every other reader of v -rw-> it. A read
// that found nothing saw the initial version, which nothing deletes and which
// comes before every write: reader -rw-> every writer. The order of blind
// writes stays open.
func (g *Graph) registerKey(key string) {
	var writers []int                          // those that count
	readers := map[registerState][]int{}       // by version, in history order
	readThenWrote := map[registerState][]int{} // the readers that also wrote
	var states []registerState                 // versions read, in order of first read
	for _, i := range g.users[key] {
		if !g.Counts[i] {
			continue
		}
		wrote := g.writes(i, key)
		if wrote {
			writers = append(writers, i)
		}
		for _, again := range g.rereads(i, key) {
			g.registerRead(i, key, again, false)
		}
		seen, ok := g.external[i][key]
		if !ok {
			continue
		}
		state := registerState{seen.absent, seen.value}
		if g.registerRead(i, key, state, wrote); !g.identified(key, state) {
			continue
		}
		if len(readers[state]) == 0 {
			states = append(states, state)
		}
		readers[state] = append(readers[state], i)
		if wrote {
			readThenWrote[state] = append(readThenWrote[state], i)
		}
	}
	diverged := false
	for _, state := range states {
		later := readThenWrote[state]
		if len(later) > 1 {
			g.report("lost-update", key, later...)
			diverged = true
		}
		if state.absent {
			later = writers
		}
		for _, i := range readers[state] {
			for _, j := range later {
				g.add(i, j, RW, key)
			}
		}
	}
	g.registerDecided(key, writers, diverged)
}

// identified says whether the value names one version: the initial one, or that
// of a sole writer.
func (g *Graph) identified(key string, s registerState) bool {
	if s.absent {
		return true
	}
	_, ok := g.installer(version{key, s.value})
	return ok
}

// registerRead adds the dependency of reader i on the writer of what it read,
// or reports that no committed transaction can have installed it.
func (g *Graph) registerRead(i int, key string, s registerState, wrote bool) {
	if s.absent {
		return
	}
	v := version{key, s.value}
	if g.reportSource(i, v) {
		return
	}
	w, ok := g.sole(v)
	if !ok {
		return // ambiguous
	}
	if !w.final {
		g.report("G1b", key, w.txn, i)
		return
	}
	g.add(w.txn, i, WR, key)
	if wrote {
		g.add(w.txn, i, WW, key)
	}
}

// rereads returns what i saw of a register when it read it again, before it wrote it,
// and another version was there. Levels below read atomic allow that.
func (g *Graph) rereads(i int, key string) []registerState {
	var states []registerState
	first, ok := g.external[i][key]
	for _, o := range g.History[i].Ops {
		if o.Key != key || !ok || g.lists[key] {
			continue
		}
		if o.Kind != event.Read {
			break
		}
		s := registerState{o.Absent, o.Value}
		if o.Absent {
			s.value = 0
		}
		if s == (registerState{first.absent, first.value}) || slices.Contains(states, s) ||
			o.Nothing() && g.History[i].Status == event.Unknown {
			continue
		}
		states = append(states, s)
	}
	return states
}

// reportSource reports a value that i should never have seen: written by nobody
// (the capture is complete), by aborted transactions only, or by i itself later.
func (g *Graph) reportSource(i int, v version) bool {
	if len(g.writers[v]) == 0 {
		g.report("garbage-read", v.key, i)
		return true
	}
	if g.aborted(v) {
		g.report("G1a", v.key, g.writers[v][0].txn, i)
		return true
	}
	if w, ok := g.sole(v); ok && w.txn == i {
		g.report("future-read", v.key, i)
		return true
	}
	return false
}

// registerDecided counts the key as undecided unless its versions form one
// chain. Each writer follows the installer of what it read; those that do not
// are roots. Several roots that all read the initial version are a divergence,
// which is a finding already; a blind root beside another root is open. What levels
// that allow a divergence say is tried as well.
func (g *Graph) registerDecided(key string, writers []int, diverged bool) {
	roots, blind := 0, 0
	for _, i := range writers {
		seen, read := g.external[i][key]
		if read && !seen.absent {
			if w, ok := g.installer(version{key, seen.value}); ok && w != i {
				continue
			}
		}
		roots++
		if !read || !seen.absent {
			blind++
		}
	}
	if roots > 1 && blind > 0 {
		g.Undecided++
	}
	if roots > 1 && blind > 0 || diverged {
		g.open(key, writers)
	}
}
