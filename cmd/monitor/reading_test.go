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

// A file that is read twice shows the second pass by itself, and what is left of it. Among several files, the second pass of
// one is more to read.
func TestSecondPass(t *testing.T) {
	one := &reading{files: 1, total: 20e6, began: time.Now()}
	one.tell(20e6)
	if got, want := one.text(one.allIn.Add(3*time.Second)), "all 20.0 MB are read, and worked on for 3s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	one.again(20e6)
	one.tell(5e6)
	if got, want := one.text(one.began.Add(2*time.Second)), "pass 2 of 2: 5.0 MB, 2.5 MB/s, 25%, about 6s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	two := &reading{files: 2, total: 40e6, began: time.Now()}
	two.tell(20e6)
	two.again(20e6)
	two.tell(10e6)
	if got, want := two.text(two.began.Add(2*time.Second)), "30.0 MB, 15.0 MB/s, 50%, about 2s left"; got != want {
		t.Errorf("%q, want %q", got, want)
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
