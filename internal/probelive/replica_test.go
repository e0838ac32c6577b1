//go:build integration

package probelive

import (
	"testing"

	"github.com/isowatch/isowatch/internal/testdb"
)

// Reads of a replica that is behind are found out where one server is expected, and are
// what a primary with replicas promises. Two probes use the two servers at once.
func TestReplica(t *testing.T) {
	program := build(t)
	primary, replica := testdb.PostgresReplicated(t)
	probe := func(flags ...string) *run {
		return start(t, program, append([]string{primary.URL, "--endpoint", replica.URL,
			"--isolation", "repeatable read", "--rate", "200", "--sessions", "4", "--keys", "8"}, flags...)...)
	}
	one := probe("--schema", "one", "--expect", "postgresql/repeatable-read")
	both := probe("--schema", "two") // by default: postgresql/repeatable-read-with-replicas
	one.awaitCommits(t, 100)
	both.awaitCommits(t, 100)
	replica.Pause(t)
	both.awaitCommits(t, 200)
	one.await(patience)
	replica.Resume(t)
	both.awaitCommits(t, 100)
	one.violates(t, one.stop(t))
	both.holds(t, both.stop(t))
	t.Logf("as one server: %s\nas what it is: %s", one.summary(), both.summary())
	if both.summary() == "" {
		t.Error("the probe that expects no more saw nothing of the replica's delay: it does not read it")
	}
}
