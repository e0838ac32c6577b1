package engine

import (
	"github.com/isowatch/isowatch/window"
	"log/slog"
	"time"
)

// warnEvery is the least time between two lines of the log about dead letters: an input
// in another format is nothing but dead letters.
const warnEvery = int64(10 * time.Second)

// warnings tell of dead letters where they stand and why, and not what they hold: that
// may be a secret.
type warnings struct {
	said   int64 // tick of the last line; 0: none yet
	untold int   // dead letters since that line
	last   DeadLetter
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
