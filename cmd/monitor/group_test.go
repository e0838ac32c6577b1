package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

const (
	groupLease    = 2 * time.Second
	groupSources  = 3
	groupPatience = 25 * time.Second
)

// TestGroup runs three members over three subjects, and disturbs them. Every planted anomaly is delivered, nothing else is, and the
// texts are those of one monitor that nobody disturbed. With ISOWATCH_GROUP=long each disturbance comes five times over
// each kind of store.
func TestGroup(t *testing.T) {
	t.Parallel()
	records := plantedMessages(t, 20_000, 1_000)
	alone := newGroupRun(t, records, "")
	alone.start(t, "alone")
	alone.publish(t)
	t.Logf("published %d records", len(records))
	alone.settle(t, nil)
	want := alone.texts()
	if len(want) < 20 {
		t.Fatalf("one monitor has found only %d", len(want))
	}
	times := 1
	if os.Getenv("ISOWATCH_GROUP") == "long" {
		times = 5
	}
	for name, disturb := range map[string]func(t *testing.T, r *groupRun, i int){
		"nobody is disturbed": func(*testing.T, *groupRun, int) {},
		"one is killed and its folder removed": func(t *testing.T, r *groupRun, i int) {
			m := r.members[i]
			m.signal(t, syscall.SIGKILL)
			m.cmd.Wait() // it was killed
			if err := os.RemoveAll(m.dir + "/isowatch-data"); err != nil {
				t.Fatal(err)
			}
			m.start(t)
		},
		"one is stopped for two leases": func(t *testing.T, r *groupRun, i int) {
			m := r.members[i]
			m.signal(t, syscall.SIGSTOP)
			time.Sleep(2 * groupLease)
			m.signal(t, syscall.SIGCONT)
			for deadline := time.Now().Add(groupPatience); !strings.Contains(m.log.String(), "lost the unit"); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%s does not say which unit it has lost", m.name)
				}
			}
		},
		"one is asked to end": func(t *testing.T, r *groupRun, i int) {
			m := r.members[i]
			m.signal(t, syscall.SIGTERM)
			if err := m.cmd.Wait(); err != nil {
				t.Errorf("%s: %v\n%s", m.name, err, m.log.String())
			}
			m.start(t)
		},
	} {
		for _, state := range []string{"file", "nats"} {
			if times == 1 && slices.Contains([]string{"nats: nobody is disturbed", "nats: one is stopped for two leases", "file: one is asked to end"}, state+": "+name) {
				continue // the other kind of store shows it
			}
			t.Run(state+": "+name, func(t *testing.T) {
				r := newGroupRun(t, records, state)
				for _, member := range []string{"a", "b", "c"} {
					r.start(t, member)
				}
				seed := uint64(time.Now().UnixNano())
				t.Logf("seed %d", seed)
				rng := rand.New(rand.NewPCG(seed, 1))
				done := make(chan struct{})
				go func() { defer close(done); r.publish(t) }()
				for range times {
					time.Sleep(time.Duration(2500+rng.IntN(2000)) * time.Millisecond) // by then each has a unit
					disturb(t, r, rng.IntN(3))
				}
				<-done
				r.settle(t, want)
				got := r.texts()
				for id, text := range want {
					if got[id] == "" {
						t.Errorf("%s is missing", id)
					} else if got[id] != text {
						n := 0
						for n < min(len(text), len(got[id])) && text[n] == got[id][n] {
							n++
						}
						t.Errorf("%s: the text differs from byte %d:\n%.300s\nwant\n%.300s", id, n, got[id][max(0, n-50):], text[max(0, n-50):])
					}
				}
				for id := range got {
					if want[id] == "" {
						t.Errorf("%s is not one of the planted: %s", id, got[id])
					}
				}
				r.checkPosts(t)
				r.checkView(t, want, name != "nobody is disturbed")
				for _, m := range r.members {
					m.signal(t, syscall.SIGTERM)
				}
				for _, m := range r.members {
					if err := m.cmd.Wait(); err != nil {
						t.Errorf("%s: %v", m.name, err)
					}
				}
			})
		}
	}
}

