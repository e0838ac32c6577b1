package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// paced is an engine that runs, with the number of its commits.
type paced struct {
	*settled
	in      chan ingest.Chunk
	done    chan error
	commits atomic.Int64
	clock   atomic.Int64
	next    int64
	began   time.Time
}

func newPaced(t *testing.T, pace time.Duration, clock int64) *paced {
	t.Helper()
	x := &paced{settled: newSettled(t, 1<<40), in: make(chan ingest.Chunk), done: make(chan error, 1)}
	x.clock.Store(clock)
	x.options.Gather, x.options.Pace = time.Millisecond, pace
	x.options.Committed = func(int) { x.commits.Add(1) }
	x.options.Now = x.clock.Load
	if err := x.open(window.Config{Window: window.For(time.Second), Lateness: window.For(0)}); err != nil {
		t.Fatal(err)
	}
	x.began = time.Now()
	go func() { x.done <- x.engine.Run(context.Background(), x.in, false) }()
	return x
}

func (x *paced) send(records int, caughtUp bool) {
	c := ingest.Chunk{Partition: "p", CaughtUp: caughtUp}
	for range records {
		at := awayEpoch + x.next*1000
		c.Messages = append(c.Messages, ingest.Message{Offset: x.next, Value: fmt.Appendf(nil,
			`{"txn":"%d","start":%d,"end":%d,"status":"committed","ops":[{"op":"w","key":"k","value":%d}]}`, x.next, at, at+1, x.next)})
		x.next++
	}
	c.Cursor.Next = x.next
	x.in <- c
}

// until waits for so many commits, and says that there are no more.
func (x *paced) until(commits int64) {
	x.t.Helper()
	for deadline := time.Now().Add(time.Minute); x.commits.Load() < commits; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("%d commits after a minute, want %d", x.commits.Load(), commits)
		}
	}
	time.Sleep(20 * time.Millisecond)
	if got := x.commits.Load(); got != commits {
		if x.clock.Load() != 0 && time.Since(x.began) > 800*time.Millisecond {
			x.t.Skip("the machine was so slow that the clock, which makes a step a second, made one: nothing can be counted")
		}
		x.t.Fatalf("%d commits, want %d", got, commits)
	}
}

func (x *paced) end() {
	x.t.Helper()
	close(x.in)
	if err := <-x.done; err != nil {
		x.t.Fatal(err)
	}
}

// TestPace: the first record makes a step at once. Few records after it wait for the pace, many do not.
func TestPace(t *testing.T) {
	x := newPaced(t, time.Hour, 0)
	x.send(1, false)
	x.until(1)
	for range 10 {
		x.send(1, false)
	}
	x.until(1)
	x.send(300, false)
	x.until(2)
	x.send(1, false)
	x.until(2)
	x.end()
	if s := x.engine.Status(); s.Steps != 3 || s.Records != 312 {
		t.Errorf("%d steps of %d records, want 3 of 312", s.Steps, s.Records)
	}
	for _, stage := range x.engine.Stages() {
		if stage.Count != 3 || stage.Sum <= 0 || stage.UpTo[5] > 3 {
			t.Errorf("stage %+v, want 3 steps", stage)
		}
	}
}

// TestIdlePartitionMakesFewSteps: what a reader at the end says again makes a step when the machines
// want to hear of it again. A change makes one at once.
func TestIdlePartitionMakesFewSteps(t *testing.T) {
	x := newPaced(t, time.Millisecond, awayEpoch)
	x.send(1, true)
	x.until(1)
	for range 10 {
		x.send(0, true)
	}
	x.until(1)
	x.clock.Add(int64(900 * time.Millisecond))
	x.send(0, true)
	x.until(2)
	x.send(0, true)
	x.until(2)
	x.send(1, false)
	x.until(3)
	x.send(0, true)
	x.until(4)
	x.end()
}
