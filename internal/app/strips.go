package app

import (
	"errors"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/window"
)

// Bounds of reading panes for the overview.
const (
	stripPatience = 150 * time.Millisecond // of one page, for panes that were not read before
	maxCells      = 200_000                // kept, 50 sources with all spans are 12,000
	amended       = int64(time.Hour)       // panes of this age may still change
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

// strips keeps what was read of panes that change no more.
type strips struct {
	reader engine.Reader
	mu     sync.Mutex
	cells  map[cellKey]cell
}

func newStrips(r engine.Reader) *strips { return &strips{reader: r, cells: map[cellKey]cell{}} }

// of gives the parts of the span that ends at an instant of the source's time, the newest read first. It reads
// until the deadline, and says whether all was read.
func (s *strips) of(source string, end, long int64, deadline time.Time, now func() time.Time) (parts [web.Parts]cell, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	whole = true
	for i := web.Parts - 1; i >= 0; i-- {
		start := (end/long - int64(web.Parts-1-i)) * long
		key := cellKey{source, start, long}
		c, known := s.cells[key]
		if !known && now().After(deadline) {
			whole = false
			continue
		}
		if !known {
			var err error
			if c, err = s.read(&key, deadline, now); err != nil {
				whole = false
				continue
			}
			if start+long < end-amended {
				if len(s.cells) >= maxCells {
					clear(s.cells)
				}
				s.cells[key] = c
			}
		}
		parts[i] = c
	}
	return parts, whole
}

func (s *strips) read(key *cellKey, deadline time.Time, now func() time.Time) (cell, error) {
	c := cell{}
	n := 0
	err := s.reader.PanesOf(key.source, key.start, key.start+key.long, func(p *window.Pane) error {
		for level, verdict := range p.Verdicts {
			c[level] = max(c[level], cellOf(verdict))
		}
		if n++; n%64 == 0 && now().After(deadline) {
			return errEnough
		}
		return nil
	})
	return c, err
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
