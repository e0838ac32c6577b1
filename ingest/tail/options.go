// Package tail reads files of lines, as they grow and through their rotation.
//
// Each path is one partition, "file:PATH". Rotation gives the path one file after the other,
// its generations. They are read to their end one after the other, and Cursor.Identity names
// the one that Cursor.Next is a byte of. So a restart needs only one cursor a path. The
// generations before the one it names are done. Those after it have not been begun. Offsets
// start again at 0 when the identity changes.
//
// Files are polled. A notification may come late, merge with others or be
// missing (network file systems), so that a poll is needed beside it anyway.
package tail

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/isowatch/isowatch/ingest/tail/lines"
)

const (
	// DefaultPoll is how long new lines may stay unseen: one stat a path.
	DefaultPoll = 20 * time.Millisecond
	// DefaultLinger is how long a rotated file must stay quiet, while its
	// successor has content, before it counts as complete. Writers with several
	// processes reopen their logs one after the other.
	DefaultLinger = 500 * time.Millisecond

	// readSize bounds one chunk. From 64 KiB to 1 MiB it is the fastest, since buffers that go
	// to the receiver are new each time and should stay in the cache. turn bounds one path's
	// reads before the others have theirs.
	readSize = 128 << 10
	turn     = 8 << 20
	// globEvery is how long a new path may stay unseen.
	globEvery = 200 * time.Millisecond
	// idleEvery is the pace of CaughtUp chunks without messages.
	idleEvery = 500 * time.Millisecond
	// watchLeft is how long a completed file is watched for bytes that come late.
	watchLeft = time.Minute
	// remembered is how many completed files of a path are recognised if they
	// show up again, compressed for example.
	remembered = 16
)

// Options say what to read.
type Options struct {
	// Globs are patterns of [filepath.Match], or plain paths. If a matching file's name is
	// another's with a number or a date behind it (app.log.1, app.log-20261120.gz), it is a
	// generation of that path.
	Globs []string
	// Except are patterns of files that are left to another reader.
	Except []string
	// Follow goes on after the end; otherwise each file is read once to its end.
	Follow bool
	// LineNumbers gives lines from 1 for offsets. Not with Follow.
	LineNumbers bool

	// Unmatched is told which patterns match no file, whenever these are others. nil: nobody is told.
	Unmatched func(patterns []string)

	Poll    time.Duration // 0: DefaultPoll
	Linger  time.Duration // 0: DefaultLinger
	MaxLine int           // bytes; longer lines are cut to one more. 0: lines.DefaultMax

	Logger *slog.Logger // nil: slog.Default()

	idle   time.Duration     // the pace of CaughtUp chunks; 0: idleEvery
	glance func(path string) // called before a name in a folder is looked at or opened, for tests; nil: nothing is called
}

func (o *Options) setDefaults() {
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	if o.Linger == 0 {
		o.Linger = DefaultLinger
	}
	if o.idle == 0 {
		o.idle = idleEvery
	}
	if o.glance == nil {
		o.glance = func(string) {}
	}
	if o.MaxLine == 0 {
		o.MaxLine = lines.DefaultMax
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

func (o *Options) validate() error {
	var faults []error
	if len(o.Globs) == 0 {
		faults = append(faults, errors.New("tail: no files named"))
	}
	for _, g := range o.Globs {
		if g == "" {
			faults = append(faults, errors.New("tail: an empty file name"))
		} else if _, err := filepath.Match(g, ""); err != nil && !exists(g) {
			faults = append(faults, fmt.Errorf("tail: %q is not a pattern: %w", g, err))
		}
	}
	if o.Follow && o.LineNumbers {
		faults = append(faults, errors.New("tail: line numbers are for files that are read once"))
	}
	if o.Poll < 0 || o.Linger < 0 || o.MaxLine < 0 {
		faults = append(faults, fmt.Errorf("tail: negative limit (poll %v, linger %v, line %d)", o.Poll, o.Linger, o.MaxLine))
	}
	return errors.Join(faults...)
}
