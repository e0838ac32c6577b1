package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
)

// watching is a service over a folder that follows a file in it, at a time of its own.
func watching(t *testing.T, dir string, now func() time.Time) *App {
	t.Helper()
	return startedWith(t, watched(dir), now)
}

func watched(dir string) config.Service {
	s := config.DefaultService()
	s.Data, s.HTTP.Address, s.Inputs = dir, "127.0.0.1:0", []config.Input{{Tail: []string{filepath.Join(dir, "*.jsonl")}}}
	s.SelfTest = 0
	return s
}

func startedWith(t *testing.T, s config.Service, now func() time.Time) *App {
	t.Helper()
	a, err := New(Options{Config: s, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

// The time between the last step and the next start is told beside what ran then, and nowhere else.
func TestRestartIsToldBeside(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	line := `{"txn":"T1","status":"committed","start":1,"end":2,"ops":[]}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "log.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	a := watching(t, dir, func() time.Time { return at })
	waitFor(t, "the record", func() bool { s := a.Status().Sources; return len(s) == 1 && s[0].Counters.Committed == 1 })
	if marks := a.incidentsBeside("default", at.Add(-time.Hour), at.Add(time.Hour)); len(marks) != 0 {
		t.Errorf("before a restart: %v", marks)
	}
	if err := a.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	later := at.Add(10 * time.Minute)
	a = watching(t, dir, func() time.Time { return later })
	defer a.Stop(context.Background())
	for from, want := range map[time.Duration]int{-2 * time.Minute: 0, -time.Second: 1, 5 * time.Minute: 1, 11 * time.Minute: 0} {
		marks := a.incidentsBeside("default", at.Add(from), at.Add(from+time.Minute))
		if len(marks) != want || want == 1 && (marks[0].Name != "the monitor did not run" || marks[0].Start != stamp(at) || marks[0].End != stamp(later)) {
			t.Errorf("at %v: %v, want %d", from, marks, want)
		}
	}
}

// A source that only records name tells other levels too, whether a reload or a start brings them.
func TestOtherLevelsAreToldBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	line := `{"txn":"T1","source":"raw","status":"committed","start":1,"end":2,"ops":[]}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "log.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	told := func(a *App) (told []string) {
		for _, m := range a.incidentsBeside("raw", at, at.Add(time.Second)) {
			told = append(told, m.Name+": "+m.Text)
		}
		return told
	}
	expecting := func(s *config.Service, base isolation.Base) {
		s.Watch.Expect, s.Watch.Levels = isolation.Level{Base: base}, []isolation.Level{{Base: base}}
	}
	a := watching(t, dir, now)
	waitFor(t, "the record", func() bool { s := a.Status().Sources; return len(s) == 1 && s[0].Counters.Committed == 1 })
	next := *a.current.Load()
	expecting(&next, isolation.SnapshotIsolation)
	if err := a.Reload(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if got, want := told(a), []string{"other levels: expected snapshot-isolation, watched snapshot-isolation"}; !slices.Equal(got, want) {
		t.Errorf("after a reload: %q, want %q", got, want)
	}
	if err := a.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	at = at.Add(10 * time.Minute)
	s := watched(dir)
	expecting(&s, isolation.ReadCommitted)
	a = startedWith(t, s, now)
	defer a.Stop(context.Background())
	if got, want := told(a), []string{"the monitor did not run: ", "other levels: expected read-committed, watched read-committed"}; !slices.Equal(got, want) {
		t.Errorf("after a start: %q, want %q", got, want)
	}
}

// Incidents of one instant are all kept, and old ones go.
func TestIncidentsAreBounded(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	a := watching(t, t.TempDir(), func() time.Time { return at })
	defer a.Stop(context.Background())
	for range 20 {
		a.note(&incident{Mark: finding.Mark{Name: "x", Start: stamp(at)}}, at)
	}
	if n := len(a.incidentsBeside("s", at.Add(-time.Minute), at.Add(time.Minute))); n != maxBeside {
		t.Errorf("%d shown", n)
	}
	a.note(&incident{Mark: finding.Mark{Name: "y", Start: stamp(at)}}, at.Add(keepIncidents+time.Hour))
	if n := len(a.incidentsBeside("s", at.Add(-time.Minute), at.Add(time.Minute))); n != 0 {
		t.Errorf("%d are kept", n)
	}
}
