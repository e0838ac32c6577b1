package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// forged is a text of a record that would look like lines of ours, if it were printed as it is.
func forged(name string) string {
	return name + "\nFORGED " + name + "\r\nFORGED: serializable  ok\x1b[31mFORGED\x00\x07\x7f\u0085\u2028FORGED\u2029FORGED\u202eFORGED\u200b"
}

// hostileRecords have such a text wherever a record may have one. They hold a lost update, write skew, an
// unread write, a record that contradicts another, a mark, and some that cannot be read.
func hostileRecords() string {
	var out strings.Builder
	add := func(id, status string, ops ...map[string]any) {
		record := map[string]any{
			"txn": forged(id), "session": forged("s" + id), "epoch": forged("e"), "name": forged("n"), "trace_id": forged("t"), "source": forged("source"),
			"status": status, "labels": map[string]string{forged("l"): forged("v")}, "ops": ops,
		}
		text, err := json.Marshal(record)
		if err != nil {
			panic(err)
		}
		out.Write(append(text, '\n'))
	}
	op := func(kind, key string, more ...any) map[string]any {
		m := map[string]any{"op": kind, "key": forged(key)}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	add("1", "committed", op("w", "x", "value", forged("1")))
	add("2", "committed", op("r", "x", "value", forged("1")), op("w", "x", "value", forged("2")))
	add("3", "committed", op("r", "x", "value", forged("1")), op("w", "x", "value", forged("3")))
	add("4", "committed", op("r", "y", "found", false), op("w", "z", "value", forged("4")))
	add("5", "committed", op("r", "z", "found", false), op("w", "y", "value", forged("5")))
	add("6", "aborted", op("w", "a", "value", forged("6")))
	add("7", "committed", op("r", "a", "value", forged("6")))
	add("8", "committed", op("append", "l", "value", forged("8")))
	add("9", "committed", op("r", "l", "value", []string{forged("9"), forged("8")}))
	add("10", "committed", op("r", "q", "value", forged("nobody")))
	add("1", "committed", op("w", "x", "value", forged("other")))
	out.WriteString(`{"txn":"` + `\nFORGED","status":"FORGED\nFORGED\u001b","ops":[]}` + "\n")
	out.WriteString("FORGED no record\x1b[31m\r\x00\n")
	out.WriteString(`{"FORGED\n\u001b":1}` + "\n")
	return out.String()
}

// isClean: no control or formatting characters but line ends, and no line that begins with the forged text. JSON
// and EDN are data: they may hold characters from U+007F on.
func isClean(text string, data bool) error {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " -*>#\t|"), "FORGED") {
			return fmt.Errorf("a line of a record: %q", line)
		}
		for _, r := range strings.TrimSuffix(line, "\n") {
			if data && r >= 0x7f {
				continue
			}
			if unicode.Is(unicode.C, r) || unicode.In(r, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar {
				return fmt.Errorf("%q in %.300q", r, line)
			}
		}
	}
	return nil
}

// TestHostileRecords: no output of any command holds a control character of a record, and no line of it
// looks like one of ours.
func TestHostileRecords(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"h.jsonl", "a\nFORGED\x1b[31mFORGED.jsonl"} {
		if err := os.WriteFile(name, []byte(hostileRecords()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hostile := func(args ...string) (out string) {
		t.Helper()
		var stdout, stderr lockedBuffer // goroutines log too
		run(t.Context(), args, terminal{
			stdin: strings.NewReader(hostileRecords()), stdout: &stdout, stderr: &stderr,
			lookupEnv: func(string) (string, bool) { return "", false }, environ: func() []string { return nil },
		})
		line := strings.Join(args, " ") + " "
		data := strings.Contains(line, "-o jsonl ") || strings.Contains(line, "-o history ") || args[0] == "convert"
		if err := isClean(stdout.String(), data); err != nil {
			t.Errorf("%q, output: %v", args, err)
		}
		if err := isClean(stderr.String(), strings.Contains(line, "--log-format json ")); err != nil {
			t.Errorf("%q, errors: %v", args, err)
		}
		if stdout.Len()+stderr.Len() == 0 {
			t.Errorf("%q prints nothing", args)
		}
		return stdout.String()
	}
	const contract = "capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique"
	for _, file := range []string{"h.jsonl", "a\nFORGED\x1b[31mFORGED.jsonl"} {
		for _, output := range []string{"text", "jsonl", "junit"} {
			for _, form := range []string{"text", "json"} {
				out := hostile("check", "-o", output, "--log-format", form, "--contract", contract, file)
				if output == "text" && !strings.Contains(out, "lost update") {
					t.Errorf("no lost update is found:\n%s", out)
				}
				if output == "junit" {
					isXML(t, out)
				}
				hostile("replay", "-o", output, "--log-format", form, "--contract", contract, "--file", file)
			}
		}
		hostile("validate", file)
		for _, to := range []string{"jsonl", "edn", "polysi", "dbcop"} {
			hostile("convert", "--to", to, file)
		}
	}
	for _, output := range []string{"text", "jsonl", "log"} {
		for _, form := range []string{"text", "json"} {
			hostile("run", "--stdin", "--http", "off", "-o", output, "--log-format", form, "--contract", contract, "--data", "d-"+output+form)
		}
	}
	hostile("findings", "--data", "d-texttext")
	hostile("findings", "--data", "d-texttext", "--dead-letters")
	hostile("findings", "--data", "d-texttext", "--panes")
	drawn := 0
	for line := range strings.Lines(hostile("findings", "--data", "d-texttext", "-o", "jsonl")) {
		var f struct {
			ID    string
			Txns  []string
			Edges []struct{ From, Key string }
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		if len(f.Txns) == 0 {
			continue
		}
		drawn++
		if !strings.Contains(f.Txns[0], "\nFORGED") || len(f.Edges) > 0 && (f.Edges[0].From != f.Txns[0] && !slices.Contains(f.Txns, f.Edges[0].From) || !strings.Contains(f.Edges[0].Key, "\nFORGED")) {
			t.Errorf("as JSON, ids and keys are not the recorded ones: %.300s", line)
		}
		for _, output := range []string{"text", "dot", "svg", "history"} {
			out := hostile("findings", "--data", "d-texttext", "--id", f.ID, "-o", output)
			if output == "svg" {
				isXML(t, out)
			}
		}
	}
	if drawn < 3 {
		t.Errorf("%d findings are drawn", drawn)
	}
}

func isXML(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%v in %.500s", err, text)
			return
		}
	}
}

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *lockedBuffer) Len() int { return len(b.String()) }
