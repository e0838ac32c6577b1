package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testrun"
)

const (
	groupLease    = 2 * time.Second
	groupSources  = 3
	groupPatience = 25 * time.Second
)

// groupCase is a kind of input, of store and of disturbance.
type groupCase struct{ input, state, disturb string }

// groupCases are run by go test, the last one in the long form.
var groupCases = []groupCase{{"nats", "file", "killed"}, {"kafka partitions", "nats", "stopped"}, {"kafka spread", "file", "stopped"}}

// allGroupCases has each disturbance over each kind of input. The kinds of stores take turns.
func allGroupCases() (all []groupCase) {
	states, n := []string{"file", "nats", "s3"}, 0
	for _, disturb := range slices.Sorted(maps.Keys(groupDisturbances)) {
		for _, input := range slices.Sorted(maps.Keys(groupInputs)) {
			state := states[n%len(states)]
			n++
			switch {
			case input == "nats streams" && disturb != "killed", // they differ from subjects in how they are opened only
				disturb == leaderOfInput && groupClusters[input] == nil, disturb == leaderOfState && (groupClusters[input] == nil || input != "nats"):
				continue
			case disturb == leaderOfState, disturb == "cut off from the state" && state == "file": // a folder has no connection
				state = "nats"
			}
			all = append(all, groupCase{input, state, disturb})
		}
		n++
	}
	return all
}

// Disturbances that need several servers.
const (
	leaderOfInput = "another leader of the input"
	leaderOfState = "another leader of the state"
)

// groupDisturbances disturb the i-th member, or the servers.
var groupDisturbances = map[string]func(t *testing.T, r *groupRun, rng *rand.Rand, i int){
	"not":         func(*testing.T, *groupRun, *rand.Rand, int) {},
	leaderOfInput: func(t *testing.T, r *groupRun, rng *rand.Rand, i int) { r.input.lead(t, rng, i) },
	leaderOfState: func(t *testing.T, r *groupRun, rng *rand.Rand, _ int) { r.state.lead(t, rng) },
	"killed": func(t *testing.T, r *groupRun, _ *rand.Rand, i int) { // and its folder is removed
		m := r.members[i]
		m.signal(t, syscall.SIGKILL)
		m.cmd.Wait() // it was killed
		if err := os.RemoveAll(m.dir + "/isowatch-data"); err != nil {
			t.Fatal(err)
		}
		m.start(t)
	},
	"stopped": func(t *testing.T, r *groupRun, _ *rand.Rand, i int) { // for two leases
		m := r.members[i]
		r.robbed(t, m, func() { m.signal(t, syscall.SIGSTOP) }, func() { m.signal(t, syscall.SIGCONT) })
	},
	"cut off from the broker": func(t *testing.T, r *groupRun, rng *rand.Rand, i int) {
		p := r.members[i].toBroker
		p.cut(aWay(rng))
		time.Sleep(2 * groupLease)
		p.cut(false, false)
	},
	"cut off from the state": func(t *testing.T, r *groupRun, rng *rand.Rand, i int) {
		m := r.members[i]
		if up, down := aWay(rng); up {
			r.robbed(t, m, func() { m.toState.cut(up, down) }, func() { m.toState.cut(false, false) })
		} else { // its renewals arrive: nobody takes its units. But it delivers nothing, since it does not hear of them
			m.toState.cut(up, down)
			time.Sleep(2 * groupLease)
			m.toState.cut(false, false)
		}
	},
	"ended": func(t *testing.T, r *groupRun, _ *rand.Rand, i int) {
		m := r.members[i]
		m.signal(t, syscall.SIGTERM)
		if err := m.cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", m.name, err, m.log.String())
		}
		m.start(t)
	},
}

// aWay is one direction or both, as it comes.
func aWay(rng *rand.Rand) (up, down bool) {
	way := rng.IntN(3)
	return way != 0, way != 1
}

// robbed takes a member away for two leases, and until another one has a unit of it, which a busy machine may delay. The member
// must say which unit it has lost.
func (r *groupRun) robbed(t *testing.T, m *groupMember, away, back func()) {
	t.Helper()
	r.await(t, m.name+" to have a unit", m.hasUnit)
	recovered := func() (n int) {
		for _, other := range r.members {
			if other != m {
				n += other.logged("msg=recovered")
			}
		}
		return n
	}
	before, lost := recovered(), m.logged("lost the unit")
	away()
	time.Sleep(2 * groupLease)
	r.await(t, "another member to take the units of "+m.name, func() bool { return recovered() > before })
	back()
	r.await(t, m.name+" to say which unit it has lost", func() bool { return m.logged("lost the unit") > lost })
}

