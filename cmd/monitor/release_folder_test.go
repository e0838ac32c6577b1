package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/testrun"
)

// TestFolderOfARelease opens data folders that monitor run of a release has left: with findings, provisional ones too, with what people
// said of groups, with a sink's place and the stream of the NATS server inside. The program under test goes on there. Nothing is read or
// told twice, transactions from before meet those from after, and provisional findings become final or are withdrawn.
//
// testdata/run-N.tar.gz is a folder of the snapshot layout N. When the layout gets a new number, write the next one with the program
// of the release before: ISOWATCH_RELEASE=N ISOWATCH_MONITOR=PROGRAM go test ./cmd/monitor -run FolderOfARelease
func TestFolderOfARelease(t *testing.T) {
	t.Parallel()
	if n := os.Getenv("ISOWATCH_RELEASE"); n != "" {
		writeRunFolder(t, os.Getenv("ISOWATCH_MONITOR"), filepath.Join("testdata", "run-"+n+".tar.gz"))
	}
	folders, err := filepath.Glob("testdata/run-*.tar.gz")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folders: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) { goesOn(t, folder) })
	}
}

const (
	runTransactions = 300 // of the history in a folder
	runLost         = 6   // lost updates in it
)

// runBegan is when the first transaction of a folder began.
var runBegan = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// ran is a record of a transaction that ended so long after runBegan.
func ran(id, status string, after time.Duration, ops ...string) []byte {
	end := runBegan.Add(after)
	return fmt.Appendf(nil, `{"txn":%q,"source":"shop","session":%q,"start":%d,"end":%d,"status":%q,"name":"transfer","ops":[%s]}`, id, id, end.Add(-time.Millisecond).UnixNano(), end.UnixNano(), status, strings.Join(ops, ","))
}

func reads(key string, value int) string {
	return fmt.Sprintf(`{"op":"r","key":%q,"value":%d}`, key, value)
}
func writes(key string, value int) string {
	return fmt.Sprintf(`{"op":"w","key":%q,"value":%d}`, key, value)
}

// runHistory counts up keys, each after what it read. Every 50th transaction is overwritten by one that has not seen it. Then a client
// does not know whether its update of w counts: somebody read it, and another update of w did not see it.
func runHistory() (all [][]byte) {
	last, next, at := map[string]int{}, 1, time.Duration(0)
	add := func(id, status string, ops ...string) {
		at += 2 * time.Millisecond
		all = append(all, ran(id, status, at, ops...))
	}
	for i := range runTransactions {
		key := fmt.Sprint("k", i%20)
		add(fmt.Sprint("T", i), "committed", reads(key, last[key]), writes(key, next))
		if i%50 == 49 {
			add(fmt.Sprint("L", i), "committed", reads(key, last[key]), writes(key, next+1))
		}
		last[key], next = next, next+2
	}
	add("W0", "committed", writes("w", 1000))
	add("W1", "unknown", reads("w", 1000), writes("w", 1001))
	add("W2", "committed", reads("w", 1000), writes("w", 1002))
	add("W3", "committed", reads("w", 1001))
	return all
}

// runFolder is a monitor over a folder.
type runFolder struct {
	dir     string // with the data folder, the settings and the sink's file
	log     lockedBuffer
	cmd     *exec.Cmd
	address string
	js      jetstream.JetStream
}

func startRun(t *testing.T, program, dir string) *runFolder {
	t.Helper()
	const settings = `data: data
http: {address: "127.0.0.1:0", user: ann, password-env: RUN_PASSWORD}
embedded-nats: {port: 0}
sources: [{name: shop, expect: serializable, window: 60s, lateness: 1s, idle: 10m, contract: {value-identity: unique}}]
sinks: [{file: {path: alerts.jsonl}, send: all}]
`
	if err := os.WriteFile(filepath.Join(dir, "isowatch.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &runFolder{dir: dir}
	r.cmd = exec.Command(program, "run", "--config", "isowatch.yaml", "--output", "jsonl")
	r.cmd.Dir, r.cmd.Stderr, r.cmd.Env = dir, &r.log, append(os.Environ(), "RUN_PASSWORD=first")
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		r.cmd.Wait() // it may have ended
		if t.Failed() {
			t.Logf("log:\n%s", r.log.String())
		}
	})
	said := regexp.MustCompile(`listening (http|nats)=(\S+)`)
	at := map[string]string{}
	r.await(t, "its addresses", func() bool {
		for _, m := range said.FindAllStringSubmatch(r.log.String(), -1) {
			at[m[1]] = m[2]
		}
		return len(at) == 2
	})
	r.address = "http://" + strings.TrimPrefix(at["http"], "http://")
	conn, err := nats.Connect(at["nats"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if r.js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *runFolder) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func (r *runFolder) publish(t *testing.T, records ...[]byte) {
	t.Helper()
	for _, x := range records {
		if _, err := r.js.Publish(t.Context(), "isowatch.events.shop", x); err != nil {
			t.Fatal(err)
		}
	}
}

// findings are the stored ones, by anomaly and transactions.
func (r *runFolder) findings(t *testing.T) map[string]finding.Finding {
	t.Helper()
	var list []finding.Finding
	_, text := asAnn(t, http.MethodGet, r.address+"/api/v1/findings?limit=1000", "first")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	all := map[string]finding.Finding{}
	for _, f := range list {
		all[f.Anomaly+" "+strings.Join(slices.Sorted(slices.Values(f.Txns)), " ")] = f
	}
	return all
}

func (r *runFolder) committed(t *testing.T) int {
	t.Helper()
	_, text := asAnn(t, http.MethodGet, r.address+"/metrics", "first")
	m := regexp.MustCompile(`(?m)^isowatch_transactions_total\{source="shop",status="committed"\} (\d+)$`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n := 0
	fmt.Sscan(m[1], &n) // it has digits only
	return n
}

// told are the ids that the sink got, with their states.
func (r *runFolder) told(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "alerts.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var f finding.Finding
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		all = append(all, f.ID+" "+string(f.State))
	}
	return all
}

func (r *runFolder) end(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, r.log.String())
	}
}

