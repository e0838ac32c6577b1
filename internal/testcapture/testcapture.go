// Package testcapture keeps what package capture records, prints it as text that a person
// reads, and has the monitor check it.
package testcapture

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/isowatch/isowatch/capture"
)

// Kept is a sink that keeps all records.
type Kept struct {
	recorder *capture.Recorder
	mu       sync.Mutex
	lines    [][]byte
}

// Write implements [capture.Sink].
func (k *Kept) Write(_ context.Context, lines [][]byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range lines {
		k.lines = append(k.lines, append([]byte(nil), l...))
	}
	return nil
}

// Close implements [capture.Sink].
func (k *Kept) Close() error { return nil }

// New makes a recorder with plain values, and what keeps its records.
func New(t testing.TB, options ...capture.Option) (*capture.Recorder, *Kept) {
	t.Helper()
	k := &Kept{}
	r, err := capture.New(k, "default", append([]capture.Option{capture.WithPlainValues()}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	k.recorder = r
	t.Cleanup(func() { r.Close(context.Background()) })
	return r, k
}

// Lines closes the recorder and returns all records.
func (k *Kept) Lines(t testing.TB) [][]byte {
	t.Helper()
	if err := k.recorder.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lines
}

// Text closes the recorder and returns its records as one line each, in the order of their
// beginning: outcome, isolation, session with seq, and the operations. Versions are numbered
// as they appear: "@1" is a version, "<@1" what a write replaced.
func (k *Kept) Text(t testing.TB) string {
	t.Helper()
	p := printer{versions: map[string]int{}, sessions: map[string]int{}}
	var text strings.Builder
	for _, line := range k.Lines(t) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		text.WriteString(p.print(&r))
	}
	return text.String()
}

type record struct {
	Status, Isolation, Session string
	Seq                        int
	Ops                        []op
}

type op struct {
	Op, Key, Kind        string
	Value                json.RawMessage
	Found                *bool
	Version, PrevVersion string
	Prev                 string `json:"prev_version"`
	From, To             string
	Desc                 bool
	Limit                int
	Result               []op
}

type printer struct{ versions, sessions map[string]int }

func (p *printer) print(r *record) string {
	text := r.Status
	if r.Isolation != "" {
		text += " " + r.Isolation
	}
	if r.Session != "" {
		text += fmt.Sprintf(" s%d#%d", number(p.sessions, r.Session), r.Seq)
	}
	for i := range r.Ops {
		text += "; " + p.op(&r.Ops[i])
	}
	return text + "\n"
}

func (p *printer) op(o *op) string {
	text := strings.TrimSpace(strings.TrimPrefix(o.Kind+" ", " ") + o.Op)
	switch {
	case o.Op == "range":
		text += fmt.Sprintf(" %s..%s", o.From, o.To)
		if o.Desc {
			text += " desc"
		}
		if o.Limit > 0 {
			text += fmt.Sprintf(" limit %d", o.Limit)
		}
		for i := range o.Result {
			row := &o.Result[i]
			text += fmt.Sprintf(" %s=%s", row.Key, p.value(row.Value))
			if row.Version != "" {
				text += fmt.Sprintf("@%d", number(p.versions, row.Version))
			}
		}
		return text
	case o.Found != nil && !*o.Found:
		return text + " " + o.Key + " nothing"
	}
	text += " " + o.Key
	if o.Value != nil {
		text += "=" + p.value(o.Value)
	}
	if o.Version != "" {
		text += fmt.Sprintf(" @%d", number(p.versions, o.Version))
	}
	if o.Prev != "" {
		text += fmt.Sprintf(" <@%d", number(p.versions, o.Prev))
	}
	return text
}

// value is a value, or the number of the version that stands for it: a text of digits, or of 26
// letters.
func (p *printer) value(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil || !(strings.Trim(s, "0123456789") == "" || len(s) == 26) {
		return string(raw)
	}
	return fmt.Sprintf("@%d", number(p.versions, s))
}

func number(seen map[string]int, s string) int {
	if seen[s] == 0 {
		seen[s] = len(seen) + 1
	}
	return seen[s]
}

// Check has the monitor, a program that [Monitor] built, check the records, with args. It returns the
// exit code and what is printed.
func Check(t testing.TB, monitor string, lines [][]byte, args ...string) (exit int, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "history.jsonl")
	var text []byte
	for _, l := range lines {
		text = append(append(text, l...), '\n')
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(monitor, append(append([]string{"check"}, args...), file)...)
	printed, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(printed)
}

// Monitor builds the program.
func Monitor(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "monitor")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/isowatch/isowatch/cmd/monitor").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
