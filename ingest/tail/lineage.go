package tail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/isowatch/isowatch/ingest"
)

// lineage is one path with the files that it has named and names.
type lineage struct {
	opts *Options
	path string
	out  chan<- ingest.Chunk

	start   ingest.Cursor   // where to begin, until located
	resumed bool            // there was a cursor, if only the zero one
	older   bool            // the patterns name older files, to read before the path's own, when there was no cursor
	heads   map[string]bool // paths that are read as their own
	began   time.Time       // what rotation makes of the path from then on is read, too
	// retired: the path has turned out to be a name that rotation gives to the
	// files of another path. The file in hand is read to its end, no other.
	retired bool

	located  bool
	moving   bool          // files were renamed while the newest ones were looked for
	gens     []*generation // oldest first; the first one is read, the last one is the path's own, unless that is missing
	cursor   ingest.Cursor // behind the last chunk sent
	gaps     []ingest.Gap  // for the next chunk
	finished []identity    // the last of them
	left     *leftover
	trouble  string
	said     time.Time // when a chunk was sent last
	known    bool      // the receiver has heard of the path, in this run or an earlier one
}

// leftover is a completed file, watched for bytes that come late.
type leftover struct {
	*generation
	until time.Time
}

// poll reads what is there, up to turn bytes, and reports whether there was
// anything.
func (l *lineage) poll(ctx context.Context, now time.Time) (progress bool, err error) {
	l.watch(now)
	err = l.arrange()
	l.moving = errors.Is(err, errMoving)
	if err != nil && !l.moving {
		return false, l.say(ctx, err)
	}
	for budget := turn; budget > 0 && len(l.gens) > 0; {
		g := l.gens[0]
		before := g.at
		messages, atEnd, err := g.read()
		switch {
		case errors.Is(err, errTruncated):
			err := l.truncated(g)
			if errors.Is(err, errMoving) {
				return false, nil
			}
			if err != nil {
				return false, l.say(ctx, err)
			}
			continue
		case err != nil && g.static():
			l.gaps = append(l.gaps, ingest.Gap{From: g.split.Next, To: g.split.Next, Reason: "the rest of a rotated file cannot be read: " + err.Error()})
			l.finish(g, now)
			continue
		case err != nil:
			return false, l.say(ctx, err)
		}
		read := int(g.at - before)
		progress, budget = progress || read > 0, budget-read
		if err := l.send(ctx, g, messages, atEnd, now); err != nil {
			return false, err
		}
		if !atEnd {
			continue
		}
		g.rested(read, now)
		if !l.complete(g, now) {
			break
		}
		if err := l.send(ctx, g, g.split.End(), false, now); err != nil {
			return false, err
		}
		l.finish(g, now)
		progress = true
	}
	if len(l.gens) == 0 && (len(l.gaps) > 0 || l.known && now.Sub(l.said) >= l.opts.idle) {
		gaps := l.gaps
		l.gaps, l.said = nil, now
		if err := l.deliver(ctx, ingest.Chunk{Gaps: gaps, CaughtUp: !l.moving}); err != nil {
			return false, err
		}
	}
	return progress, l.say(ctx, nil)
}

// rested counts the turns without new bytes.
func (g *generation) rested(read int, now time.Time) {
	if read > 0 || g.quiet == 0 {
		g.quiet, g.quietSince = 0, now
	}
	g.quiet++
}

// complete decides that nothing will be written to g any more, whose end has been read. A file
// that grows must have been replaced. And either a third one exists, or the next one has
// content and g has been quiet for Linger.
func (l *lineage) complete(g *generation, now time.Time) bool {
	if g.static() {
		return true
	}
	if l.retired {
		return g.quiet >= 2
	}
	if len(l.gens) == 1 {
		info, err := g.file.Stat()
		return err == nil && unlinked(info) && g.quiet >= 2 && now.Sub(g.quietSince) >= l.opts.Linger && !exists(l.path)
	}
	if len(l.gens) > 2 {
		return g.quiet >= 2
	}
	return l.gens[1].hasContent() && g.quiet >= 2 && now.Sub(g.quietSince) >= l.opts.Linger
}

// finish leaves g, which stays watched for a while.
func (l *lineage) finish(g *generation, now time.Time) {
	l.gens = l.gens[1:]
	if g.id.known() {
		l.finished = append(l.finished, g.id)
		if len(l.finished) > remembered {
			l.finished = l.finished[1:]
		}
	}
	if l.left != nil {
		l.left.close()
	}
	l.left = &leftover{g, now.Add(watchLeft)}
}

// watch finds bytes that were written to a file after it was completed.
func (l *lineage) watch(now time.Time) {
	if l.left == nil {
		return
	}
	info, err := l.left.file.Stat()
	if err == nil && !l.left.static() && info.Size() > l.left.at {
		l.gaps = append(l.gaps, ingest.Gap{
			From: l.left.at, To: info.Size(),
			Reason: fmt.Sprintf("written to %s after it had been rotated away and read to its end", l.left.path),
		})
		l.left.at = info.Size()
	}
	if now.After(l.left.until) {
		l.left.close()
		l.left = nil
	}
}

// send passes messages of g on. Without any it says, at the pace of idleEvery,
// that the path's end is reached.
func (l *lineage) send(ctx context.Context, g *generation, messages []ingest.Message, atEnd bool, now time.Time) error {
	caughtUp := atEnd && !l.moving && !slices.ContainsFunc(l.gens[1:], (*generation).hasContent)
	gaps := append(l.gaps, g.gaps...)
	if len(messages) == 0 && len(gaps) == 0 && !(caughtUp && now.Sub(l.said) >= l.opts.idle) {
		return nil
	}
	l.gaps, g.gaps = nil, nil
	if g.id.known() || l.cursor.Identity == "" {
		// Until g has a line, the cursor stays at the end of the file before: there
		// a restart finds out which files came next.
		l.cursor = g.cursor()
	}
	l.said = now
	return l.deliver(ctx, ingest.Chunk{Messages: messages, Gaps: gaps, CaughtUp: caughtUp})
}

func (l *lineage) deliver(ctx context.Context, c ingest.Chunk) error {
	c.Partition, c.Cursor = "file:"+l.path, l.cursor
	l.known = true
	select {
	case l.out <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// say sends a change of trouble on; nil: there is none.
func (l *lineage) say(ctx context.Context, err error) error {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == l.trouble {
		return nil
	}
	l.trouble = text
	return l.deliver(ctx, ingest.Chunk{Problem: text})
}

func (l *lineage) closeFiles() {
	for _, g := range l.gens {
		g.close()
	}
	l.gens = nil
}

func (l *lineage) close() {
	l.closeFiles()
	if l.left != nil {
		l.left.close()
	}
}
