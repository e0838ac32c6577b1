package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/group"
)

// TestGroupMoves measures how long a unit takes to come to another member, for make bench-group. ISOWATCH_GROUP_SIZES has numbers of
// transactions in the window, or of those that came and of those that are in the window: 600000/64000. Without it nothing is measured.
func TestGroupMoves(t *testing.T) {
	sizes := os.Getenv("ISOWATCH_GROUP_SIZES")
	if sizes == "" {
		t.Skip("a benchmark: make bench-group")
	}
	for text := range strings.SplitSeq(sizes, ",") {
		all, some, part := strings.Cut(text, "/")
		n, err := strconv.Atoi(all)
		live := n
		if part && err == nil {
			live, err = strconv.Atoi(some)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, state := range []string{"file", "nats", "s3"} {
			t.Run(fmt.Sprintf("%s transactions over %s", text, state), func(t *testing.T) { measureMoves(t, n, live, state) })
		}
	}
}

func measureMoves(t *testing.T, n, live int, state string) {
	r := newGroupRun(t, nil, natsGroup, state)
	r.flags = []string{"--http", "127.0.0.1:0", "--window", "1h", "--live-cap", "2000000"}
	if live < n {
		r.flags = []string{"--http", "127.0.0.1:0", "--window", (time.Duration(live) * 10 * time.Microsecond).String(), "--lateness", "0s", "--live-cap", "2000000"}
	}
	r.start(t, "a")
	for _, m := range plantedMessages(t, n, 0) {
		if err := r.input.publish(t.Context(), 0, placed(m, 0)); err != nil {
			t.Fatal(err)
		}
	}
	r.awaitUnit(t, func(u unitShown) bool { return u.Lag != nil && *u.Lag == 0 && u.Sources != nil && *u.Sources == 1 })
	r.start(t, "b")
	a, b := r.members[0], r.members[1]
	time.Sleep(3 * groupLease)
	handed, handedCPU := r.timeOfMove(t, a, b, syscall.SIGTERM)
	copied, log := r.stateBytes(t)
	if err := a.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	a.start(t)
	time.Sleep(3 * groupLease) // by then it has its share: the unit may be one of it
	r.awaitUnit(t, func(u unitShown) bool {
		if u.Owner == a.name {
			a, b = b, a
		}
		return u.Owner == b.name && u.Lag != nil && *u.Lag == 0
	})
	killed, killedCPU := r.timeOfMove(t, b, a, syscall.SIGKILL)
	t.Logf("state %.1f MB, of it %.1f MB log, %.0f bytes a transaction; another member watches %.2f s after SIGTERM (%.2f s of its processor time), and %.2f s after SIGKILL (%.2f s) with a lease of %v",
		float64(copied+log)/1e6, float64(log)/1e6, float64(copied+log)/float64(live), handed.Seconds(), handedCPU.Seconds(), killed.Seconds(), killedCPU.Seconds(), groupLease)
}

// unitShown is a line of monitor group.
type unitShown struct {
	Unit, Owner string
	Lag         *int64 `json:"lag_records"`
	Sources     *int
}

func (r *groupRun) awaitUnit(t *testing.T, ok func(unitShown) bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		out, _ := r.monitor("group", "--group-lease", groupLease.String(), "--group", "g", "--group-state", r.state.url(r.state.addresses), "--output", "jsonl") // the next look is soon
		for line := range bytes.Lines(out) {
			var u unitShown
			if json.Unmarshal(line, &u) == nil && strings.HasSuffix(u.Unit, "0") && ok(u) {
				return
			}
		}
	}
	t.Fatal("the unit does not come so far")
}

// timeOfMove signals one member, and waits until the other one watches the unit with the records, and tells verdicts on its levels. On a busy
// machine the processor time of that one says more.
func (r *groupRun) timeOfMove(t *testing.T, from, to *groupMember, s syscall.Signal) (took, cpu time.Duration) {
	t.Helper()
	watched := func() int { return strings.Count(to.log.String(), `msg="watches the unit" unit=nats:G:g.0`) }
	before, began, used := watched(), time.Now(), to.processorTime(t)
	from.signal(t, s)
	for deadline := time.Now().Add(5 * time.Minute); watched() == before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the unit does not move")
		}
	}
	for !tellsVerdicts(get(t, to.latestAddress(t)+"/metrics"), "nats:G:g.0") {
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began), to.processorTime(t) - used
}

// tellsVerdicts says whether the metrics have verdicts on sources of the unit.
func tellsVerdicts(metrics, unit string) bool {
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "isowatch_verdict{") && strings.Contains(line, fmt.Sprintf("unit=%q", unit)) {
			return true
		}
	}
	return false
}

// stateBytes is the size of the state of the unit with the records: its copy, and the log behind that.
func (r *groupRun) stateBytes(t *testing.T) (copied, log int) {
	t.Helper()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": "http://" + strings.Join(r.state.addresses, ""), "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(name, value)
	}
	s, err := app.OpenGroup(t.Context(), r.state.url(r.state.addresses), "g")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v, err := s.Get(t.Context(), group.StateKey("nats:G:g.0"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := group.StateOf(v)
	if err != nil {
		t.Fatal(err)
	}
	var head struct {
		Base   struct{ Bytes int }
		Pieces []struct{ Bytes int }
	}
	text, _, _ := bytes.Cut(data, []byte("\n"))
	if err := json.Unmarshal(text, &head); err != nil {
		t.Fatal(err)
	}
	log = len(data)
	for _, p := range head.Pieces {
		log += p.Bytes
	}
	return head.Base.Bytes, log
}
