package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// Effects are the results of a step for others, in order. Reused.
type Effects struct {
	Findings []finding.Finding // new ones and new revisions
	Repeats  []Repeats         // key patterns that have just shown that their values repeat
	Fallen   []string          // ids of findings that were waiting and are none
	Stranger *Stranger         // the first transaction that sessions=closed excludes
	Panes    []Pane            // closed or amended
	Puts     []Put             // of retained state that goes out: see needs.go
}

// Empty says whether nothing happened.
func (e *Effects) Empty() bool {
	return len(e.Findings)+len(e.Repeats)+len(e.Fallen)+len(e.Panes)+len(e.Puts) == 0 && e.Stranger == nil
}

// Reset empties e and keeps its memory.
func (e *Effects) Reset() {
	e.Findings, e.Repeats, e.Fallen, e.Panes, e.Puts, e.Stranger = e.Findings[:0], e.Repeats[:0], e.Fallen[:0], e.Panes[:0], e.Puts[:0], nil
}

// handOver appends what the call in work told to eff. A finding that had fallen, and is told, has not.
func (o *core) handOver(eff *Effects) {
	for i := range o.results.Findings {
		if at := slices.Index(eff.Fallen, o.results.Findings[i].ID); at >= 0 {
			eff.Fallen = slices.Delete(eff.Fallen, at, at+1)
		}
	}
	move(&eff.Findings, &o.results.Findings)
	move(&eff.Repeats, &o.results.Repeats)
	move(&eff.Fallen, &o.results.Fallen)
	clear(o.fallen)
	clear(o.gone)
	move(&eff.Panes, &o.results.Panes)
	move(&eff.Puts, &o.results.Puts)
	if o.results.Stranger != nil {
		eff.Stranger, o.results.Stranger = o.results.Stranger, nil
	}
}

// move appends from to the list to, and empties it. Where to is empty, the two change places.
func move[T any](to, from *[]T) {
	if len(*to) == 0 {
		*to, *from = *from, (*to)[:0]
		return
	}
	*to = append(*to, *from...)
	*from = (*from)[:0]
}
