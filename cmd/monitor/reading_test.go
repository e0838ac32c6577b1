package main

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"
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
