package child

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// script is a child that answers by what the shell makes of each line.
func script(body string) string { return "while read -r line; do " + body + "; done" }

const committed = `echo '{"status":"committed","ops":[]}'`

func connect(t *testing.T, command string, o Options) probe.Client {
	t.Helper()
	c, err := start(command, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Each child that fails is told of in one sentence, and never as an abort that is certain.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, command string
		before        int // answers that are right
		want          string
	}{
		{"ends at once", "echo no such host >&2; exit 3", 0, `the child ended before its first answer: exit status 3: "no such host"`},
		{"is no command", "/nowhere/client", 0, "the child ended before its first answer: exit status 127"},
		{"ends well", "true", 0, "the child ended before its first answer: "},
		{"ends later", "read -r line; " + committed + "; read -r line; exit 4", 1, "the child ended before it answered line 2: exit status 4"},
		{"closes its output", "exec 1>&-; sleep 60", 0, "the child ended before its first answer: "},
		{"hangs", "sleep 60", 0, "the child did not answer line 1 within 100ms"},
		{"is no JSON", script("echo hello"), 0, `the child's answer 1 is no JSON object: "hello"`},
		{"is half", script("printf '{\"status\":'; exit 0"), 0, "the child ended before its first answer"},
		{"has no status", script("echo '{}'"), 0, `the child's answer 1 is without a status: "{}"`},
		{"has another status", script(`echo '{"status":"done"}'`), 0, `the child's answer 1 is wrong (`},
		{"has operations that are none", script(`echo '{"status":"committed","ops":[{"op":"read"}]}'`), 0, `the child's answer 1 is wrong (`},
		{"speaks and does not listen", "exec 0<&-; echo hello; sleep 60", 0, ""},
		{"is not alone", "echo hello; " + script(committed), 0, ""}, // told when it is there in time
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			timeout := 20 * time.Second
			if c.name == "hangs" {
				timeout = 100 * time.Millisecond
			}
			child := connect(t, c.command, Options{Timeout: timeout})
			for range c.before {
				if _, status, err := child.Transact(t.Context(), nil); status != event.Committed || err != nil {
					t.Fatal(status, err)
				}
			}
			_, status, err := child.Transact(t.Context(), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if status != event.Unknown && c.want != "" {
				t.Errorf("status %v", status)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	child := connect(t, script(`echo '{"status":"aborted","error":"deadlock"}'`), Options{})
	if _, status, err := child.Transact(t.Context(), nil); status != event.Aborted || err == nil || err.Error() != `the child says aborted: "deadlock"` {
		t.Errorf("%v, %v", status, err)
	}
}

// The end of a context frees who waits, also for a child that reads nothing.
func TestCancel(t *testing.T) {
	child := connect(t, "sleep 60", Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	large := []event.RecordOp{{Kind: event.Write, Key: "k", Value: `"` + strings.Repeat("x", 1<<20) + `"`}}
	if _, status, err := child.Transact(ctx, large); status != event.Unknown || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", status, err)
	}
}

// What a child writes on standard error goes to the log, and a long line ends somewhere.
func TestLog(t *testing.T) {
	lines := make(chan string, 10)
	child := connect(t, "head -c 5000 /dev/zero | tr '\\0' x >&2; echo >&2; echo second >&2; "+script(committed), Options{Log: func(line string) { lines <- line }})
	if _, status, err := child.Transact(t.Context(), nil); status != event.Committed || err != nil {
		t.Fatal(status, err)
	}
	if first, second := <-lines, <-lines; len(first) > logLine || second != "second" {
		t.Errorf("logged %d bytes, then %q", len(first), second)
	}
}

// Nothing that a child has started outlives its session.
func TestProcessGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	child, err := start("sleep 60 & echo $! > '"+file+"'; trap '' TERM; "+script(committed)+"; sleep 60", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, status, err := child.Transact(t.Context(), nil); status != event.Committed || err != nil {
		t.Fatal(status, err)
	}
	if err := child.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

// A transaction goes out as one line of the documented operations.
func TestRequest(t *testing.T) {
	got := string(request([]event.RecordOp{
		{Kind: event.Read, Key: "e/k"},
		{Kind: event.Write, Key: "e/k", Value: `{"n":40,"by":"s3-17"}`},
		{Kind: event.Read, Data: event.List, Key: "e/l"},
		{Kind: event.Range, From: "e/r", To: "e/s", HasFrom: true, HasTo: true},
	}))
	want := `{"ops":[{"op":"r","key":"e/k"},{"op":"w","key":"e/k","value":{"n":40,"by":"s3-17"}},` +
		`{"op":"r","key":"e/l","kind":"list"},{"op":"range","from":"e/r","to":"e/s"}]}` + "\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := string(request(nil)); got != `{"ops":[]}`+"\n" {
		t.Errorf("got %s", got)
	}
}
