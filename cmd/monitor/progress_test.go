package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/whole"
)

func TestReadingText(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		want        string
	}{
		{5e6, 20e6, "5.0 MB, 2.5 MB/s, 25%, about 6s left"}, {5e6, 0, "5.0 MB, 2.5 MB/s"}, {25e6, 20e6, "25.0 MB, 12.5 MB/s"}, {0, 20e6, "0.0 MB, 0.0 MB/s"},
	} {
		if got := readingText(c.done, c.total, 2*time.Second); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.total, got, c.want)
		}
	}
}

// A signal ends a command that reads, whatever it waits for.
func TestSignalEndsReading(t *testing.T) {
	for _, args := range [][]string{{"check", "-"}, {"validate", "-"}, {"convert", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		stdin, never := io.Pipe()
		time.AfterFunc(50*time.Millisecond, cancel)
		var out bytes.Buffer
		term := terminal{stdin: stdin, stdout: &out, stderr: &out, lookupEnv: func(string) (string, bool) { return "", false }}
		if code := run(ctx, args, term); code != exitInterrupted {
			t.Errorf("%v: exit code %d, want %d", args, code, exitInterrupted)
		}
		never.Close()
	}
}

// What is done is told with the time that it takes, and what is read again begins anew.
func TestPhaseText(t *testing.T) {
	p := newProgress(&terminal{stderr: new(bytes.Buffer)}, []string{"-"})
	p.total = 20e6
	p.tell(5e6)
	after := func(d time.Duration) string { return p.text(p.began.Add(d)) }
	for _, c := range []struct {
		phase string
		took  time.Duration
		want  string
	}{
		{"", 2 * time.Second, "reading: 5.0 MB, 2.5 MB/s, 25%, about 6s left"},
		{whole.ReadingAgain, time.Second, "reading again: 0.0 MB, 0.0 MB/s"},
		{"deciding serializable", 75 * time.Second, "deciding serializable: 1m15s so far"},
	} {
		if c.phase != "" {
			p.doing(c.phase)
		}
		if got := after(c.took); got != c.want {
			t.Errorf("%s: %q, want %q", c.phase, got, c.want)
		}
	}
}

// Where there is no terminal, progress is whole lines now and then, as JSON where that is asked for.
func TestProgressWithoutTerminal(t *testing.T) {
	for _, form := range []string{"text", "json"} {
		var out bytes.Buffer
		term := &terminal{stderr: &out, stdout: new(bytes.Buffer)}
		if form == "json" {
			term.asJSON()
		}
		p := newProgress(term, nil)
		if p.every != logged {
			t.Errorf("it is told every %v", p.every)
		}
		p.every = 10 * time.Millisecond
		p.doing("deciding serializable")
		if err := p.while(t.Context(), func() error { time.Sleep(200 * time.Millisecond); return nil }); err != nil {
			t.Fatal(err)
		}
		said := out.String()
		if !strings.Contains(said, "deciding serializable: 0s so far") || strings.Contains(said, "\x1b") || !strings.HasSuffix(said, "\n") {
			t.Errorf("%q", said)
		}
		if form == "json" {
			wantJSON(t, said)
		}
	}
}

// A signal ends what would never end.
func TestSignalEndsAnything(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := newProgress(&terminal{stderr: new(bytes.Buffer)}, nil)
	block := make(chan struct{})
	defer close(block)
	if err := p.while(ctx, func() error { <-block; return nil }); err != (exitError{exitInterrupted}) {
		t.Error(err)
	}
}

// A signal ends a replay too, before its input has ended.
func TestSignalEndsReplay(t *testing.T) {
	mess(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	term := terminal{stdout: &out, stderr: &out, lookupEnv: func(string) (string, bool) { return "", false }}
	if code := run(ctx, []string{"replay", "--file", "good.jsonl"}, term); code != exitInterrupted {
		t.Errorf("exit code %d, want %d:\n%s", code, exitInterrupted, out.String())
	}
}
