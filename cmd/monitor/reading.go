package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// reading is how far a command has read its files, which it shows on a terminal.
type reading struct {
	*terminal
	files int

	mu     sync.Mutex
	done   int64     // bytes
	total  int64     // bytes; 0: it is not known
	began  time.Time // this pass
	allIn  time.Time // all was read then; zero: it is not
	second bool      // the only file is read a second time
}

// newReading looks at the files. Of standard input and folders the size is not known.
func newReading(t *terminal, files []string) *reading {
	r := &reading{terminal: t, files: len(files), began: time.Now()}
	for _, name := range files {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.Mode().IsRegular() {
			r.total = 0
			break
		}
		r.total += info.Size()
	}
	return r
}

// tell counts what was read.
func (r *reading) tell(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done += int64(bytes); r.done == r.total {
		r.allIn = time.Now()
	}
}

// again begins the second pass over a file, of which so much was read. Among several files it is
// more to read.
func (r *reading) again(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allIn = time.Time{}
	if r.files == 1 {
		r.done, r.began, r.second = 0, time.Now(), true
	} else if r.total > 0 {
		r.total += bytes
	}
}

// while runs f, which a signal ends at once: nothing that it does outlives it, so nothing has to be
// put in order. On a terminal it shows how far f has read.
func (r *reading) while(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	var beat <-chan time.Time
	if isTerminal(r.stderr) {
		ticker := time.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		beat = ticker.C
	}
	for {
		select {
		case err := <-done:
			r.clear(beat)
			return err
		case <-ctx.Done():
			r.clear(beat)
			return exitError{exitInterrupted}
		case <-beat:
			fmt.Fprintf(r.stderr, "\r\x1b[K%s", r.text(time.Now()))
		}
	}
}

func (r *reading) clear(beat <-chan time.Time) {
	if beat != nil {
		fmt.Fprint(r.stderr, "\r\x1b[K")
	}
}

// text says how far the reading is.
func (r *reading) text(now time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := readingText(r.done, r.total, now.Sub(r.began))
	if !r.allIn.IsZero() && r.done == r.total {
		text = fmt.Sprintf("all %.1f MB are read, and worked on for %s", float64(r.done)/1e6, now.Sub(r.allIn).Round(time.Second))
	}
	if r.second {
		text = "pass 2 of 2: " + text
	}
	return text
}

// readingText says how much is read, how fast, and how long the rest takes at that speed. A packed file holds more than its size.
func readingText(done, total int64, took time.Duration) string {
	rate := float64(done) / max(took, time.Millisecond).Seconds()
	text := fmt.Sprintf("%.1f MB, %.1f MB/s", float64(done)/1e6, rate/1e6)
	if total > 0 && done > 0 && done < total {
		left := time.Duration(float64(took) * float64(total-done) / float64(done))
		text += fmt.Sprintf(", %.0f%%, about %s left", 100*float64(done)/float64(total), left.Round(time.Second))
	}
	return text
}