// saidUnit matches what a member logs of the beginning and the end of a term.
var saidUnit = regexp.MustCompile(`msg="(watches the unit|lost the unit|hands the unit over)" (unit=\S+ term=\d+)`)

// hasUnit says whether the member watches a unit, by its log. It may hand over one that it has not begun to watch.
func (m *groupMember) hasUnit() bool {
	has := map[string]bool{}
	for _, said := range saidUnit.FindAllStringSubmatch(m.log.String(), -1) {
		if delete(has, said[2]); said[1] == "watches the unit" {
			has[said[2]] = true
		}
	}
	return len(has) > 0
}

// failed is how many deliveries had no answer in time, so that they were begun again. Their lines in the log have all these texts.
func (m *groupMember) failed(texts ...string) (n int) {
	for line := range strings.Lines(m.log.String()) {
		if strings.Contains(line, `msg="alert: delivery failed"`) && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			n++
		}
	}
	return n
}

// logged is how often a text is in the member's log.
func (m *groupMember) logged(text string) int { return strings.Count(m.log.String(), text) }

// TestGroup runs three members over three units, and disturbs them. Every planted anomaly is delivered, nothing else is, and the
// texts are those of one monitor that nobody disturbed. With ISOWATCH_GROUPS=N each disturbance comes N times over each kind of
// input and of store.
func TestGroup(t *testing.T) {
	t.Parallel()
	cases, times := groupCases, 1
	if testrun.Short() {
		cases = cases[:2]
	}
	if text := os.Getenv("ISOWATCH_GROUPS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		cases, times = allGroupCases(), n
	}
	records := plantedMessages(t, testrun.Size(2_000, 20_000), testrun.Size(75, 1_000))
	history := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(history, bytes.Join(records, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	planted := groupSources * len(checkedIDs(t, history))
	for input, open := range groupInputs {
		if !slices.ContainsFunc(cases, func(c groupCase) bool { return c.input == input }) {
			continue
		}
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			if cluster := groupClusters[input]; cluster != nil && len(cases) > len(groupCases) {
				open = cluster(t)
			}
			alone := newGroupRun(t, records, open, "")
			alone.start(t, "alone")
			alone.publish(t.Context(), t, time.Second)
			alone.await(t, "all findings of one monitor", func() bool { return len(alone.texts()) >= planted })
			alone.settle(t, nil)
			alone.members[0].cmd.Process.Kill()
			want := alone.texts()
			if len(want) != planted || planted < 20*groupSources {
				t.Fatalf("one monitor has found %d, want %d", len(want), planted)
			}
			for _, c := range cases {
				if c.input == input {
					t.Run(c.disturb+" over "+c.state, func(t *testing.T) { groupStands(t, open, c, times, records, want) })
				}
			}
		})
	}
}

