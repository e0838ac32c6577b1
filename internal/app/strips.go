package app

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/window"
)

// Bounds of reading panes for the overview.
const (
	stripPatience = 60 * time.Millisecond // of one page, for panes that were not read before
	maxCells      = 200_000               // kept, 50 sources with all spans are 12,000
	maxAmended    = 10_000                // panes that were written since the last page; with more, all cells are read again
	stripRun      = web.Parts / 4         // cells that are read at once
)

// errEnough ends reading early.
var errEnough = errors.New("enough was read")

// cellKey is a part of a strip: of a source, from an instant on, so long.
type cellKey struct {
	source      string
	start, long int64
}

// cell has the worst verdict of the panes of a part, by level.
type cell map[string]web.Cell

// strips keeps the cells that were read until a pane of theirs is written.
type strips struct {
	reader engine.Reader
	mu     sync.Mutex
	cells  map[cellKey]cell
	longs  map[int64]bool // lengths of cells

	amended struct {
		sync.Mutex
		asked bool // cells are kept
		panes map[cellKey]bool
		lost  bool // panes that found no room
	}
}

func newStrips(r engine.Reader) *strips {
	s := &strips{reader: r, cells: map[cellKey]cell{}, longs: map[int64]bool{}}
	s.amended.panes = map[cellKey]bool{}
	return s
}

// written notes that a pane was written. It does not wait for a page that reads.
func (s *strips) written(source string, start int64) {
	a := &s.amended
	a.Lock()
	defer a.Unlock()
	if !a.asked || a.lost {
		return
	}
	if a.panes[cellKey{source: source, start: start}] = true; len(a.panes) > maxAmended {
		clear(a.panes)
		a.lost = true
	}
}

// amend forgets the cells of panes that were written. mu is held.
func (s *strips) amend(long int64) {
	a := &s.amended
	a.Lock()
	defer a.Unlock()
	a.asked = true
	if a.lost {
		clear(s.cells)
	}
	for p := range a.panes {
		for long := range s.longs {
			delete(s.cells, cellKey{p.source, p.start / long * long, long})
		}
	}
	clear(a.panes)
	a.lost = false
	s.longs[long] = true
}

// of gives the parts of the span that ends at an instant of the source's time, the newest read first. It reads
// until the deadline, and says whether all was read.
func (s *strips) of(source string, end, long int64, deadline time.Time, now func() time.Time) (parts [web.Parts]cell, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.amend(long)
	whole = true
	key := func(i int) cellKey { return cellKey{source, (end/long - int64(web.Parts-1-i)) * long, long} }
	for last := web.Parts - 1; last >= 0; last -= stripRun {
		first, missing := last-stripRun+1, -1
		for i := first; i <= last; i++ {
			if _, known := s.cells[key(i)]; !known && missing < 0 {
				missing = i
			}
		}
		if missing >= 0 && !s.read(key(missing), last-missing+1, deadline, now) {
			whole = false
		}
		for i := first; i <= last; i++ {
			parts[i] = s.cells[key(i)]
		}
	}
	return parts, whole
}

// read takes in so many cells from the first one on, and says whether all were read in time. mu is held.
func (s *strips) read(first cellKey, count int, deadline time.Time, now func() time.Time) bool {
	if now().After(deadline) {
		return false
	}
	if len(s.cells) > maxCells {
		clear(s.cells)
	}
	cells := make([]cell, count)
	for i := range cells {
		cells[i] = cell{}
	}
	n, at := 0, 0
	err := s.reader.VerdictsOf(first.source, first.start, first.start+int64(count)*first.long, func(start int64, verdicts map[string]string, byContract []string) error {
		at = int((start - first.start) / first.long)
		for level, verdict := range verdicts {
			c := cellOf(verdict)
			if c == web.Unknown && slices.Contains(byContract, level) {
				c = web.Open
			}
			cells[at][level] = max(cells[at][level], c)
		}
		if n++; n%64 == 0 && now().After(deadline) {
			return errEnough
		}
		return nil
	})
	if err == nil {
		at = count
	}
	for i := range cells[:at] {
		s.cells[cellKey{first.source, first.start + int64(i)*first.long, first.long}] = cells[i]
	}
	return err == nil
}

func cellOf(verdict string) web.Cell {
	switch verdict {
	case window.OK:
		return web.OK
	case window.Violated:
		return web.Violated
	}
	return web.Unknown
}

// inWork marks the last parts of a strip whose panes are not closed at the watermark: those that ended less
// than closes before it.
func inWork(l *web.Level, watermark, end, long, closes int64) {
	for i := web.Parts - 1; i >= 0 && l.Cells[i] == web.NoData; i-- {
		start := (end/long - int64(web.Parts-1-i)) * long
		if start <= watermark && start+long > watermark-closes {
			l.Cells[i] = web.InWork
		}
	}
}
