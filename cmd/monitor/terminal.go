package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/isowatch/isowatch/internal/app"
)

// terminal has the input, output and environment of the process.
type terminal struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	environ        func() []string // NAME=VALUE
	undo           *undoing        // nil: nothing is undone at a second signal
	noted          map[string]bool // notes on names of levels that were told
	linger         time.Duration   // lingerWait, but in tests
	hook           app.Hook        // for tests
	public         func()          // files are made for others too from now on; nil: they are anyway
	unread         error           // what is wrong with the environment, for commands with --config
}

// colors says whether output to people is coloured: on a terminal, unless
// NO_COLOR is set to anything (no-color.org).
func (t *terminal) colors() bool {
	if v, _ := t.lookupEnv("NO_COLOR"); v != "" {
		return false
	}
	return isTerminal(t.stdout)
}

func isTerminal(w io.Writer) bool {
	if a, ok := w.(above); ok {
		w = a.to
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a character device that nobody reads
	return err != nil || !os.SameFile(info, null)
}

// say writes a line of progress to standard error.
func (t *terminal) say(format string, args ...any) {
	fmt.Fprintf(t.stderr, format+"\n", args...)
}

// logger logs to standard error, as text or as JSON.
func (t *terminal) logger(level, format string) (*slog.Logger, error) {
	var min slog.Level
	if err := min.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level %q: want debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: min}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(t.stderr, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(t.stderr, o)), nil
	}
	return nil, usagef("--log-format %q: want text or json", format)
}
