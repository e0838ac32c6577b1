package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// indexWriters finds every write of every value, aborted ones included, the
// keys that are lists, and the values that do not name their writer.
func (g *Graph) indexWriters() {
	for i := range g.History {
		last := map[string]int{}
		for at, o := range g.History[i].Ops {
			if o.Kind != event.Read {
				last[o.Key] = at
			}
			if o.Kind == event.Append || o.IsList {
				g.lists[o.Key] = true
			}
		}
		for at, o := range g.History[i].Ops {
			if o.Kind != event.Read {
				v := version{o.Key, o.Value}
				if ws := g.writers[v]; o.Kind == event.Write && len(ws) > 0 && ws[len(ws)-1].txn == i {
					ws[len(ws)-1].final = last[o.Key] == at // one version, written twice
					continue
				}
				g.writers[v] = append(g.writers[v], writer{i, last[o.Key] == at})
			}
		}
	}
	for v := range g.writers {
		if len(g.notAborted(v)) > 1 {
			g.Ambiguous++
		}
	}
}

// notAborted are the writes of v that took effect or may have.
func (g *Graph) notAborted(v version) []writer {
	var ws []writer
	for _, w := range g.writers[v] {
		if g.History[w.txn].Status != event.Aborted {
			ws = append(ws, w)
		}
	}
	return ws
}

// sole is the write that must have produced v, if v has but one candidate.
func (g *Graph) sole(v version) (writer, bool) {
	ws := g.notAborted(v)
	if len(ws) != 1 {
		return writer{}, false
	}
	return ws[0], true
}

// installer is the transaction that v identifies: its sole writer, one that
// counts, and for registers one that did not overwrite v itself.
func (g *Graph) installer(v version) (int, bool) {
	w, ok := g.sole(v)
	if !ok || !g.Counts[w.txn] || !g.lists[v.key] && !w.final {
		return 0, false
	}
	return w.txn, true
}

// aborted says whether v was written, but by aborted transactions only: a retry
// that committed the same value makes it a value like any other.
func (g *Graph) aborted(v version) bool {
	return len(g.writers[v]) > 0 && len(g.notAborted(v)) == 0
}

// observe replays transaction i by itself. It returns what i first saw of each
// key, and its reads that contradict its own earlier operations (MTC's Int). What a list shows after a
// read that missed an own append is no observation: one of the two was of what never was.
func (g *Graph) observe(i int) (map[string]observation, []Anomaly) {
	seen := map[string]observation{}
	var anomalies []Anomaly
	own := map[string][]int64{} // values written so far, by key
	missed := map[string]bool{} // lists of which an own append was not seen
	for _, o := range g.History[i].Ops {
		if o.Kind != event.Read {
			own[o.Key] = append(own[o.Key], o.Value)
			continue
		}
		if o.Nothing() && g.History[i].Status == event.Unknown {
			continue // that nothing is noted does not say that nothing was seen
		}
		ok := false
		switch {
		case missed[o.Key]:
			continue // it was reported
		case g.lists[o.Key]:
			ok = observeList(seen, own[o.Key], o)
			missed[o.Key] = !ok && g.misreadOwn(own[o.Key], o)
		default:
			ok = observeRegister(seen, own[o.Key], o)
		}
		if !ok {
			a := Anomaly{Name: "internal", Key: o.Key, Txns: []string{g.History[i].ID}, Refutes: "read-atomic"}
			if g.misreadOwn(own[o.Key], o) {
				a.Refutes = "monotonic-atomic-view"
			}
			anomalies = append(anomalies, a)
		}
	}
	return seen, anomalies
}

// misreadOwn says whether a read does not end in what its transaction had
// written before.
func (g *Graph) misreadOwn(own []int64, o workload.Op) bool {
	if g.lists[o.Key] {
		return len(o.List) < len(own) || !slices.Equal(o.List[len(o.List)-len(own):], own)
	}
	return len(own) > 0
}

// observeRegister checks a read against the transaction's own last write, else
// against its first read.
func observeRegister(seen map[string]observation, own []int64, o workload.Op) bool {
	if len(own) > 0 {
		return !o.Absent && o.Value == own[len(own)-1]
	}
	first, ok := seen[o.Key]
	if !ok {
		seen[o.Key] = observation{absent: o.Absent, value: o.Value}
		return true
	}
	return first.absent == o.Absent && (o.Absent || first.value == o.Value)
}

// observeList checks that a read ends in the transaction's own appends, and
// that what comes before them is what it saw the first time.
func observeList(seen map[string]observation, own []int64, o workload.Op) bool {
	before := len(o.List) - len(own)
	if before < 0 || !slices.Equal(o.List[before:], own) {
		return false
	}
	first, ok := seen[o.Key]
	if !ok {
		seen[o.Key] = observation{absent: before == 0, list: o.List[:before]}
		return true
	}
	return slices.Equal(first.list, o.List[:before])
}

// decideCounting takes the observation of unknown outcomes to a fixpoint. An
// unknown transaction counts once one that counts saw a value that nobody else
// can have written; it then counts with all its operations.
func (g *Graph) decideCounting() {
	for i := range g.History {
		g.Counts[i] = g.History[i].Status == event.Committed
	}
	for changed := true; changed; {
		changed = false
		for i := range g.History {
			if !g.Counts[i] {
				continue
			}
			for key, seen := range g.external[i] {
				shown := seen.versions(key, g.lists[key])
				for _, s := range g.rereads(i, key) {
					if !s.absent {
						shown = append(shown, version{key, s.value})
					}
				}
				for _, v := range shown {
					if w, ok := g.sole(v); ok && !g.Counts[w.txn] {
						g.Counts[w.txn], changed = true, true
					}
				}
			}
		}
	}
}

// versions are the values that an observation shows.
func (s observation) versions(key string, list bool) []version {
	var vs []version
	if list {
		for _, e := range s.list {
			vs = append(vs, version{key, e})
		}
	} else if !s.absent {
		vs = append(vs, version{key, s.value})
	}
	return vs
}
