package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
)

// jsonLines writes everything as lines of a JSON log: one for each write. A line that is JSON
// already stays as it is.
type jsonLines struct{ to io.Writer }

func (w jsonLines) Write(p []byte) (int, error) {
	if json.Valid(p) {
		return w.to.Write(p)
	}
	text, level := strings.TrimSpace(string(p)), slog.LevelInfo
	if rest, ok := strings.CutPrefix(text, "monitor: "); ok {
		text, level = strings.TrimPrefix(rest, "warning: "), slog.LevelWarn
	}
	if text != "" {
		w.log(level, text)
	}
	return len(p), nil
}

func (w jsonLines) log(level slog.Level, text string) {
	slog.New(slog.NewJSONHandler(w.to, nil)).Log(context.Background(), level, text)
}

// asksForJSON says whether a command line, or the environment, wants the log as JSON. It is asked
// before the command line is understood: what is wrong with that is to be JSON too.
func asksForJSON(args []string, lookup func(string) (string, bool)) bool {
	const flag = "--log-format"
	format, _ := lookup(variableOf(flag[2:]))
	for i, a := range args {
		if a == "--" {
			break // the rest are arguments
		}
		if value, ok := strings.CutPrefix(a, flag+"="); ok {
			format = value
		} else if a == flag && i+1 < len(args) {
			format = args[i+1]
		}
	}
	return format == "json"
}

// asJSON has everything on standard error written as JSON.
func (t *terminal) asJSON() {
	if _, ok := t.stderr.(jsonLines); !ok {
		t.stderr = jsonLines{t.stderr}
	}
}

// fail tells why the command failed.
func (t *terminal) fail(err error) {
	text := plainText(err)
	if what := remedy(text); what != "" {
		text += "\n" + what
	}
	if _, ok := t.stderr.(jsonLines); ok {
		t.fault(text)
		return
	}
	t.say("monitor: %s", printableLines(text))
}

// fault tells what is wrong with what the user gave: lines of text, or one error each as JSON.
func (t *terminal) fault(text string) {
	if w, ok := t.stderr.(jsonLines); ok {
		w.log(slog.LevelError, text)
		return
	}
	t.say("%s", text)
}
