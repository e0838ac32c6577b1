package tail

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/ingest"
)

// Source reads the files that patterns name.
type Source struct{ opts Options }

// New checks o. Files need not exist yet if they are followed.
func New(o Options) (*Source, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Source{opts: o}, nil
}

// Run implements [ingest.Source].
func (s *Source) Run(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	err := s.run(ctx, from, out)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

func (s *Source) run(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	if !s.opts.Follow {
		return s.once(ctx, from, out)
	}
	f := &following{Source: s, out: out, from: from, known: map[string]bool{}}
	defer f.close()
	for partition := range from {
		if path, ok := strings.CutPrefix(partition, "file:"); ok && Matches(s.opts.Globs, path) && !Matches(s.opts.Except, path) {
			f.follow(path, false, time.Time{})
		}
	}
	// A path without wildcards is looked at in each round from now on. Times of
	// files come from a clock that goes in steps of up to 10 ms.
	now := time.Now()
	for _, g := range s.opts.Globs {
		if !exists(g) && !strings.ContainsAny(g, `*?[\`) && !Matches(f.opts.Except, g) {
			f.follow(filepath.Clean(g), false, now.Add(-10*time.Millisecond))
		}
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		progress, err := f.round(ctx, time.Now())
		if err != nil {
			return err
		}
		wait := s.opts.Poll
		if progress {
			wait = 0
		}
		pause.Reset(wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// following is one run that goes on after the files' ends.
type following struct {
	*Source
	out      chan<- ingest.Chunk
	from     map[string]ingest.Cursor
	lineages []*lineage
	known    map[string]bool // their paths
	looked   time.Time       // for new paths, last
	without  []string        // patterns that matched no file then
}

// round gives each path its turn.
func (f *following) round(ctx context.Context, now time.Time) (progress bool, err error) {
	if f.looked.IsZero() || now.Sub(f.looked) >= globEvery {
		began := f.looked
		if f.looked = now; began.IsZero() {
			began = now
		}
		m, err := find(f.opts.Globs, f.opts.Except, f.known)
		if err != nil {
			return false, err
		}
		f.tell(m.without)
		for _, path := range m.heads {
			f.follow(path, len(m.older[path]) > 0, began)
		}
	}
	for _, l := range f.lineages {
		p, err := l.poll(ctx, now)
		if err != nil {
			return false, err
		}
		progress = progress || p
	}
	return progress, nil
}

// tell logs which patterns match no file, each once until one matches: a name that is
// wrong looks like a stream that is silent.
func (f *following) tell(without []string) {
	for _, g := range without {
		if !slices.Contains(f.without, g) {
			f.opts.Logger.Warn("no file matches the pattern; files that do will be read from their beginning", "pattern", g)
		}
	}
	for _, g := range f.without {
		if !slices.Contains(without, g) {
			f.opts.Logger.Info("a file matches the pattern now", "pattern", g)
		}
	}
	if f.opts.Unmatched != nil && !slices.Equal(f.without, without) {
		f.opts.Unmatched(slices.Clone(without))
	}
	f.without = without
}

// follow begins with a path, unless it is known. Files that it named from began
// on are its generations.
func (f *following) follow(path string, older bool, began time.Time) {
	if f.known[path] {
		return
	}
	f.known[path] = true
	cursor, resumed := f.from["file:"+path]
	l := &lineage{opts: &f.opts, path: path, out: f.out, start: cursor, cursor: cursor, resumed: resumed, known: resumed, older: older, heads: f.known, began: began}
	for _, other := range f.lineages {
		if _, ok := headOf(path, []string{other.path}); ok {
			l.retired = true
		}
		if _, ok := headOf(other.path, []string{path}); ok {
			other.retired = true
		}
	}
	f.lineages = append(f.lineages, l)
}

func (f *following) close() {
	for _, l := range f.lineages {
		l.close()
	}
}

// once reads each file to its end, rotated ones before the file that they were
// rotated from, oldest first. Each is a partition of its own.
func (s *Source) once(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	m, err := find(s.opts.Globs, s.opts.Except, nil)
	if err != nil {
		return err
	}
	if len(m.without) > 0 {
		return fmt.Errorf("tail: no file at %s", strings.Join(m.without, ", "))
	}
	for _, head := range m.heads {
		for _, path := range append(byAge(m.older[head]), head) {
			if err := s.whole(ctx, path, from["file:"+path], out); err != nil {
				return err
			}
		}
	}
	return nil
}

// whole reads one file from the cursor to its end.
func (s *Source) whole(ctx context.Context, path string, from ingest.Cursor, out chan<- ingest.Chunk) error {
	next := from.Next
	if s.opts.LineNumbers {
		next = 1
	}
	g, err := open(path, &s.opts, next)
	if err != nil {
		return fmt.Errorf("tail: %w", err)
	}
	defer g.close()
	for atEnd := false; !atEnd; {
		c := ingest.Chunk{Partition: "file:" + path}
		if c.Messages, atEnd, err = g.read(); err != nil {
			return fmt.Errorf("tail: %s: %w", path, err)
		}
		if atEnd {
			c.Messages = append(c.Messages, g.split.End()...)
			c.EOF, c.CaughtUp = true, true
		}
		for s.opts.LineNumbers && len(c.Messages) > 0 && c.Messages[0].Offset < from.Next {
			c.Messages = c.Messages[1:]
		}
		c.Cursor = g.cursor()
		select {
		case out <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