// groupStands runs one case.
func groupStands(t *testing.T, open groupBroker, c groupCase, times int, records [][]byte, want map[string]string) {
	r := newGroupRun(t, records, open, c.state)
	each := 5 * time.Second // of what is published, for a disturbance
	if c.disturb == leaderOfInput || c.disturb == leaderOfState {
		each *= 2
	}
	for _, member := range []string{"a", "b", "c"} {
		r.start(t, member)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.publish(ctx, t, time.Duration(times)*each) }()
	defer func() { cancel(); <-done }()
	for range times {
		time.Sleep(time.Duration(2500+rng.IntN(2000)) * time.Millisecond) // by then each has a unit
		groupDisturbances[c.disturb](t, r, rng, rng.IntN(3))
	}
	<-done
	r.settle(t, want)
	r.checkTexts(t, want)
	r.checkPosts(t, !slices.Contains([]string{"not", "ended", "cut off from the broker", leaderOfInput}, c.disturb))
	r.checkView(t, want, !slices.Contains([]string{"not", "cut off from the broker", leaderOfInput, leaderOfState}, c.disturb))
	r.checkLosses(t, c.disturb != leaderOfState)
	for _, m := range r.members {
		m.signal(t, syscall.SIGTERM)
	}
	for _, m := range r.members {
		if err := m.cmd.Wait(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	if r.input.committed == nil {
		return
	}
	committed, err := r.input.committed(t.Context())
	for unit := range groupSources {
		if err != nil || committed[unit] != int64(len(records)) {
			t.Errorf("the consumer group is at %v (%v), want %d records of each", committed, err, len(records))
		}
	}
}

// checkTexts compares what was delivered with what is wanted.
func (r *groupRun) checkTexts(t *testing.T, want map[string]string) {
	t.Helper()
	got := r.texts()
	for id, text := range want {
		if got[id] == "" {
			t.Errorf("%s is missing", id)
		} else if got[id] != text && !r.input.spread {
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
}

// saidLost matches what a member logs of a unit that another one has.
var saidLost = regexp.MustCompile(`msg="lost the unit" unit=(\S+) term=(\d+) to=(\S+)`)

// checkLosses: a member says once which unit it has lost to whom. taken: somebody had it before the member could say so.
func (r *groupRun) checkLosses(t *testing.T, taken bool) {
	t.Helper()
	for _, m := range r.members {
		told := map[string]bool{}
		for _, said := range saidLost.FindAllStringSubmatch(m.log.String(), -1) {
			lost, to := said[1]+" "+said[2], said[3]
			if told[lost] || to == m.name || taken && !slices.ContainsFunc(r.members, func(x *groupMember) bool { return x.name == to }) {
				t.Errorf("%s says twice that it has lost a unit, or not to whom: %s", m.name, said[0])
			}
			told[lost] = true
		}
	}
}

// checkView: the store of the group shows an owner of each unit, and each finding once. moved: some unit has been another
// member's.
func (r *groupRun) checkView(t *testing.T, want map[string]string, moved bool) {
	t.Helper()
	flags := []string{"--group", "g", "--group-state", r.state.url(r.state.addresses), "--output", "jsonl"}
	var out []byte
	var err error
	owners := 0
	for deadline := time.Now().Add(10 * groupLease); ; time.Sleep(groupLease / 4) { // the owner of a unit tells its numbers soon
		out, err = r.monitor(append([]string{"group", "--group-lease", groupLease.String()}, flags...)...)
		owners = 0
		for _, m := range r.members {
			if bytes.Contains(out, fmt.Appendf(nil, `"owner":%q`, m.name)) {
				owners++
			}
		}
		if err == nil && !bytes.Contains(out, []byte("null")) && owners == len(r.members) || time.Now().After(deadline) {
			break
		}
	}
	if owners != len(r.members) {
		t.Errorf("%d members have a unit, of %d: one has not joined again\n%s", owners, len(r.members), out)
	}
	if err != nil {
		t.Errorf("monitor group: %v\n%s", err, out)
	}
	units, terms := 0, 0
	for line := range bytes.Lines(out) {
		var u struct {
			Unit, Owner, State string
			Term, Sources      int
			Lag                *int64   `json:"lag_records"`
			Age                *float64 `json:"state_age"`
		}
		if err := json.Unmarshal(line, &u); err != nil || u.State != "owned" || u.Owner == "" || u.Term == 0 || u.Sources != 1 || u.Lag == nil || *u.Lag != 0 || u.Age == nil {
			t.Errorf("monitor group says %s (%v)", line, err)
		}
		units, terms = units+1, terms+u.Term
	}
	if units != groupSources || moved && terms == units {
		t.Errorf("monitor group shows %d units, and %d terms in all:\n%s", units, terms, out)
	}
	out, err = r.monitor(append([]string{"findings"}, flags...)...)
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

// groupRun is a run of monitors over one broker.
type groupRun struct {
	hook    string
	input   groupInput
	state   *groupState // nil: no group
	records [][]byte
	members []*groupMember
	flags   []string      // more of them
	file    string        // more settings of each member's file
	lease   time.Duration // 0: groupLease

	mu    sync.Mutex
	text  map[string]string         // by id, of the latest revision
	posts map[string]map[string]int // by id, revision and state; by member and term
	first map[string]string         // text of each, of the first post
	at    map[string]time.Time      // of the first post, by id
	term  map[string]int            // newest term of a post, by source: a unit has one
	last  time.Time
	bad   []string
}

type groupMember struct {
	name, dir string
	// Between the member and the broker, and between it and the store of the group; nil: there is no server.
	toBroker, toState proxies
	args              []string
	environ           []string
	cmd               *exec.Cmd
	log               lockedBuffer
}

func newGroupRun(t *testing.T, records [][]byte, open groupBroker, state string) *groupRun {
	t.Helper()
	r := &groupRun{input: open(t), records: records, text: map[string]string{}, posts: map[string]map[string]int{}, first: map[string]string{}, at: map[string]time.Time{}, term: map[string]int{}, last: time.Now()}
	if state == "nats" && r.input.state != nil {
		r.state = r.input.state
	} else if state != "" {
		s := groupStates[state](t)
		r.state = &s
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
	m.toBroker = startProxies(t, r.input.addresses, r.input.rewrite)
	fmt.Fprintf(&settings, "inputs:\n  - %s\n", r.input.text(m.toBroker.addresses()))
	fmt.Fprintf(&settings, "sinks:\n  - {webhook: {url: %q}, per-pattern: 0, send: all}\n%s", r.hook, r.file)
	if err := os.WriteFile(filepath.Join(m.dir, "isowatch.yaml"), []byte(settings.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m.args = []string{"run", "--config", "isowatch.yaml", "--http", "off", "--output", "jsonl", "--idle", "5s", "--lateness", "2s", "--contract", pairContract}
	m.args = append(m.args, r.flags...)
	if s := r.state; s != nil {
		m.toState = startProxies(t, s.addresses, false)
		m.args = append(m.args, "--group", "g", "--group-state", s.url(m.toState.addresses()), "--group-lease", cmp.Or(r.lease, groupLease).String(), "--group-member", name)
		m.environ = s.env(m.toState.addresses())
	}
	m.start(t)
	r.members = append(r.members, m)
}

// env is the environment of a program that uses the store; nil: this one's.
func (s *groupState) env(addresses []string) []string {
	if s.environ == nil {
		return nil
	}
	return s.environ(addresses)
}

// monitor runs the program on the store of the group.
func (r *groupRun) monitor(args ...string) ([]byte, error) {
	cmd := exec.Command("monitor", args...)
	cmd.Env = r.state.env(r.state.addresses)
	out, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		err = fmt.Errorf("%w: %s", err, ended.Stderr)
	}
	return out, err
}

func (m *groupMember) start(t *testing.T) {
	t.Helper()
	m.cmd = exec.Command("monitor", m.args...)
	m.cmd.Dir, m.cmd.Env, m.cmd.Stderr = m.dir, m.environ, &m.log
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

// placed is a message whose records name the source of the i-th subject.
func placed(message []byte, i int) (all []byte) {
	for line := range bytes.Lines(message) {
		all = fmt.Appendf(all, `{"source":"s%d",%s`, i, line[1:])
	}
	return all
}

func (r *groupRun) take(_ http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	before := maps.Clone(r.term) // as the post begins
	r.mu.Unlock()
	term, _ := strconv.Atoi(q.Header.Get("Isowatch-Term")) // a monitor without a group has none
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
		source := fmt.Sprint(f["source"])
		if term < before[source] {
			r.bad = append(r.bad, fmt.Sprintf("a post of %s begins under the term %d, after one under %d", source, term, before[source]))
		}
		r.term[source] = max(r.term[source], term)
		id := fmt.Sprint(source, " ", f["id"])
		key := fmt.Sprint(id, " ", f["revision"], " ", f["state"])
		by := q.Header.Get("Isowatch-Member") + " " + q.Header.Get("Isowatch-Term")
		if r.posts[key] == nil {
			r.posts[key], r.first[key] = map[string]int{}, string(text)
		}
		if r.first[key] != string(text) {
			r.bad = append(r.bad, fmt.Sprintf("%s has two texts:\n%s\n%s", key, r.first[key], text))
		}
		r.posts[key][by]++
		r.text[id], r.last = withoutFolder.ReplaceAllString(string(text), ""), time.Now()
		if r.at[id].IsZero() {
			r.at[id] = r.last
		}
	}
}

// settle waits until what is wanted was posted, or for a while without a post.
func (r *groupRun) settle(t *testing.T, want map[string]string) {
	t.Helper()
	calm := 3 * time.Second
	if want == nil {
		calm = 8 * time.Second // it is not known what comes: idle and lateness take 7 s
	}
	for deadline := time.Now().Add(groupPatience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r.mu.Lock()
		quiet, same := time.Since(r.last) > calm, len(r.text) > 0
		for id, text := range want {
			same = same && (r.text[id] == text || r.input.spread && r.text[id] != "")
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

// checkPosts: under one term a finding is posted once, or again after a delivery without an answer. Posts name who makes them. again: an
// owner was killed or paused while it may have delivered something. Else nothing is posted under two terms.
func (r *groupRun) checkPosts(t *testing.T, again bool) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, bad := range r.bad {
		t.Error(bad)
	}
	for _, m := range r.members {
		again = again || m.failed() > 0
	}
	twice := 0
	for key, by := range r.posts {
		for who, n := range by {
			name, term, _ := strings.Cut(who, " ")
			if i := slices.IndexFunc(r.members, func(m *groupMember) bool { return m.name == name }); n != 1 && (i < 0 || n > 1+r.members[i].failed("term="+term+" ")) {
				t.Errorf("%s: posted %d times by %s", key, n, who)
			}
			if !slices.Contains([]string{"a", "b", "c"}, name) || term == "" {
				t.Errorf("%s: posted by %q", key, who)
			}
		}
		if len(by) > 1 {
			if twice++; !again {
				t.Errorf("%s: posted under several terms, and nobody was killed or paused: %v", key, by)
			}
		}
	}
	t.Logf("%d posts, of them %d under two terms", len(r.posts), twice)
}
