// Package stdin reads lines from a stream that cannot be read again.
package stdin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/ingest/tail/lines"
)

// Partition is the name of the one partition, unless the source has another.
const Partition = "stdin"

// idleEvery is the pace of CaughtUp chunks while the writer writes nothing.
const idleEvery = 500 * time.Millisecond

// readSize bounds one read: twice the capacity of a pipe.
const readSize = 128 << 10

// Source unpacks input that begins like gzip. It passes on the result of each read as soon as
// it is there. So a slow writer's line only waits for its end, and a fast writer's lines come
// by the hundred. Offsets are line numbers from 1.
type Source struct {
	// Input is read by one goroutine. A read cannot be interrupted: after Run was
	// cancelled, that goroutine lives until its read returns.
	Input io.Reader
	// Identity tells this input from an earlier run's, whose line numbers began at 1 as well.
	// The time of the start will do. A cursor of an earlier run is not resumed from.
	Identity string
	// Name is the partition's name; "": Partition.
	Name string
	// MaxLine is the longest line passed on whole; 0: lines.DefaultMax.
	MaxLine int
}

// piece is the result of one read.
type piece struct {
	messages []ingest.Message
	next     int64
	err      error // of the read, io.EOF at the end
}

// Run implements [ingest.Source]. It returns the input's error, if that is not
// its end, after everything before it was passed on.
func (s *Source) Run(ctx context.Context, _ map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	pieces := make(chan piece)
	go s.read(ctx, pieces)
	idle := time.NewTimer(idleEvery)
	defer idle.Stop()
	next := int64(1)
	for {
		p := piece{next: next}
		waited := false
		idle.Reset(idleEvery)
		select {
		case p = <-pieces:
		case <-idle.C:
			waited = true
		case <-ctx.Done():
			return nil
		}
		next = p.next
		ended := p.err == io.EOF
		if len(p.messages) > 0 || ended || waited {
			c := ingest.Chunk{
				Partition: cmp.Or(s.Name, Partition), Messages: p.messages, CaughtUp: ended || waited, EOF: ended,
				Cursor: ingest.Cursor{Next: p.next, Identity: s.Identity},
			}
			select {
			case out <- c:
			case <-ctx.Done():
				return nil
			}
		}
		if ended {
			return nil
		}
		if p.err != nil {
			return fmt.Errorf("standard input: line %d: %w", p.next, p.err)
		}
	}
}

// read splits the input until it ends or fails.
func (s *Source) read(ctx context.Context, pieces chan<- piece) {
	split := lines.Splitter{Max: s.MaxLine, Numbered: true, Next: 1}
	if split.Max == 0 {
		split.Max = lines.DefaultMax
	}
	input, _, err := lines.Unpack(s.Input)
	if err != nil {
		select {
		case pieces <- piece{next: split.Next, err: err}:
		case <-ctx.Done():
		}
		return
	}
	idle := 0
	for {
		n, err := input.Read(split.Space(readSize))
		p := piece{messages: split.Take(n), err: err}
		if idle++; n > 0 {
			idle = 0
		}
		if err == nil && idle == 100 {
			p.err = io.ErrNoProgress
		}
		if errors.Is(err, io.EOF) {
			p.messages, p.err = append(p.messages, split.End()...), io.EOF
		}
		p.next = split.Next
		select {
		case pieces <- p:
		case <-ctx.Done():
			return
		}
		if p.err != nil {
			return
		}
	}
}
