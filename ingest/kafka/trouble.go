package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	kafkago "github.com/segmentio/kafka-go"
)

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 250 * time.Millisecond
	// permanentBackoff is for what a person has to mend: a refused login counts
	// against the account.
	permanentBackoff = 5 * time.Second
	// patience is how long a partition may fail before that is told: a leader election or a
	// restart of a client connection is not news.
	patience = time.Second
)

// trouble is a row of failures.
type trouble struct {
	since   time.Time // of the first one; zero: none
	backoff time.Duration
	told    error // what the receiver was told last; nil: nothing
}

// fail counts a failure and returns how long to wait, and the text to tell,
// if it is time for one.
func (t *trouble) fail(err error, now time.Time) (wait time.Duration, tell string) {
	if t.since.IsZero() {
		t.since = now
	}
	permanent := broker.Permanent(err)
	t.backoff = min(max(2*t.backoff, minBackoff), maxBackoff)
	wait = t.backoff
	if permanent {
		wait = permanentBackoff
	}
	if alike(err, t.told) || !permanent && now.Sub(t.since) < patience {
		return wait, ""
	}
	t.told = err
	return wait, err.Error()
}

// alike tells whether two failures are the same news. Texts do not tell it:
// they hold the local port of each try.
func alike(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	for _, cause := range []error{broker.ErrLogin, broker.ErrTLS, broker.ErrUnreachable, errHeld} {
		if errors.Is(a, cause) || errors.Is(b, cause) {
			return errors.Is(a, cause) && errors.Is(b, cause)
		}
	}
	var codeA, codeB kafkago.Error
	if errors.As(a, &codeA) && errors.As(b, &codeB) {
		return codeA == codeB
	}
	return a.Error() == b.Error()
}

// mend ends the row and tells whether the receiver must hear of it.
func (t *trouble) mend() (tell bool) {
	tell = t.told != nil
	*t = trouble{}
	return tell
}

// failed tells of err when it is time, and waits.
func (r *reader) failed(ctx context.Context, err error) {
	wait, tell := r.trouble.fail(err, time.Now())
	if tell != "" {
		r.logger.Warn("cannot read", "partition", r.name, "err", tell)
		if r.send(ctx, ingest.Chunk{Problem: tell}) != nil {
			return
		}
	}
	pause(ctx, wait)
}

func (r *reader) recovered(ctx context.Context) {
	if r.trouble.mend() {
		r.logger.Info("reads again", "partition", r.name, "next", r.next)
		_ = r.send(ctx, ingest.Chunk{}) // fails only when ctx ends
	}
}

// pause waits for d or for ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
