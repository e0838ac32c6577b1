package target

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// The example in Python answers as a serializable database does, in all that it is asked.
func TestPythonExample(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("needs the program python3; with CI=true its absence is a failure: %v", err)
	}
	script, err := filepath.Abs("../../examples/exec/client.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, workload := range []string{"register", "append", "rows", "blind", "counter", "mix"} {
		t.Run(workload, func(t *testing.T) {
			to, err := Open(t.Context(), "exec:python3 '"+script+"' '"+filepath.Join(t.TempDir(), "x.db")+"'", Options{Epoch: "e1"})
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			if to.Expect() != "" {
				t.Errorf("expects %q", to.Expect())
			}
			records := history(t, to, workload, probe.Options{Sessions: 3, Keys: 4, Seed: 7}, 300)
			want := map[string]string{"serializable": "ok", "strong-session-serializable": "ok"}
			if got := judge(t, records, "serializable,strong-session-serializable"); !maps.Equal(got, want) {
				t.Errorf("verdicts %v", got)
			}
			committed := 0
			for i := range records {
				for _, o := range records[i].Ops {
					if o.Kind != event.Range && !strings.HasPrefix(o.Key, "e1/") || o.Kind == event.Range && !strings.HasPrefix(o.From, "e1/") {
						t.Fatalf("%+v: a key without the epoch", o)
					}
				}
				if records[i].Status == event.Committed {
					committed++
				}
			}
			if committed < 200 {
				t.Errorf("%d of %d transactions are committed", committed, len(records))
			}
		})
	}
}

func TestCommandRefused(t *testing.T) {
	refused(t, "exec: ", Options{Epoch: "e1"}, "the URL names no command")
	refused(t, "exec:cat", Options{Epoch: "e1", Isolation: "serializable"}, "the command sets it")
	refused(t, "exec:cat", Options{Epoch: "E-1"}, "want 1 to 32 lower-case letters and digits")
}
