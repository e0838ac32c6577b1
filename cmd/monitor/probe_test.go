package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/sqlite"
	"github.com/isowatch/isowatch/probe/target"
)

// stale is a database whose sessions see each register as they first saw it.
type stale struct{ *sqlite.Epoch }

func (d stale) Open(ctx context.Context) (probe.Session, error) {
	s, err := d.Epoch.Open(ctx)
	return &staleSession{s, map[string]event.RecordOp{}}, err
}

type staleSession struct {
	probe.Session
	seen map[string]event.RecordOp
}

func (s *staleSession) Do(ctx context.Context, op *probe.Op) error {
	err := s.Session.Do(ctx, op)
	if err != nil || op.Kind != event.Read {
		return err
	}
	if first, ok := s.seen[op.Key]; ok {
		op.RecordOp = first
	}
	s.seen[op.Key] = op.RecordOp
	return nil
}

// A database that answers with what was there long ago is found out.
func TestProbeOfStaleDatabase(t *testing.T) {
	t.Parallel()
	db, err := sqlite.OpenEpoch(t.Context(), filepath.Join(t.TempDir(), "x.db"), "e1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p := newProbe()
	p.output = "jsonl"
	p.options = probe.Options{Source: probeSource, Epoch: "e1", Sessions: 4, Keys: 4, Seed: 1, Duration: time.Second, Rate: 500}
	p.service.Data = t.TempDir()
	if err := p.place(); err != nil {
		t.Fatal(err)
	}
	work, err := probe.ByName("mix")
	if err != nil {
		t.Fatal(err)
	}
	first, err := probe.Fill(t.Context(), stale{db}, work, p.options)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	term := &terminal{stdout: &stdout, stderr: &stderr, lookupEnv: func(string) (string, bool) { return "", false }}
	err = p.watch(t.Context(), term, &begun{&p.generator, &target.Target{Database: stale{db}}, work, first})
	if code, _ := codeOf(err); code != exitViolated || !strings.Contains(stdout.String(), `"kind":"violation"`) {
		t.Errorf("exit code %d (%v), want %d\n%s\n%s", code, err, exitViolated, stdout.String(), stderr.String())
	}
}
