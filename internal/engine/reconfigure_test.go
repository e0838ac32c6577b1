package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// Another configuration takes effect between two steps of a running engine, and is
// recovered from there on; levels that cannot be taken up refuse the whole.
func TestReconfigure(t *testing.T) {
	s := newSettled(t, 1<<40)
	s.options.Gather = time.Millisecond
	if err := s.open(window.Config{LiveCap: 500}); err != nil {
		t.Fatal(err)
	}
	in, done := make(chan ingest.Chunk), make(chan error, 1)
	go func() { done <- s.engine.Run(t.Context(), in, false) }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	in <- record("p", 0, 0, true)
	ask := func(c window.Config) error {
		return s.engine.Reconfigure(ctx, func(string) window.Config { return c }, true)
	}
	go func() { in <- record("p", 1, 0, true) }() // a step that notices; ticks would do
	if err := ask(window.Config{LiveCap: 70, Expect: isolation.Level{Base: isolation.ReadCommitted}}); err != nil {
		t.Fatal(err)
	}
	if err := ask(window.Config{LiveCap: 60, Levels: []isolation.Level{{Special: isolation.Linearizable}}, Unbounded: true}); !errors.Is(err, engine.ErrSettings) {
		t.Errorf("no level with an order: %v", err)
	}
	close(in)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := s.engine.Status().Sources[0].LiveCap; got != 70 {
		t.Errorf("live cap %d", got)
	}
	if err := s.open(window.Config{LiveCap: 70}); err != nil {
		t.Fatal(err)
	}
	if got := s.engine.Status().Sources[0].LiveCap; got != 70 {
		t.Errorf("recovered with live cap %d", got)
	}

	// Nobody makes steps: the caller's patience ends it.
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if err := s.engine.Reconfigure(short, func(string) window.Config { return window.Config{LiveCap: 3} }, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without steps: %v", err)
	}
	s.read(record("p", 2, 0, true))
	if got := s.engine.Status().Sources[0].LiveCap; got != 70 {
		t.Errorf("what was given up took effect: live cap %d", got)
	}
}

// Steps wait for room, and the input waits for them; at the end what was read is
// committed all the same.
func TestRoom(t *testing.T) {
	s := newSettled(t, 1<<40)
	s.options.Gather = time.Millisecond
	waiting := make(chan struct{}, 10)
	room := true
	s.options.Room = func(ctx context.Context) bool {
		waiting <- struct{}{}
		<-ctx.Done()
		return room
	}
	if err := s.open(window.Config{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, done := make(chan ingest.Chunk, 1), make(chan error, 1)
	in <- record("p", 0, 0, true)
	go func() { done <- s.engine.Run(ctx, in, false) }()
	<-waiting
	if got := s.engine.Status().Steps; got != 0 {
		t.Errorf("%d steps without room", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := s.engine.Status().Steps
	if got == 0 {
		t.Error("what was read is not committed at the end")
	}
	room = false
	ctx, cancel = context.WithCancel(t.Context())
	in <- record("p", 1, 0, true)
	go func() { done <- s.engine.Run(ctx, in, false) }()
	<-waiting
	cancel()
	if err := <-done; !errors.Is(err, engine.ErrNoRoom) || s.engine.Status().Steps != got {
		t.Errorf("without any room: %v, %d steps", err, s.engine.Status().Steps)
	}
	if err := s.open(window.Config{}); err != nil || s.engine.Cursors()["p"].Next != 1 {
		t.Errorf("the next life reads on at %+v, %v", s.engine.Cursors(), err)
	}
}
