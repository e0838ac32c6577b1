package engine

import (
	"bytes"
	"log/slog"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// warnEvery is the least time between two lines of the log about dead letters: an input
// in another format is nothing but dead letters.
const warnEvery = int64(10 * time.Second)

// warnings tell the position of a dead letter and its fault. They do not tell its content, which may be
// a secret.
type warnings struct {
	said   int64 // tick of the last line; 0: none yet
	untold int   // dead letters since that line
	last   DeadLetter
	doubts doubts
}

// note tells of the first of dead and how many there were since the last line, unless
// that was said just now.
func (x *warnings) note(dead []DeadLetter, tick int64, log *slog.Logger) {
	if len(dead) == 0 {
		return
	}
	if x.said != 0 && tick-x.said < warnEvery {
		x.untold += len(dead)
		x.last = dead[len(dead)-1]
		return
	}
	warnDead(log, &dead[0], x.untold+len(dead))
	x.said, x.untold = max(tick, 1), 0
}

// rest tells of those that no line was written for.
func (x *warnings) rest(log *slog.Logger) {
	if x.untold > 0 {
		warnDead(log, &x.last, x.untold)
		x.untold = 0
	}
}

// warnDead names one of n dead letters.
func warnDead(log *slog.Logger, d *DeadLetter, n int) {
	log.Warn("bad record", "position", d.Position, "reason", d.Reason, "records", n)
}

// warnRepeats tells what to do about a key pattern whose values repeat.
func warnRepeats(log *slog.Logger, source string, r *window.Repeats) {
	if r.ByVersion() {
		return
	}
	log.Warn("values repeat, so they do not show which transaction wrote them. Reads of these keys are not decided. Record a version with each operation (PostgreSQL: xmin)",
		"source", source, "keys", r.Keys(), "why", r.Why, "reads", r.Reads, "decided", r.Decided)
}

// mostNames are the unknown levels that the log names.
const mostNames = 20

// doubts are likely mistakes in records that the log has named: each once.
type doubts struct {
	early    bool // times in another unit than nanoseconds
	known    []byte
	isolated map[string]bool // names of unknown levels
}

// note tells of likely mistakes in the transactions of a step.
func (d *doubts) note(b *event.Batch, log *slog.Logger) {
	for i := range b.Txns {
		t := &b.Txns[i]
		if !d.early && t.Flags&event.HasTimes != 0 {
			if text := window.Early(t.End); text != "" {
				d.early = true
				log.Warn(text+". Until that is mended, delays and pages of these records are wrong", "position", b.Where(t.Pos), "end", t.End)
			}
		}
		name := b.Bytes(t.Isolation)
		if len(name) == 0 || bytes.Equal(name, d.known) || len(d.isolated) >= mostNames || d.isolated[string(name)] {
			continue
		}
		if isolation.IsAsked(name) {
			d.known = append(d.known[:0], name...)
			continue
		}
		if d.isolated == nil {
			d.isolated = map[string]bool{}
		}
		d.isolated[string(name)] = true
		log.Warn("transactions ask for an unknown level: the expected level is taken", "isolation", isolation.Cut(string(name), 60), "position", b.Where(t.Pos))
	}
}
