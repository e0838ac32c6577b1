package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
)

// watching is a service over a folder that follows a file in it, at a time of its own.
func watching(t *testing.T, dir string, now func() time.Time) *App {
	t.Helper()
	s := config.DefaultService()
	s.Data, s.HTTP.Address, s.Inputs = dir, "127.0.0.1:0", []config.Input{{Tail: []string{filepath.Join(dir, "*.jsonl")}}}
	s.SelfTest = 0
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
	next := *a.current.Load()
	next.Watch.Expect, next.Watch.Levels = isolation.Level{Base: isolation.SnapshotIsolation}, []isolation.Level{{Base: isolation.SnapshotIsolation}}
	a.noteLevels(a.current.Load(), &next)
	told := ""
	for _, m := range a.incidentsBeside("default", later, later.Add(time.Second)) {
		told += m.Name + ": " + m.Text + "; "
	}
	if !strings.Contains(told, "other levels: expected snapshot-isolation, watched snapshot-isolation") {
		t.Errorf("%q", told)
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