// goesOn opens the folder, and lets the rest come.
func goesOn(t *testing.T, folder string) {
	dir := t.TempDir()
	if err := testrun.Unpack(folder, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "alerts.jsonl")); err != nil {
		t.Fatal(err)
	}
	r := startRun(t, "monitor", dir)
	before := r.findings(t)
	for name, f := range before {
		if f.State != finding.Provisional {
			t.Errorf("%s is %s in the folder", name, f.State)
		}
	}
	counted := r.committed(t)
	if want := runTransactions + runLost + 3; len(before) != runLost+1 || counted != want {
		t.Fatalf("the folder has %d findings of %d transactions, want %d of %d", len(before), counted, runLost+1, want)
	}
	var marked struct {
		Groups []struct{ Acknowledged, Silenced *struct{ Who, Why string } }
	}
	_, text := asAnn(t, http.MethodGet, r.address+"/api/v1/groups", "first")
	if err := json.Unmarshal([]byte(text), &marked); err != nil || len(marked.Groups) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	said := 0
	for _, g := range marked.Groups {
		if a, s := g.Acknowledged, g.Silenced; a != nil && *a == (struct{ Who, Why string }{"ann", "ticket 17"}) && s == nil || a == nil && s != nil && *s == (struct{ Who, Why string }{"ann", "until the release"}) {
			said++
		}
	}
	if said != 2 {
		t.Errorf("one group is acknowledged, and one silenced: %s", text)
	}

	// T9 wrote 19 to k9, and T29 read that: so does N. What W3 has read is taken back, which is told when no retry of W1 can come any more.
	const added, withdrawn, aborted = "lost-update N T29", "lost-update W1 W2", "G1a W1 W3"
	r.publish(t, ran("N", "committed", time.Second, reads("k9", 19), writes("k9", 2000)), ran("W1", "aborted", 608*time.Millisecond, reads("w", 1000), writes("w", 1001)))
	r.await(t, "another finding, and one is withdrawn", func() bool {
		all := r.findings(t)
		return all[added].ID != "" && all[withdrawn].State == finding.Withdrawn
	})
	for name, f := range r.findings(t) {
		if was, ok := before[name]; ok && name != withdrawn && (f.State != finding.Provisional || f.Revision != was.Revision || f.ID != was.ID) {
			t.Errorf("%s is %s, revision %d", name, f.State, f.Revision)
		}
	}
	r.publish(t, ran("Z", "committed", time.Hour, writes("z", 3000)), ran("Z2", "committed", 2*time.Hour, writes("z", 3001)))
	r.await(t, "the others are final", func() bool {
		if r.findings(t)[aborted].ID == "" {
			return false
		}
		for name, f := range r.findings(t) {
			if name != withdrawn && name != aborted && f.State != finding.Final {
				return false
			}
		}
		return true
	})
	after := r.findings(t)
	if len(after) != len(before)+2 {
		t.Errorf("findings of %v", slices.Sorted(maps.Keys(after)))
	}
	want := []string{after[added].ID + " provisional", after[aborted].ID + " provisional", after[withdrawn].ID + " withdrawn"}
	slices.Sort(want)
	if got := r.told(t); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("the sink was told %q, want %q", got, want)
	}
	if n := r.committed(t); n != counted+3 {
		t.Errorf("%d transactions after %d: some were read twice, or are lost", n, counted)
	}
	r.end(t)
}

func writeRunFolder(t *testing.T, program, file string) {
	t.Helper()
	dir := t.TempDir()
	r := startRun(t, program, dir)
	r.publish(t, runHistory()...)
	r.await(t, "all findings", func() bool { return len(r.findings(t)) == runLost+1 && len(r.told(t)) >= runLost+1 })
	var groups struct {
		Groups []struct {
			Group string
			Count int
		}
	}
	_, text := asAnn(t, http.MethodGet, r.address+"/api/v1/groups", "first")
	if err := json.Unmarshal([]byte(text), &groups); err != nil || len(groups.Groups) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	for i, form := range []url.Values{{"do": {"acknowledge"}, "why": {"ticket 17"}}, {"do": {"silence"}, "for": {"8760h"}, "why": {"until the release"}}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.address+"/api/v1/groups/"+groups.Groups[i].Group, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth("ann", "first")
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := http.DefaultClient.Do(request)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(err, answer)
		}
		answer.Body.Close()
	}
	r.end(t)
	if err := testrun.Pack(dir, file); err != nil {
		t.Fatal(err)
	}
}
