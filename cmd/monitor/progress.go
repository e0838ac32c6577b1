package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/whole"
)

const (
	redrawn = 500 * time.Millisecond // on a terminal
	logged  = 10 * time.Second       // elsewhere: a line each time
)

// progress is how far a command is with its files. On a terminal it is a line that is drawn again and
// again; elsewhere it is a line on standard error now and then. Safe for concurrent use.
type progress struct {
	*terminal
	every time.Duration // that it is shown

	mu    sync.Mutex
	total int64 // bytes; 0: it is not known
	done  int64 // bytes read
	phase string
	began time.Time // of the phase
	first time.Time // of all
}

// newProgress looks at the files. The size of standard input, of folders and of what is packed is not known.
func newProgress(t *terminal, files []string) *progress {
	p := &progress{terminal: t, every: logged, phase: whole.Reading, first: time.Now()}
	p.began = p.first
	if isTerminal(t.stderr) {
		p.every = redrawn
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.Mode().IsRegular() || strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zst") {
			p.total = 0
			break
		}
		p.total += info.Size()
	}
	return p
}

// tell counts what was read.
func (p *progress) tell(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += int64(bytes)
}

// doing notes what is done now.
func (p *progress) doing(phase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if phase == whole.ReadingAgain {
		p.done = 0
	}
	if p.phase, p.began = phase, time.Now(); phase == whole.Reading {
		p.began = p.first // as more files begin
	}
}

// text describes the progress of the current phase. While files are read, it gives the share read, the
// speed and the time left at that speed. In other phases it names the work and how long it has lasted.
func (p *progress) text(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := now.Sub(p.began)
	if p.phase == whole.Reading || p.phase == whole.ReadingAgain {
		return p.phase + ": " + readingText(p.done, p.total, took)
	}
	return doingText(p.phase, took)
}

// doingText says what is done, and for how long already.
func doingText(phase string, took time.Duration) string {
	return fmt.Sprintf("%s: %s so far", phase, took.Round(time.Second))
}

// while runs f, which a signal ends at once: nothing that it does outlives it, so nothing has to be
// put in order. Meanwhile it shows how far f is.
func (p *progress) while(ctx context.Context, f func() error) error {
	return p.showing(ctx, p.text, f)
}

// showing is while, with another text; no line is shown for "".
func (p *progress) showing(ctx context.Context, text func(now time.Time) string, f func() error) error {
	show, clear := p.line()
	done := make(chan error, 1)
	go func() { done <- guarded(f) }()
	beat := time.NewTicker(p.every)
	defer beat.Stop()
	for {
		select {
		case err := <-done:
			clear()
			return err
		case <-ctx.Done():
			clear()
			select {
			case err := <-done: // it ended just then
				return err
			default:
				return exitError{exitInterrupted}
			}
		case now := <-beat.C:
			if line := text(now); line != "" {
				show(line)
			}
		}
	}
}

// line is where the progress is shown. On a terminal all that the command writes comes above it.
func (t *terminal) line() (show func(string), clear func()) {
	if !isTerminal(t.stderr) {
		return func(text string) { t.say("%s", text) }, func() {}
	}
	s := &screen{out: t.stderr}
	t.stderr = above{s, t.stderr}
	if isTerminal(t.stdout) {
		t.stdout = above{s, t.stdout}
	}
	return func(text string) { s.draw([]byte(text + "\n")) }, func() { s.draw(nil) }
}

// readingText says how much is read, how fast, and how long the rest takes at that speed.
func readingText(done, total int64, took time.Duration) string {
	rate := float64(done) / max(took, time.Millisecond).Seconds()
	text := fmt.Sprintf("%.1f MB, %.1f MB/s", float64(done)/1e6, rate/1e6)
	if total > 0 && done > 0 && done < total {
		left := time.Duration(float64(took) * float64(total-done) / float64(done))
		text += fmt.Sprintf(", %.0f%%, about %s left", 100*float64(done)/float64(total), left.Round(time.Second))
	}
	return text
}
