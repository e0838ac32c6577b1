//go:build integration

package probelive

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"testing"

	"github.com/isowatch/isowatch/internal/testdb"
)

// Reads of a replica that is behind are found out where one server is expected, and are
// what a primary with replicas promises. Where they are declared stale, sessions may read
// less than they have written. Probes of schemas of their own use the two servers at once.
func TestReplica(t *testing.T) {
	program := build(t)
	primary, replica := testdb.PostgresReplicated(t)
	probe := func(schema string, flags ...string) *run {
		return start(t, program, append([]string{primary.URL, "--endpoint", replica.URL, "--schema", schema,
			"--isolation", "repeatable read", "--rate", "100", "--sessions", "4", "--keys", "8"}, flags...)...)
	}
	one := probe("one", "--expect", "postgresql/repeatable-read")
	both := probe("two") // by default: postgresql/repeatable-read-with-replicas
	fresh := probe("three", "--expect", "strong-session-causal")
	stale := probe("four", "--expect", "strong-session-causal", "--stale")
	all := []*run{one, both, fresh, stale}
	for _, r := range all {
		r.awaitCommits(t, 100)
	}
	replica.Pause(t)
	both.awaitCommits(t, 200)
	stale.awaitCommits(t, 200)
	one.await(patience)
	fresh.await(patience)
	replica.Resume(t)
	both.awaitCommits(t, 100)
	stale.awaitCommits(t, 100)
	one.violates(t, one.stop(t))
	both.holds(t, both.stop(t))
	fresh.violates(t, fresh.stop(t))
	stale.holds(t, stale.stop(t))
	t.Logf("as one server: %s\nas what it is: %s\nas stale: %s", one.summary(), both.summary(), stale.summary())
	if both.summary() == "" {
		t.Error("the probe that expects no more saw nothing of the replica's delay: it does not read it")
	}
	for _, r := range all {
		r.declares(t, address(t, replica.URL), r == stale)
	}
}

// declares holds the records to be stale where they were read at the endpoint and it was
// declared, and nowhere else.
func (r *run) declares(t *testing.T, endpoint string, stale bool) {
	t.Helper()
	file, err := os.Open(r.history)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	there := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var x struct {
			Stale  bool
			Labels map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		follows := x.Labels["endpoint"] == endpoint
		if follows {
			there++
		}
		if x.Stale != (follows && stale) {
			t.Fatalf("stale is %v: %s", x.Stale, lines.Text())
		}
	}
	if err := lines.Err(); err != nil || there == 0 {
		t.Errorf("%d records are of %s: %v", there, endpoint, err)
	}
}

// address is that of the server at a URL, as records name it.
func address(t *testing.T, name string) string {
	t.Helper()
	u, err := url.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
