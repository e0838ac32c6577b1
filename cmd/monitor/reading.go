package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// reading is how far a command has read its files, which it shows on a terminal.
type reading struct {
	*terminal
	total int64 // bytes; 0: it is not known
	done  atomic.Int64
	began time.Time
}

// newReading looks at the files. Of standard input and folders the size is not known.
func newReading(t *terminal, files []string) *reading {
	r := &reading{terminal: t, began: time.Now()}
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
func (r *reading) tell(bytes int) { r.done.Add(int64(bytes)) }

// while runs f, which a signal ends at once: nothing that it does outlives it, so nothing has to be
// put in order. On a terminal it shows how far f has read.
func (r *reading) while(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- guarded(f) }()
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
			fmt.Fprintf(r.stderr, "\r\x1b[K%s", readingText(r.done.Load(), r.total, time.Since(r.began)))
		}
	}
}

func (r *reading) clear(beat <-chan time.Time) {
	if beat != nil {
		fmt.Fprint(r.stderr, "\r\x1b[K")
	}
}

// readingText says how much is read, how fast, and how long the rest takes at that speed. A history that is
// read twice has no rest any more the second time.
func readingText(done, total int64, took time.Duration) string {
	rate := float64(done) / max(took, time.Millisecond).Seconds()
	text := fmt.Sprintf("%.1f MB, %.1f MB/s", float64(done)/1e6, rate/1e6)
	if total > 0 && done > 0 && done < total {
		left := time.Duration(float64(took) * float64(total-done) / float64(done))
		text += fmt.Sprintf(", %.0f%%, about %s left", 100*float64(done)/float64(total), left.Round(time.Second))
	}
	return text
}
