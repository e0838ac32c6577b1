package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/ingest"
)

// scripted is a source that sends chunks and then ends, fails or waits.
type scripted struct {
	chunks []ingest.Chunk
	err    error
	wait   bool // for ctx, after the chunks
	sent   chan struct{}
	from   map[string]ingest.Cursor
}

func (s *scripted) Run(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	s.from = from
	for _, c := range s.chunks {
		select {
		case out <- c:
		case <-ctx.Done():
			return nil
		}
	}
	if s.sent != nil {
		close(s.sent)
	}
	if s.wait {
		<-ctx.Done()
	}
	return s.err
}

func inputOf(source ingest.Source, log *slog.Logger) *input {
	return &input{name: "in", source: source, log: log, troubles: map[string]string{}, behind: map[string]bool{}, lag: map[string]int64{}}
}

func records(partition string, next int64, lines ...string) ingest.Chunk {
	c := ingest.Chunk{Partition: partition}
	for _, line := range lines {
		c.Messages = append(c.Messages, ingest.Message{Offset: next, Time: next * 1e9, Value: []byte(line)})
		next++
	}
	c.Cursor = ingest.Cursor{Next: next}
	return c
}

func TestInputHealth(t *testing.T) {
	var log strings.Builder
	i := inputOf(nil, slog.New(slog.NewTextHandler(&log, nil)))
	for _, step := range []struct {
		chunk        ingest.Chunk
		up, caughtUp bool
		logged       string // "" for nothing
	}{
		{ingest.Chunk{Partition: "p/0", Problem: "no answer"}, false, false, "cannot read"},
		{records("p/0", 5, "x"), true, false, "reads again"},
		{ingest.Chunk{Partition: "p/0", CaughtUp: true}, true, true, ""},
		{ingest.Chunk{Partition: "p/0", Problem: "gone"}, false, true, "cannot read"},
		{ingest.Chunk{Partition: "p/0", Problem: "gone"}, false, true, ""},
		{ingest.Chunk{Partition: "p/1", Problem: "refused"}, false, true, "refused"},
		{ingest.Chunk{Partition: "p/0"}, false, true, "reads again"},
		{records("p/1", 7, "x"), true, false, "reads again"},
		{ingest.Chunk{Partition: "p/1", EOF: true}, true, true, ""},
	} {
		log.Reset()
		i.note(&step.chunk)
		h := i.health()
		if h.up != step.up || h.caughtUp != step.caughtUp {
			t.Errorf("after %+v: up %v, caught up %v", step.chunk, h.up, h.caughtUp)
		}
		if got := log.String(); (step.logged == "") != (got == "") || !strings.Contains(got, step.logged) {
			t.Errorf("after %+v: logged %q, want %q", step.chunk, got, step.logged)
		}
	}
	if h := i.health(); h.lastTime != 7e9 {
		t.Errorf("latest record of %d", h.lastTime)
	}
}

func TestInputPassesAllOn(t *testing.T) {
	source := &scripted{chunks: []ingest.Chunk{
		records("p", 0, "a"), {Partition: "p", Problem: "trouble"}, {Partition: "p"},
		{Partition: "p", Gaps: []ingest.Gap{{From: 1, To: 2}}}, records("p", 2, "b"), records("p", 3, "c"), records("p", 4, "d"),
	}}
	out := make(chan ingest.Chunk, len(source.chunks))
	from := map[string]ingest.Cursor{"p": {Next: 9}}
	if err := inputOf(source, slog.New(slog.DiscardHandler)).run(t.Context(), from, out, nil); err != nil {
		t.Fatal(err)
	}
	close(out)
	n := 0
	for range out {
		n++
	}
	if want := len(source.chunks); n != want {
		t.Errorf("%d chunks passed on, want %d", n, want)
	}
	source.from["p"] = ingest.Cursor{}
	if from["p"].Next != 9 {
		t.Error("sources share a map of cursors")
	}
}

// A reader that has ended must not hold the input.
func TestInputEndsWithItsReader(t *testing.T) {
	source := &scripted{chunks: []ingest.Chunk{records("p", 0, "a"), records("p", 1, "b")}}
	done := make(chan struct{})
	close(done)
	if err := inputOf(source, slog.New(slog.DiscardHandler)).run(t.Context(), nil, make(chan ingest.Chunk), done); err != nil {
		t.Fatal(err)
	}
}

func TestInputErrors(t *testing.T) {
	bad := errors.New("refused")
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want error
	}{
		{"ended", t.Context(), nil, nil},
		{"failed", t.Context(), bad, bad},
		{"stopped", stopped, context.Canceled, nil},
	} {
		err := inputOf(&scripted{err: c.err}, slog.New(slog.DiscardHandler)).run(c.ctx, nil, make(chan ingest.Chunk), nil)
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
