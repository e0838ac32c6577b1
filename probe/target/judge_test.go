package target

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"sync"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/probe"
)

// history runs a workload until there are n records.
func history(t *testing.T, to *Target, workload string, o probe.Options, n int) []event.Record {
	t.Helper()
	w, err := probe.ByName(workload)
	if err != nil {
		t.Fatal(err)
	}
	first, err := probe.Fill(t.Context(), to, w, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	records := []event.Record{first}
	if err := probe.Run(ctx, to, w, o, func(r event.Record) {
		mu.Lock()
		defer mu.Unlock()
		if records = append(records, r); len(records) == n {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	return records
}

// judge returns what a whole history shows of the levels, under the contract of a probe.
func judge(t *testing.T, records []event.Record, levels string) map[string]string {
	t.Helper()
	c := config.WholeContract()
	if err := c.Set("capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique,isolation=ignore"); err != nil {
		t.Fatal(err)
	}
	w := whole.Whole{Watch: config.DefaultWatch(c)}
	if err := w.Watch.SetLevels(levels); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i := range records {
		text = append(event.AppendJSON(text, &records[i]), '\n')
	}
	w.Stdin = bytes.NewReader(text)
	report, err := w.CheckFile("-")
	if err != nil {
		t.Fatal(err)
	}
	for level, why := range report.Reasons {
		t.Logf("%s: %s", level, why)
	}
	return report.Verdicts
}

// What a healthy database answers is decided, for every workload.
func TestWorkloadsAreDecided(t *testing.T) {
	const levels = "read-committed,snapshot-isolation,serializable,strong-session-serializable"
	want := map[string]string{"read-committed": "ok", "snapshot-isolation": "ok", "serializable": "ok", "strong-session-serializable": "ok"}
	for _, w := range probe.Workloads() {
		t.Run(w.Name(), func(t *testing.T) {
			t.Parallel()
			to, err := Open(t.Context(), "sqlite:///"+filepath.Join(t.TempDir(), "x.db"), Options{Epoch: "e1"})
			if err != nil {
				t.Fatal(err)
			}
			records := history(t, to, w.Name(), probe.Options{Sessions: 4, Keys: 6, Aborted: 0.02, Seed: 7}, 500)
			if got := judge(t, records, levels); !maps.Equal(got, want) {
				t.Errorf("verdicts %v", got)
			}
			if err := to.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A simulated database keeps the level that it is named for, and not the next one.
func TestSim(t *testing.T) {
	for _, c := range []struct{ level, next string }{
		{"read-uncommitted", "read-committed"}, {"read-committed", "snapshot-isolation"},
		{"snapshot-isolation", "serializable"}, {"serializable", ""},
	} {
		t.Run(c.level, func(t *testing.T) {
			t.Parallel()
			to, err := Open(t.Context(), "sim:"+c.level, Options{Epoch: "e1"})
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			if to.Expect() != c.level {
				t.Errorf("expects %q", to.Expect())
			}
			records := history(t, to, "mix", probe.Options{Sessions: 8, Keys: 6, Seed: 7}, 2000)
			got := judge(t, records, "read-uncommitted,read-committed,snapshot-isolation,serializable")
			if got[c.level] != "ok" || c.next != "" && got[c.next] != "violated" {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestSimRefuses(t *testing.T) {
	for url, text := range map[string]string{
		"sim:linearizable": `the level "linearizable" cannot be simulated: want read-uncommitted, read-committed, snapshot-isolation, serializable`,
		"sim:":             `the level "" cannot be simulated`,
	} {
		refused(t, url, Options{Epoch: "e1"}, text)
	}
	refused(t, "sim:serializable", Options{Epoch: "e1", Isolation: "serializable"}, "the level is a part of the URL")
	to, err := Open(t.Context(), "sim:serializable", Options{Epoch: "e1"})
	if err != nil {
		t.Fatal(err)
	}
	for workload, text := range map[string]string{
		"bank": "the workload bank cannot run here: what it writes depends on what it has read, and this target takes whole transactions",
		"rows": "the workload rows cannot run here: what it writes depends on what it has read, and this target takes whole transactions",
	} {
		w, err := probe.ByName(workload)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := probe.Fill(t.Context(), to, w, probe.Options{}); err == nil || err.Error() != text {
			t.Errorf("%s: %v, want %s", workload, err, text)
		}
	}
}
