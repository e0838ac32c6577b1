package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/group"
)

// lookAtLease logs once if this member could not count on its lease at two looks in a row. Its renewals
// may still arrive. Then nobody takes its units, and their findings wait.
func (g *Group) lookAtLease() {
	if g.member.Left() > 0 {
		if g.leaseless > 1 {
			g.log.Info("this member has its lease again: findings of its units are delivered once their state is written")
		}
		g.leaseless = 0
		return
	}
	if g.leaseless++; g.leaseless == 2 && !g.member.HasLeft() {
		g.log.Warn(storeFault(g.member.Fault())+". This member does not know whether it has its lease, and delivers nothing until then", "state", config.ShownState(g.config.Group.State))
	}
}

// storeFault says what the store of a group answers in place of an answer, and what to do.
func storeFault(err error) string {
	switch {
	case err == nil:
		return "the group's store answers late: look at its load, or give the members a longer --group-lease"
	case errors.Is(err, context.DeadlineExceeded):
		return "the group's store does not answer: check that its servers run, and the network to them"
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, nats.ErrStreamNotFound), errors.Is(err, jetstream.ErrBucketNotFound):
		return fmt.Sprintf("the group's store has answered %q: its bucket is gone. Members make it again, if the rights of their login allow that", err)
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return fmt.Sprintf("the group's store has answered %q: its bucket has no leader, or its bucket is gone. Look at it with nats kv ls", err)
	}
	return fmt.Sprintf("the group's store has answered %q: look at its servers and at the rights of this login", err)
}

// note remembers for how long this member did not look. It looks four times in a lease.
func (w *unwatched) note(now time.Time, lease time.Duration) {
	if still := now.Round(0).Sub(w.looked.Round(0)); !w.looked.IsZero() && still > lease { // by the wall clock: the other one may stand still
		w.paused, w.pausedAt = still, now
	} else if now.Sub(w.pausedAt) > 2*lease {
		w.paused = 0
	}
	w.looked = now
}

// whyEnded says why the lease of this member is over, as far as it knows.
func (w *unwatched) whyEnded(now time.Time, lease time.Duration, fault error) string {
	w.note(now, lease)
	switch {
	case w.paused > 0:
		return fmt.Sprintf("the lease is over: this process stood still for %s", w.paused.Round(time.Millisecond))
	case fault != nil:
		return "the lease is over: " + storeFault(fault)
	}
	return "the lease is over: its renewals did not reach the group's store in time, or its record there was removed"
}

// leaseIsOver names the member whose life has ended without a word.
func leaseIsOver(life, self string) string {
	if id := group.IDOf(life); id != self {
		return id + "'s lease is over"
	}
	return "the lease of this member's life before is over"
}