// checkView: the store of the group shows an owner of each unit, and each finding once. moved: some unit has been another
// member's.
func (r *groupRun) checkView(t *testing.T, want map[string]string, moved bool) {
	t.Helper()
	flags := []string{"--group", "g", "--group-state", r.state, "--output", "jsonl"}
	out, err := exec.Command("monitor", append([]string{"group", "--group-lease", groupLease.String()}, flags...)...).Output()
	if err != nil {
		t.Errorf("monitor group: %v\n%s", err, out)
	}
	units, terms := 0, 0
	for line := range bytes.Lines(out) {
		var u struct {
			Unit, Owner, State string
			Term               int
		}
		if err := json.Unmarshal(line, &u); err != nil || u.State != "owned" || u.Owner == "" || u.Term == 0 {
			t.Errorf("monitor group says %s (%v)", line, err)
		}
		units, terms = units+1, terms+u.Term
	}
	if units != groupSources || moved && terms == units {
		t.Errorf("monitor group shows %d units, and %d terms in all:\n%s", units, terms, out)
	}
	out, err = exec.Command("monitor", append([]string{"findings"}, flags...)...).Output()
	if err != nil {
		t.Fatalf("monitor findings: %v", err)
	}
	stored := map[string]int{}
	for line := range bytes.Lines(out) {
		var f struct{ ID, Source, State string }
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		if f.State != "withdrawn" {
			stored[f.Source+" "+f.ID]++
		}
	}
	for id := range want {
		if stored[id] != 1 {
			t.Errorf("%s is stored %d times", id, stored[id])
		}
	}
	if len(stored) != len(want) {
		t.Errorf("%d findings are stored, want %d", len(stored), len(want))
	}
}

// groupRun is a run of monitors over one NATS server.
type groupRun struct {
	url, hook, state string
	records          [][]byte
	members          []*groupMember

	mu    sync.Mutex
	text  map[string]string         // by id, of the latest revision
	posts map[string]map[string]int // by id, revision and state; by member and term
	last  time.Time
	bad   []string
}

type groupMember struct {
	name, dir string
	args      []string
	cmd       *exec.Cmd
	log       lockedBuffer
}

