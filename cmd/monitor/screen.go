package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// screen is a terminal whose last lines are drawn again and again: what is written goes
// above them. Safe for concurrent use.
type screen struct {
	mu     sync.Mutex
	out    io.Writer
	bottom []byte // the lines that are drawn now, each with its end
}

// above is a writer of whole lines on the same terminal.
type above struct {
	*screen
	to io.Writer
}

func (w above) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.erase()
	n, err := w.to.Write(p)
	_, _ = w.out.Write(w.bottom)
	return n, err
}

// draw puts these lines in the place of those before.
func (s *screen) draw(lines []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.bottom = append(s.bottom[:0], lines...)
	_, _ = s.out.Write(s.bottom)
}

// erase takes the lines away: up by their number, and all below is cleared.
func (s *screen) erase() {
	if n := bytes.Count(s.bottom, []byte("\n")); n > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", n)
	}
}
