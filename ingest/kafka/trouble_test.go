package kafka

import (
	"errors"
	"fmt"
	"testing"
	"time"

	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

func TestTroubleIsToldOncePerChange(t *testing.T) {
	login := fmt.Errorf("x: %w", broker.ErrLogin)
	down := func(port int) error {
		return fmt.Errorf("read 127.0.0.1:%d: %w", port, broker.ErrUnreachable)
	}
	for _, c := range []struct {
		name string
		errs []error // one every 400 ms
		told []int   // which of them are told
	}{
		{"short trouble is not told", []error{down(1), down(2), down(3)}, nil},
		{"lasting trouble is told once, whatever its port", []error{down(1), down(2), down(3), down(4), down(5)}, []int{3}},
		{"a refused login is told at once", []error{login, login}, []int{0}},
		{"another cause is told again", []error{down(1), down(2), down(3), down(4), login, login, down(5)}, []int{3, 4, 6}},
		{"codes are causes", []error{kafkago.NotLeaderForPartition, kafkago.NotLeaderForPartition, kafkago.NotLeaderForPartition,
			kafkago.NotLeaderForPartition, kafkago.TopicAuthorizationFailed, kafkago.TopicAuthorizationFailed}, []int{3, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tr trouble
			now := time.Unix(1000, 0)
			var told []int
			for i, err := range c.errs {
				wait, text := tr.fail(err, now)
				if text != "" {
					told = append(told, i)
					if text != err.Error() {
						t.Errorf("told %q for %v", text, err)
					}
				}
				if permanent := errors.Is(err, broker.ErrLogin); permanent != (wait == permanentBackoff) || wait < minBackoff {
					t.Errorf("waits %v after %v", wait, err)
				}
				now = now.Add(400 * time.Millisecond)
			}
			if fmt.Sprint(told) != fmt.Sprint(c.told) {
				t.Errorf("told %v, want %v", told, c.told)
			}
			if tr.mend() != (len(c.told) > 0) {
				t.Errorf("recovery told: %v", len(c.told) == 0)
			}
			if tr.mend() {
				t.Error("recovery told twice")
			}
		})
	}
}

func TestBackoffGrowsToItsLimit(t *testing.T) {
	var tr trouble
	now := time.Unix(1000, 0)
	var got []time.Duration
	for range 5 {
		wait, _ := tr.fail(broker.ErrUnreachable, now)
		got = append(got, wait)
	}
	want := []time.Duration{50, 100, 200, 250, 250}
	for i := range want {
		if got[i] != want[i]*time.Millisecond {
			t.Errorf("waits %v, want %v ms", got, want)
			break
		}
	}
}

func TestHeldIsToldAfterItsPatience(t *testing.T) {
	open := &fetch.ResponsePartition{LastStableOffset: 5, HighWatermark: 8}
	ended := &fetch.ResponsePartition{LastStableOffset: 8, HighWatermark: 8}
	start := time.Unix(1000, 0)
	r := reader{next: 5}
	for _, c := range []struct {
		at   time.Duration
		res  *fetch.ResponsePartition
		held bool
	}{
		{0, open, false},
		{heldPatience - 1, open, false},
		{heldPatience, open, true},
		{heldPatience + time.Second, ended, false},
		{heldPatience + 2*time.Second, open, false}, // another transaction: it counts anew
		{2*heldPatience + 2*time.Second, open, true},
	} {
		err := r.held(c.res, start.Add(c.at))
		if errors.Is(err, errHeld) != c.held {
			t.Errorf("after %v: %v, want held %v", c.at, err, c.held)
		}
	}
	if retriable(errHeld) {
		t.Error("an open transaction makes the reader connect again")
	}
}
