package app

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/config"
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

// stripEnd is the instant of the source's time with which its strips end: now. Where all that came is older than the span, it is the
// latest record, or the watermark if that is earlier.
func stripEnd(x *engine.SourceStatus, now time.Time, span time.Duration) int64 {
	end := now.UnixNano()
	until := cmp.Or(x.Latest, x.Watermark)
	if x.Watermark != 0 { // it follows the clock where no more records come
		until = min(until, x.Watermark)
	}
	if until < end-int64(span) {
		return until
	}
	return end
}

// stripBegin is when a strip begins whose last part holds the instant end.
func stripBegin(end, long int64) int64 { return (end/long - (web.Parts - 1)) * long }

// closesAfter is how long behind its end a pane is closed at the earliest; 0: no window bounds it.
func closesAfter(w *config.Watch) time.Duration {
	if w.Window.Duration <= 0 {
		return 0
	}
	return w.Window.Duration + w.Lateness + w.MaxTransaction
}

// refuting is a violation that stands: the levels that it refutes, and when its first and last transactions ended.
type refuting struct {
	levels      []string
	first, last int64
}

// openViolations are the violations whose panes are not closed yet, by source. A pane closes behind its window, and not at all
// while an input has not answered. Its violations are certain all the same.
func (a *App) openViolations(sources []*engine.SourceStatus, now time.Time, span time.Duration) map[string][]refuting {
	since := map[string]int64{}
	for _, x := range sources {
		if x.Watermark == 0 && !unmarked(x) {
			continue // it has no times
		}
		begin := stripBegin(stripEnd(x, now, span), int64(span)/web.Parts)
		if closes := closesAfter(a.watchOf(x.Source)); closes > 0 && x.Watermark > 0 {
			begin = max(begin, x.Watermark-int64(closes))
		}
		since[x.Source] = begin
	}
	all := map[string][]refuting{}
	a.shelf.mu.RLock()
	defer a.shelf.mu.RUnlock()
	a.shelf.catalog.Violations(since, func(source string, levels []string, first, last int64) {
		all[source] = append(all[source], refuting{levels, first, last})
	})
	return all
}

// markOpen marks the parts of a strip in which a transaction of a violation of the level ended.
func markOpen(l *web.Level, open []refuting, begin, long int64) {
	for i := range open {
		if !slices.Contains(open[i].levels, l.Name) {
			continue
		}
		for _, at := range []int64{open[i].first, open[i].last} {
			if part := (at - begin) / long; at >= begin && part < web.Parts {
				l.Cells[part] = web.Violated
			}
		}
	}
}