func newGroupRun(t *testing.T, records [][]byte, state string) *groupRun {
	t.Helper()
	server, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "G", Subjects: []string{"g.>"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	r := &groupRun{url: server.URL(), records: records, text: map[string]string{}, posts: map[string]map[string]int{}, last: time.Now()}
	switch state {
	case "file":
		r.state = "file://" + t.TempDir()
	case "nats":
		r.state = r.url + "/GROUP"
	}
	hook := httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(hook.Close)
	r.hook = hook.URL
	t.Cleanup(func() {
		for _, m := range r.members {
			m.cmd.Process.Kill()
			m.cmd.Wait() // it may have ended
			if t.Failed() {
				t.Logf("log of %s:\n%s", m.name, m.log.String())
			}
		}
	})
	return r
}

func (r *groupRun) start(t *testing.T, name string) {
	t.Helper()
	m := &groupMember{name: name, dir: t.TempDir()}
	var settings strings.Builder
	fmt.Fprintf(&settings, "inputs:\n  - {nats: {urls: [%q], stream: G, subjects: [g.0, g.1, g.2]}}\n", r.url)
	fmt.Fprintf(&settings, "sinks:\n  - {webhook: {url: %q}, per-pattern: 0, send: all}\n", r.hook)
	if err := os.WriteFile(filepath.Join(m.dir, "isowatch.yaml"), []byte(settings.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m.args = []string{"run", "--config", "isowatch.yaml", "--http", "off", "--output", "jsonl", "--idle", "5s", "--lateness", "2s", "--contract", pairContract}
	if r.state != "" {
		m.args = append(m.args, "--group", "g", "--group-state", r.state, "--group-lease", groupLease.String(), "--group-member", name)
	}
	m.start(t)
	r.members = append(r.members, m)
}

func (m *groupMember) start(t *testing.T) {
	t.Helper()
	m.cmd = exec.Command("monitor", m.args...)
	m.cmd.Dir, m.cmd.Stderr = m.dir, &m.log
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func (m *groupMember) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		t.Errorf("%s had ended by itself: %v", m.name, err)
	}
}

func (r *groupRun) publish(t *testing.T) {
	conn, err := nats.Connect(r.url)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Error(err)
		return
	}
	for n, m := range r.records {
		for i := range groupSources {
			if _, err := js.Publish(context.Background(), fmt.Sprintf("g.%d", i), placed(m, i)); err != nil {
				t.Error(err)
				return
			}
		}
		if n%2 == 0 { // some five seconds in all: members are disturbed meanwhile
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// placed is a message whose records name the source of the i-th subject.
func placed(message []byte, i int) (all []byte) {
	for line := range bytes.Lines(message) {
		all = fmt.Appendf(all, `{"source":"s%d",%s`, i, line[1:])
	}
	return all
}

func (r *groupRun) take(_ http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	var posted struct{ Findings []map[string]any }
	if err == nil {
		err = json.Unmarshal(body, &posted)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.bad = append(r.bad, err.Error())
	}
	for _, f := range posted.Findings {
		delete(f, "detected_at")
		delete(f, "found_at")
		text, _ := json.Marshal(f) // it was JSON
		id := fmt.Sprint(f["source"], " ", f["id"])
		key := fmt.Sprint(id, " ", f["revision"], " ", f["state"])
		by := q.Header.Get("Isowatch-Member") + " " + q.Header.Get("Isowatch-Term")
		if r.posts[key] == nil {
			r.posts[key] = map[string]int{}
		}
		r.posts[key][by]++
		r.text[id], r.last = withoutFolder.ReplaceAllString(string(text), ""), time.Now()
	}
}

// settle waits until what is wanted was posted, or for a while without a post.
func (r *groupRun) settle(t *testing.T, want map[string]string) {
	t.Helper()
	calm := 3 * time.Second
	if want == nil {
		calm = 12 * time.Second // it is not known what comes
	}
	for deadline := time.Now().Add(groupPatience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r.mu.Lock()
		quiet, same := time.Since(r.last) > calm, len(r.text) > 0
		for id, text := range want {
			same = same && r.text[id] == text
		}
		r.mu.Unlock()
		if quiet && (want == nil || same) {
			return
		}
	}
}

// withoutFolder finds the command that names the data folder. A finding of a group names none.
var withoutFolder = regexp.MustCompile(` Their records: monitor findings --data \S+ --id \w+ --output history\.`)

// texts are the findings by id, without those that were withdrawn.
func (r *groupRun) texts() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]string{}
	for id, text := range r.text {
		if !strings.Contains(text, `"state":"withdrawn"`) {
			all[id] = text
		}
	}
	return all
}

// checkPosts: under one term a finding is posted once, and posts name who makes them.
func (r *groupRun) checkPosts(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, bad := range r.bad {
		t.Error(bad)
	}
	twice := 0
	for key, by := range r.posts {
		for who, n := range by {
			if n != 1 {
				t.Errorf("%s: posted %d times by %s", key, n, who)
			}
			if name, term, _ := strings.Cut(who, " "); !slices.Contains([]string{"a", "b", "c"}, name) || term == "" {
				t.Errorf("%s: posted by %q", key, who)
			}
		}
		if len(by) > 1 {
			twice++
		}
	}
	t.Logf("%d posts, of them %d under two terms", len(r.posts), twice)
}
